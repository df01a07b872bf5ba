/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads topology files, as ibnetdiscover prints and ibsim reads them.
 *
 * A line is one of
 *
 *     vendid=0x2c9  devid=..  sysimgguid=..              for the next block
 *     switchguid=0x..(portguid)  caguid=..  rtguid=..    for the next block of that type
 *     width=MASK  speed=MASK  extspeed=MASK              for ports without a rate (ibsim)
 *     Switch|Ca|Hca|Rt N "id"  # "description" ...       begins a block
 *     [port](guid) "id"[port](guid)  # ... 4xEDR         a link, in a block (text_cable.c)
 *
 * or a comment, a blank line, or text from a terminal (headings, prompts), which is ignored.
 *
 * A node without a GUID line gets the GUID that ibsim would assign: the next one after the last of
 * its type. A truncated file causes an error if the reader can see that it is truncated: a line of
 * the above forms has no newline, a GUID line has no block, or the two lines of a link disagree.
 *
 * ibsim's include, module and do, and its port aliases (@), are not supported and cause an error.
 */
#include "libfabmgr/fabric/text_read.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/device.h"
#include "libfabmgr/fabric/rate.h"
#include "libfabmgr/fabric/text.h"

/* Limit of the number of ports of all nodes. A header line of a dozen bytes lets the reader
 * allocate up to 255 ports, so without a limit a small file could use up the memory. Four million
 * ports suffice for 110,000 nodes. */
#define PORT_LIMIT (4u << 20)

/* ---- ids ------------------------------------------------------------------------------------- */

static uint64_t hash(struct span id)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < id.len; i++)
        h = (h ^ (uint8_t)id.s[i]) * UINT64_C(0x100000001b3);
    return fab_base_mix64(h);
}

bool fab_fabric_text_find_node(const struct text_reader *r, struct span id, uint64_t *ret_key,
                               const struct text_node **ret)
{
    uint64_t key = hash(id);
    for (uint32_t index; fab_base_map_get(&r->ids, key, &index); key++) {
        const struct text_node *n = &r->nodes[index];
        if (n->id.len == id.len && memcmp(n->id.s, id.s, id.len) == 0) {
            *ret = n;
            return true;
        }
    }
    *ret_key = key;
    return false;
}

static int add_id(struct text_reader *r, struct span id)
{
    const struct text_node *other;
    uint64_t key;
    if (fab_fabric_text_find_node(r, id, &key, &other))
        return fab_fabric_scan_fail(&r->scan, id.s, "node \"%.*s\" is already on line %u",
                                    (int)id.len, id.s, other->line);
    if (r->node_count == r->node_room) {
        void *bigger = fab_base_grow(r->nodes, sizeof *r->nodes, r->node_count + 1, &r->node_room);
        if (bigger == NULL)
            return FAB_E_NOMEM;
        r->nodes = bigger;
    }
    r->nodes[r->node_count] = (struct text_node){.id = id, .ref = r->ref, .line = r->scan.number};
    return fab_base_map_put(&r->ids, key, (uint32_t)r->node_count++);
}

/* ---- name=value lines ------------------------------------------------------------------------ */

static int read_value(struct text_reader *r, uint64_t max, uint64_t *ret)
{
    int status = fab_fabric_scan_expect(&r->scan, '=');
    return status != FAB_OK ? status : fab_fabric_scan_number(&r->scan, "a number", max, ret);
}

static int read_vendor(struct text_reader *r, uint8_t type)
{
    (void)type;
    return read_value(r, 0xffffff, &r->vendor_id);
}

static int read_device(struct text_reader *r, uint8_t type)
{
    (void)type;
    return read_value(r, 0xffff, &r->device_id);
}

static int read_system_guid(struct text_reader *r, uint8_t type)
{
    (void)type;
    return read_value(r, UINT64_MAX, &r->system_guid);
}

