/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds nodes and ports by a text that a user typed: a LID, a GUID, or a name or its beginning.
 *
 * A number is first looked up as a LID (decimal, or 0x and up to 4 digits) or as a GUID (see
 * fab_view_read_number). If no node has this LID or GUID, the text is looked up as a name. Names
 * are first compared exactly, and then without regard to case. Some matches are better than others;
 * these kinds are tried in this order: nodes with exactly this name; nodes with this first word
 * (the adapter "host-1 mlx5_0" for "host-1"); nodes whose names begin with the text ("host-10
 * mlx5_0"); nodes with exactly this NodeDescription; adapters of the host that has this name in the
 * operator's file of locations. If several nodes match equally well, the error message lists the
 * first of them. If no node matches, the message suggests the most similar name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/near.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/hosts/hosts.h"
#include "libfabmgr/view/name.h"
#include "libfabmgr/view/view.h"

/* number of matches that the error message about an ambiguous name lists */
#define SHOWN 4

struct search {
    const struct fab_view *v;
    const char *what; /* the text that was typed */
    size_t len;       /* length of `what`, without "/PORT" */
    bool any_case;    /* true: upper and lower case are equal */
    char *why;        /* receives the error message */
    size_t why_len;
};

#define say(s, ...) snprintf((s)->why, (s)->why_len, __VA_ARGS__)

/* ---- numbers --------------------------------------------------------------------------------- */

/* Reads a text that consists of 1 to 16 hexadecimal digits. Returns false for any other text. */
static bool read_hex(const char *s, size_t len, uint64_t *ret)
{
    return len <= 16 && fab_base_digits_parse(s, len, 16, UINT64_MAX, ret);
}

static bool read_decimal(const char *s, size_t len, uint64_t *ret)
{
    return len <= 10 && fab_base_digits_parse(s, len, 10, UINT64_MAX, ret);
}

/* Reads a GUID in groups of `size` digits, such as "0002:c903:0000:0010". Returns false for any
 * other text. */
static bool read_groups(const char *s, size_t len, size_t size, uint64_t *ret)
{
    char digits[16];
    size_t groups = sizeof digits / size;
    if (len != sizeof digits + groups - 1)
        return false;
    for (size_t i = 0; i < groups; i++) {
        if (i > 0 && s[i * (size + 1) - 1] != ':')
            return false;
        memcpy(&digits[i * size], &s[i * (size + 1)], size);
    }
    return read_hex(digits, sizeof digits, ret);
}

/* Reads the GUID at the end of a GID, such as "fe80:0000:0000:0000:0002:c903:0000:0010". */
static bool read_gid(const char *s, size_t len, uint64_t *ret)
{
    uint64_t prefix;
    return len == 39 && s[19] == ':' && read_groups(s, 19, 4, &prefix) &&
           read_groups(s + 20, 19, 4, ret);
}

/* Reads a GUID with the node type before it, as ibnetdiscover prints it: "S-0002c90300000010". */
static bool read_typed(const char *s, size_t len, uint64_t *ret)
{
    return len == 18 && memchr("SHRshr", s[0], 6) != NULL && s[1] == '-' &&
           read_hex(s + 2, len - 2, ret);
}

bool fab_view_read_number(const char *t, size_t len, struct fab_view_number *ret)
{
    bool prefixed = len > 2 && t[0] == '0' && (t[1] | 32) == 'x';
    *ret = (struct fab_view_number){0};
    if (prefixed) {
        ret->guid = len > 2 + 4;
        return read_hex(t + 2, len - 2, &ret->value);
    }
    if (read_decimal(t, len, &ret->value))
        return true;
    ret->guid = true;
    return read_groups(t, len, 4, &ret->value) || read_groups(t, len, 2, &ret->value) ||
           read_typed(t, len, &ret->value) || read_gid(t, len, &ret->value) ||
           (len == 16 && read_hex(t, len, &ret->value));
}

static uint32_t port_of_lid(const struct fab_view *v, uint64_t lid)
{
    if (v->target == NULL || v->target->lids.owner == NULL || lid > v->target->lids.top)
        return FAB_NONE;
    return v->target->lids.owner[lid];
}

/* ---- names ----------------------------------------------------------------------------------- */

/* How well a name matches the text; the first value is the best. */
enum match { MATCH_NAME, MATCH_WORD, MATCH_BEGINNING, MATCHES };

/* Nodes that match equally well: their number, and the ids of the first SHOWN nodes. */
struct matches {
    uint32_t count, first[SHOWN];
};

static void note(struct matches *m, uint32_t node)
{
    if (m->count < SHOWN)
        m->first[m->count] = node;
    m->count++;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_letter(const struct search *s, char a, char b)
{
    return a == b || (s->any_case && lower(a) == lower(b));
}

/* Returns true if the name begins with the text. A '/' in the text also matches a blank in the
 * name, so that "host-1/mlx5_0" names the adapter "host-1 mlx5_0". */
static bool begins_with(const struct search *s, const char *name)
{
    for (size_t i = 0; i < s->len; i++)
        if (name[i] == '\0' ||
            (!same_letter(s, name[i], s->what[i]) && !(name[i] == ' ' && s->what[i] == '/')))
            return false;
    return true;
}

/* Puts each node whose name begins with the text into an element of ret[], by how well the name
 * matches. If there is no such node, takes the nodes whose NodeDescription is the text, because the
 * operator may have given them other names. */
static void collect(const struct search *s, struct matches ret[MATCHES])
{
    const struct fab_fabric *f = s->v->fabric;
    memset(ret, 0, MATCHES * sizeof(*ret));
    for (uint32_t n = 0; n < f->node_count; n++) {
        const char *desc = f->nodes[n].name;
        if (!begins_with(s, desc))
            continue;
        const char *rest = desc + s->len;
        note(&ret[*rest == '\0'              ? MATCH_NAME
                  : fab_view_ends_word(rest) ? MATCH_WORD
                                             : MATCH_BEGINNING],
             n);
    }
    for (int i = 0; i < MATCHES; i++)
        if (ret[i].count > 0)
            return;
    for (uint32_t n = 0; n < f->node_count; n++)
        if (begins_with(s, f->nodes[n].desc) && f->nodes[n].desc[s->len] == '\0')
            note(&ret[MATCH_NAME], n);
}

/* Finds the adapters of the host that has this name in the operator's file of locations. */
static void collect_adapters(const struct search *s, struct matches *ret)
{
    const struct fab_fabric *f = s->v->fabric;
    const struct fab_locations *locations = s->v->policy.locations;
    for (uint32_t n = f->switch_count; locations != NULL && n < f->node_count; n++) {
        const struct fab_node *node = &f->nodes[n];
        const char *host = fab_hosts_location(locations, node)->host;
        if (strlen(host) == s->len && begins_with(s, host))
            note(ret, n);
    }
}

bool fab_view_has_name(const struct fab_view *v, const char *name, size_t len)
{
    const struct search s = {.v = v, .what = name, .len = len};
    struct matches by[MATCHES];
    collect(&s, by);
    return by[MATCH_NAME].count + by[MATCH_WORD].count > 0;
}

/* Writes a message such as '"leaf" is ambiguous (6 matches): leaf-001, leaf-002, ...'. If all
 * matching nodes have the same name, `equal` is true, and the message also shows their GUIDs. */
static int ambiguous(const struct search *s, const struct matches *m, bool equal)
{
    uint32_t count = m->count;
    int used = say(s, "\"%.*s\" is ambiguous (%" PRIu32 " matches):", (int)s->len, s->what, count);
    for (uint32_t i = 0; i < count && i < SHOWN && used >= 0 && (size_t)used < s->why_len; i++) {
        const struct fab_node *n = &s->v->fabric->nodes[m->first[i]];
        char guid[24] = "";
        if (equal)
            snprintf(guid, sizeof guid, " (0x%016" PRIx64 ")", n->guid);
        used += snprintf(s->why + used, s->why_len - (size_t)used, "%s %s%s", i > 0 ? "," : "",
                         n->name, guid);
    }
    if (count > SHOWN && used >= 0 && (size_t)used < s->why_len)
        snprintf(s->why + used, s->why_len - (size_t)used, ", ...");
    return FAB_E_EXISTS;
}

static int not_found(const struct search *s)
{
    const struct fab_fabric *f = s->v->fabric;
    unsigned limit = fab_base_near_most(s->len), least = limit + 1;
    const char *nearest = NULL;
    for (uint32_t n = 0; n < f->node_count; n++) {
        const char *name = f->nodes[n].name;
        unsigned d = fab_base_distance(s->what, s->len, name, strlen(name), limit);
        if (d < least) {
            least = d;
            nearest = name;
        }
    }
    if (nearest != NULL)
        say(s, "no node, GUID or LID \"%.*s\"; did you mean \"%s\"?", (int)s->len, s->what,
            nearest);
    else
        say(s, "no node, GUID or LID \"%.*s\"", (int)s->len, s->what);
    return FAB_E_NOT_FOUND;
}

/* Finds the nodes that match best. Returns their kind of match; *ret has no node if none matches.
 */
static enum match best_matches(const struct search *s, struct matches *ret)
{
    struct matches by[MATCHES];
    enum match best = MATCH_NAME;
    collect(s, by);
    while (best < MATCHES && by[best].count == 0)
        best++;
    if (best == MATCHES)
        collect_adapters(s, &by[best = MATCH_WORD]);
    *ret = by[best];
    return best;
}

static int node_by_name(const struct search *exact, uint32_t *ret_node)
{
    struct search s = *exact;
    struct matches found;
    if (s.len == 0)
        return not_found(&s);
    enum match kind = best_matches(&s, &found);
    if (found.count == 0) {
        s.any_case = true;
        kind = best_matches(&s, &found);
    }
    if (found.count == 0)
        return not_found(&s);
    if (found.count > 1)
        return ambiguous(&s, &found, kind == MATCH_NAME && !s.any_case);
    *ret_node = found.first[0];
    return FAB_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns the port that the text names by LID or port GUID; FAB_NONE: no port has this LID or GUID.
 */
static uint32_t port_by_number(const struct search *s, const struct fab_view_number *n)
{
    return n->guid ? fab_fabric_port_by_guid(s->v->fabric, n->value) : port_of_lid(s->v, n->value);
}

static uint32_t node_by_number(const struct search *s, const struct fab_view_number *n)
{
    uint32_t node = n->guid ? fab_fabric_node_by_guid(s->v->fabric, n->value) : FAB_NONE;
    if (node != FAB_NONE)
        return node;
    uint32_t port = port_by_number(s, n);
    return port != FAB_NONE ? fab_fabric_port(s->v->fabric, port)->node : FAB_NONE;
}

static int find_node(const struct search *s, uint32_t *ret_node)
{
    struct fab_view_number number;
    uint32_t node =
        fab_view_read_number(s->what, s->len, &number) ? node_by_number(s, &number) : FAB_NONE;
    if (node == FAB_NONE)
        return node_by_name(s, ret_node);
    *ret_node = node;
    return FAB_OK;
}

int fab_view_find_node(const struct fab_view *v, const char *what, uint32_t *ret_node, char *why,
                       size_t why_len)
{
    struct search s = {.v = v, .what = what, .len = strlen(what), .why = why, .why_len = why_len};
    return find_node(&s, ret_node);
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* Returns true if the port has a LID. If the manager has not computed tables yet, returns true if
 * the port can get a LID. */
static bool has_lid(const struct fab_view *v, uint32_t port)
{
    if (!fab_fabric_port_has_lid(v->fabric, port))
        return false;
    return v->target == NULL || port >= v->target->lids.port_count ||
           v->target->lids.base[port] != 0;
}

/* Finds the only port of the node that has a LID. Returns NOT_FOUND if no port of the node has a
 * LID, or EXISTS if several ports have one. */
static int end_of_node(const struct search *s, uint32_t node, uint32_t *ret_port)
{
    const struct fab_node *n = &s->v->fabric->nodes[node];
    uint32_t found = FAB_NONE, count = 0;
    for (uint32_t i = 0; i <= n->num_ports; i++)
        if (has_lid(s->v, n->first_port + i)) {
            found = count == 0 ? n->first_port + i : found;
            count++;
        }
    if (count == 1) {
        *ret_port = found;
        return FAB_OK;
    }
    if (count == 0) {
        say(s, "%s (0x%016" PRIx64 ") has no port with a LID", n->name, n->guid);
        return FAB_E_NOT_FOUND;
    }
    say(s, "%s (0x%016" PRIx64 ") has %" PRIu32 " ports with LIDs: add /%u or another port number",
        n->name, n->guid, count, fab_fabric_port(s->v->fabric, found)->num);
    return FAB_E_EXISTS;
}

static int end_by_number(const struct search *s, uint32_t node, uint64_t num, uint32_t *ret_port)
{
    const struct fab_node *n = &s->v->fabric->nodes[node];
    if (num > n->num_ports || !has_lid(s->v, n->first_port + (uint32_t)num)) {
        say(s, "port %" PRIu64 " of %s (0x%016" PRIx64 ") has no LID%s", num, n->name, n->guid,
            n->type == FAB_NODE_SWITCH ? "; only port 0 of a switch has one" : "");
        return FAB_E_NOT_FOUND;
    }
    *ret_port = n->first_port + (uint32_t)num;
    return FAB_OK;
}

static int find_end(const struct search *s, uint32_t *ret_port)
{
    struct fab_view_number number;
    uint32_t node, port = fab_view_read_number(s->what, s->len, &number)
                              ? port_by_number(s, &number)
                              : FAB_NONE;
    if (port != FAB_NONE && has_lid(s->v, port)) {
        *ret_port = port;
        return FAB_OK;
    }
    int status = find_node(s, &node);
    return status == FAB_OK ? end_of_node(s, node, ret_port) : status;
}

/* Splits a text "NODE/PORT" into the node and the port number. Returns false if the text does
 * not end with "/PORT". */
static bool split(struct search *s, uint64_t *ret_num)
{
    const char *slash = memrchr(s->what, '/', s->len);
    if (slash == NULL)
        return false;
    size_t before = (size_t)(slash - s->what);
    if (!read_decimal(slash + 1, s->len - before - 1, ret_num))
        return false;
    s->len = before;
    return true;
}

int fab_view_find_port(const struct fab_view *v, const char *what, uint32_t *ret_port, char *why,
                       size_t why_len)
{
    struct search s = {.v = v, .what = what, .len = strlen(what), .why = why, .why_len = why_len};
    uint64_t num;
    uint32_t node;
    int status = find_end(&s, ret_port);
    if (status != FAB_E_NOT_FOUND || !split(&s, &num))
        return status;
    status = find_node(&s, &node);
    return status == FAB_OK ? end_by_number(&s, node, num, ret_port) : status;
}