static int read_guid(struct text_reader *r, uint8_t type)
{
    uint64_t guid;
    int status = read_value(r, UINT64_MAX, &guid);
    if (status != FAB_OK)
        return status;
    if (guid == 0)
        return fab_fabric_scan_fail(&r->scan, r->scan.line, "a GUID cannot be 0");
    r->guid[type] = guid;
    r->guid_line[type] = r->scan.number;
    r->port_guid = 0;
    if (!fab_fabric_scan_take(&r->scan, '('))
        return FAB_OK;
    status = fab_fabric_scan_hex(&r->scan, "a port GUID", &r->port_guid);
    return status != FAB_OK ? status : fab_fabric_scan_expect(&r->scan, ')');
}

static int apply_mask(struct text_reader *r, int (*apply)(struct fab_port_info *, uint64_t))
{
    uint64_t mask;
    int status = read_value(r, UINT64_MAX, &mask);
    if (status == FAB_OK && apply(&r->rate, mask) != FAB_OK)
        return fab_fabric_scan_fail(&r->scan, r->scan.line, "the mask has unknown bits, or none");
    return status;
}

static int read_width(struct text_reader *r, uint8_t type)
{
    (void)type;
    return apply_mask(r, fab_fabric_rate_width_mask);
}

static int read_speed(struct text_reader *r, uint8_t type)
{
    (void)type;
    fab_fabric_rate_extended_mask(&r->rate, 0);
    return apply_mask(r, fab_fabric_rate_speed_mask);
}

static int read_extended(struct text_reader *r, uint8_t type)
{
    (void)type;
    return apply_mask(r, fab_fabric_rate_extended_mask);
}

static int read_unsupported(struct text_reader *r, uint8_t type)
{
    (void)type;
    return fab_fabric_scan_fail(&r->scan, r->scan.line,
                                "ibsim's include, module and do are not supported");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *find(struct span in, const char *what)
{
    return memmem(in.s, in.len, what, strlen(what));
}

/* Shortens a description without quotes, so that it ends before the next field of the line. */
static void cut_at_marks(struct span *desc)
{
    static const char *const marks[] = {" enhanced port ", " base port ", " lid ", " lmc "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *end = find(*desc, marks[i]);
        if (end != NULL)
            desc->len = (size_t)(end - desc->s);
    }
    while (desc->len > 0 && desc->s[desc->len - 1] == ' ')
        desc->len--;
}

/* Reads the description in the comment of a header line. Without a comment, *desc is not changed.
 * Since a description may itself contain quotes, it ends at the last quote of the line. */
static int read_desc(struct text_reader *r, struct span *desc)
{
    struct text_scan *s = &r->scan;
    if (!fab_fabric_scan_take(s, '#'))
        return fab_fabric_scan_end(s);
    bool quoted = fab_fabric_scan_take(s, '"');
    struct span rest = {.s = s->at, .len = (size_t)(s->eol - s->at)};
    const char *close = quoted ? memrchr(rest.s, '"', rest.len) : NULL;
    if (quoted && close == NULL)
        return fab_fabric_scan_fail(s, s->at - 1, "expected a closing quote after the description");
    if (quoted)
        rest.len = (size_t)(close - rest.s);
    else
        cut_at_marks(&rest);
    *desc = rest;
    return FAB_OK;
}

static int add_device(struct text_reader *r, uint8_t type, struct span desc)
{
    struct fab_device d = {.type = type,
                           .num_ports = r->num_ports,
                           .guid = r->guid[type],
                           .system_guid = r->system_guid,
                           .port_guid = type == FAB_NODE_SWITCH ? r->port_guid : 0,
                           .vendor_id = (uint32_t)r->vendor_id,
                           .device_id = (uint16_t)r->device_id,
                           .desc = desc.s,
                           .desc_len = desc.len};
    struct span line = {.s = r->scan.line, .len = (size_t)(r->scan.eol - r->scan.line)};
    d.enhanced_port0 = type == FAB_NODE_SWITCH && find(line, "enhanced port 0") != NULL;
    int status = fab_fabric_device_add(r->b, &d, &r->ref);
    if (status == FAB_E_EXISTS || status == FAB_E_INVAL)
        return fab_fabric_scan_fail(&r->scan, r->scan.line,
                                    "the GUID 0x%016llx of this node belongs to another node",
                                    (unsigned long long)d.guid);
    r->guid[type] += type == FAB_NODE_SWITCH ? 1 : r->num_ports + 1u;
    r->guid_line[type] = 0;
    r->vendor_id = r->device_id = r->system_guid = r->port_guid = 0;
    return status;
}

static int read_port_count(struct text_reader *r)
{
    const char *at = r->scan.at;
    uint64_t count = 0;
    int status = fab_fabric_scan_number(&r->scan, "the number of ports (1 to 254)", 254, &count);
    if (status != FAB_OK)
        return status;
    if (count == 0)
        return fab_fabric_scan_fail(&r->scan, at, "a node has 1 to 254 ports");
    r->num_ports = (uint8_t)count;
    return FAB_OK;
}

static int read_block(struct text_reader *r, uint8_t type)
{
    struct span id = {0};
    int status = read_port_count(r);
    if (status == FAB_OK)
        status = fab_fabric_scan_quoted(&r->scan, "the node's id in quotes", &id);
    struct span desc = id;
    if (status == FAB_OK)
        status = read_desc(r, &desc);
    if (status == FAB_OK)
        status = add_device(r, type, desc);
    if (status == FAB_OK)
        status = add_id(r, id);
    r->in_block = status == FAB_OK;
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct word {
    const char *name;
    int (*read)(struct text_reader *r, uint8_t type);
    uint8_t type;
    /* true: the line has the form name=value, and nothing may follow the value */
    bool value;
} words[] = {
    {"Switch", read_block, FAB_NODE_SWITCH, false},
    {"Ca", read_block, FAB_NODE_CA, false},
    {"Hca", read_block, FAB_NODE_CA, false},
    {"Rt", read_block, FAB_NODE_ROUTER, false},
    {"vendid", read_vendor, 0, true},
    {"devid", read_device, 0, true},
    {"sysimgguid", read_system_guid, 0, true},
    {"switchguid", read_guid, FAB_NODE_SWITCH, true},
    {"caguid", read_guid, FAB_NODE_CA, true},
    {"hcaguids", read_guid, FAB_NODE_CA, true},
    {"rtguid", read_guid, FAB_NODE_ROUTER, true},
    {"width", read_width, 0, true},
    {"speed", read_speed, 0, true},
    {"extspeed", read_extended, 0, true},
    {"include", read_unsupported, 0, true},
    {"module", read_unsupported, 0, true},
    {"do", read_unsupported, 0, true},
};
#define WORD_COUNT (sizeof words / sizeof *words)

/* Returns the letters from the cursor on, up to the first other character. */
static struct span letters(struct text_scan *s)
{
    fab_fabric_scan_at_end(s);
    struct span w = {.s = s->at};
    while (w.s + w.len < s->eol && ((w.s[w.len] | 32) >= 'a' && (w.s[w.len] | 32) <= 'z'))
        w.len++;
    return w;
}

/* Returns the key word at the beginning of the line; NULL: there is none. A key word must end at a
 * blank, tab, '=', '+' or digit; otherwise the line is text from a terminal. */
static const struct word *find_word(struct text_scan *s)
{
    struct span w = letters(s);
    const char *after = w.s + w.len;
    if (after < s->eol && memchr(" \t=+0123456789", *after, 14) == NULL)
        return NULL;
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (strlen(words[i].name) == w.len && memcmp(words[i].name, w.s, w.len) == 0) {
            s->at = after;
            return &words[i];
        }
    return NULL;
}

/* Returns true if the file ends with a part of a key word. It was then probably truncated. */
static bool cut_word(struct text_scan *s)
{
    struct span w = letters(s);
    if (s->ended || w.len == 0 || w.s + w.len < s->eol)
        return false;
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (w.len < strlen(words[i].name) && memcmp(words[i].name, w.s, w.len) == 0)
            return true;
    return false;
}

static int fail_cut(struct text_reader *r)
{
    return fab_fabric_scan_fail(&r->scan, r->scan.eol,
                                "the file ends within this line, expected a line end");
}

static int read_word(struct text_reader *r, const struct word *word)
{
    int status = word->read(r, word->type);
    if (status == FAB_OK && word->value)
        status = fab_fabric_scan_end(&r->scan);
    if (status == FAB_OK && word->value)
        r->in_block = false;
    return status;
}

/* Reads the manager's port from "# Initiated from node 0002c90300080e84 port 0002c90300080e85". */
static void read_comment(struct text_reader *r)
{
    static const char from[] = "# Initiated from node ", port[] = "port ";
    struct fab_text_error ignored;
    struct text_scan s = r->scan;
    uint64_t guid, port_guid;
    s.error = &ignored;
    if (!fab_fabric_scan_is(&s, from))
        return;
    s.at += sizeof from - 1;
    if (fab_fabric_scan_hex(&s, "a GUID", &guid) != FAB_OK || !fab_fabric_scan_is(&s, port))
        return;
    s.at += sizeof port - 1;
    if (fab_fabric_scan_hex(&s, "a GUID", &port_guid) != FAB_OK)
        return;
    r->self_guid = guid;
    r->self_port_guid = port_guid;
}

/* Returns true if the line begins like a port line, for example with "[12]", and not like the
 * prompt "[root@host ~]#". */
static bool begins_cable(const struct text_scan *at)
{
    struct text_scan s = *at;
    return fab_fabric_scan_take(&s, '[') && fab_fabric_scan_digit(&s);
}

static int read_line(struct text_reader *r)
{
    struct text_scan *s = &r->scan;
    const struct word *word;
    int status = FAB_OK;
    if (begins_cable(s))
        status = fab_fabric_text_read_port(r);
    else if (fab_fabric_scan_is(s, "@["))
        return fab_fabric_scan_unexpected(
            s, "a port line without an alias, since aliases are not supported");
    else if ((word = find_word(s)) != NULL)
        status = read_word(r, word);
    else if (cut_word(s))
        return fail_cut(r);
    else {
        read_comment(r);
        return FAB_OK;
    }
    return status == FAB_OK && !s->ended ? fail_cut(r) : status;
}

/* Checks at the end of the file that each GUID line was followed by its block. Returns OK or
 * FORMAT. */
static int check_end(struct text_reader *r)
{
    for (unsigned type = FAB_NODE_CA; type <= FAB_NODE_ROUTER; type++)
        if (r->guid_line[type] != 0) {
            r->scan.number = r->guid_line[type];
            return fab_fabric_scan_fail(&r->scan, r->scan.line, "no node follows this GUID");
        }
    /* If the file is empty, the error is reported in line 1. */
    r->scan.number += r->scan.number == 0;
    if (r->node_count == 0)
        return fab_fabric_scan_fail(&r->scan, r->scan.line,
                                    "expected a Switch, Ca or Rt line, found none");
    return FAB_OK;
}

static int read_all(struct text_reader *r)
{
    size_t ports = 0;
    while (fab_fabric_scan_line(&r->scan)) {
        size_t nodes = r->node_count;
        int status = read_line(r);
        if (status != FAB_OK)
            return status;
        ports += r->node_count > nodes ? r->num_ports + 1u : 0;
        if (ports > PORT_LIMIT)
            return fab_fabric_scan_fail(&r->scan, r->scan.line, "more than %u ports in all",
                                        PORT_LIMIT);
    }
    int status = check_end(r);
    return status != FAB_OK ? status : fab_fabric_text_join(r);
}

int fab_fabric_text_read(const char *text, size_t len, struct fab_builder **ret_builder,
                         struct fab_text_error *ret_error)
{
    struct text_reader r = {.b = fab_fabric_builder_new()};
    *ret_error = (struct fab_text_error){.line = 1, .column = 1};
    fab_fabric_scan_init(&r.scan, text, len, ret_error);
    r.scan.line = r.scan.at = r.scan.eol = text;
    r.guid[FAB_NODE_CA] = 0x100000; /* the first GUID that ibsim assigns */
    r.guid[FAB_NODE_SWITCH] = 0x200000;
    /* ibsim would give the first router GUID 0, which is not valid, so this reader begins with
     * another GUID */
    r.guid[FAB_NODE_ROUTER] = 0x300000;
    fab_fabric_text_parse_rate("4xEDR", 5, &r.rate);
    int status = r.b != NULL ? read_all(&r) : FAB_E_NOMEM;
    if (status == FAB_OK) {
        *ret_builder = r.b;
        r.b = NULL;
    }
    fab_fabric_builder_free(r.b);
    fab_base_map_fini(&r.ids);
    free(r.nodes);
    free(r.cables);
    return status;
}
