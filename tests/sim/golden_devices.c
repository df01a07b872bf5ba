/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads all attributes of simulated devices, and prints them. LIDs, GUIDs and other values that
 * differ from port to port are printed separately. So ports with equal settings can share a
 * paragraph.
 */
#include "tests/sim/golden_devices.h"

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/sim/device.h"
#include "tests/support/golden.h"
#include "tests/unit/testing.h"

/* maximum length of a printed line; longer lists continue on a further line */
#define LINE 100
/* number of LFT entries that are printed; a digest covers all of them */
#define FIRST 12

/* ---- texts ----------------------------------------------------------------------------------- */

struct text {
    FILE *out;
    char *at;
    size_t len;
};

static void begin(struct text *t)
{
    t->out = open_memstream(&t->at, &t->len);
    ck_assert_ptr_nonnull(t->out);
}

static char *end(struct text *t)
{
    fclose(t->out);
    return t->at;
}

void golden_items_add(struct golden_items *to, const char *attr, uint32_t node, int port,
                      char *text)
{
    if (to->count == to->room) {
        to->room = to->room * 2 + 64;
        to->item = realloc(to->item, to->room * sizeof(*to->item));
        ck_assert_ptr_nonnull(to->item);
    }
    to->item[to->count++] = (struct golden_item){attr, node, port, text};
}

void golden_items_free(struct golden_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        free(items->item[i].text);
    free(items->item);
    *items = (struct golden_items){0};
}

static bool contains(const char *const *names, const char *name, size_t len)
{
    for (; names != NULL && *names != NULL; names++)
        if (strlen(*names) == len && strncmp(*names, name, len) == 0)
            return true;
    return false;
}

char *golden_fields(const struct fab_attr *attr, const void *value, const char *const *skip)
{
    static char lines[16384];
    struct text t;
    unsigned on_line = 0;
    ck_assert_uint_lt(fab_wire_attr_print(attr, value, lines, sizeof lines), sizeof lines);
    begin(&t);
    for (char *line = lines, *next; *line != '\0'; line = next) {
        size_t name = strcspn(line, ":"), len = strcspn(line, "\n");
        next = line + len + 1;
        if (contains(skip, line, name))
            continue;
        /* The value is an array, so it gets a line of its own. */
        if (len > name + 30) {
            fprintf(t.out, "%s%.*s=%.*s\n", on_line > 0 ? "\n" : "", (int)name, line,
                    (int)(len - name - 2), line + name + 2);
            on_line = 0;
            continue;
        }
        fprintf(t.out, "%s%.*s=%.*s", on_line > 0 ? " " : "", (int)name, line,
                (int)(len - name - 2), line + name + 2);
        if (++on_line == 5) {
            fputc('\n', t.out);
            on_line = 0;
        }
    }
    if (on_line > 0)
        fputc('\n', t.out);
    return end(&t);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool get(struct fab_sim *sim, uint32_t node, uint8_t port, uint16_t attr, uint32_t mod,
                const struct fab_attr *table, void *ret)
{
    struct position at = {.node = node, .port = is_switch(sim, node) ? 0 : port};
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_LID,
                          .method = FAB_METHOD_GET,
                          .tid = 1,
                          .attr_id = attr,
                          .attr_mod = mod,
                          .m_key = sim->ports[lid_port(sim, at)].info.m_key};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), 0);
    return fab_sim_sma_answer(sim, at, 0, &mad, bytes) &&
           fab_base_get_be16(bytes + MAD_STATUS) == 0 &&
           fab_wire_attr_unpack(table, bytes + SMP_DATA, FAB_SMP_DATA, ret) == 0;
}

static void read_port_info(struct golden_items *to, const struct fab_sim *sim, uint32_t node,
                           uint8_t port)
{
    /* fields that are not printed, because they differ from port to port, or because no manager can
     * change them */
    static const char *const skip[] = {"LID",
                                       "LocalPortNum",
                                       "LinkWidthSupported",
                                       "LinkSpeedSupported",
                                       "LinkSpeedExtSupported",
                                       "LinkSpeedExtSupported2",
                                       "LinkSpeedExtActive2",
                                       "VLArbitrationHighCap",
                                       "VLArbitrationLowCap",
                                       "InitTypeReply",
                                       "RespTimeValue",
                                       "LinkRoundTripLatency",
                                       "MaxCreditHint",
                                       "DiagCode",
                                       "CapabilityMask2",
                                       NULL};
    const struct fab_port_info *info = fab_sim_port(sim, node, port);
    if (port == 0 || !is_switch(sim, node)) {
        struct text t;
        begin(&t);
        fprintf(t.out, "%u", info->lid);
        golden_items_add(to, "LID", node, port, end(&t));
    }
    golden_items_add(to, "PortInfo", node, port,
                     golden_fields(&fab_wire_attr_port_info, info, skip));
}

static void read_pkeys(struct golden_items *to, struct fab_sim *sim, uint32_t node, uint8_t port)
{
    struct fab_pkey_block block;
    struct text t;
    unsigned column = 0;
    begin(&t);
    for (uint32_t b = 0; b < 4; b++) {
        if (!get(sim, node, port, FAB_ATTR_PKEY_TABLE, b | (uint32_t)port << 16,
                 &fab_wire_attr_pkey_block, &block))
            break;
        for (uint32_t i = 0; i < 32; i++)
            if (block.pkey[i] != 0)
                fprintf(t.out, "%s%u:0x%04x", column++ > 0 ? " " : "", b * 32 + i, block.pkey[i]);
    }
    fprintf(t.out, "%s\n", column == 0 ? "empty" : "");
    golden_items_add(to, "P_KeyTable", node, port, end(&t));
}

static void read_guids(struct golden_items *to, struct fab_sim *sim, uint32_t node, uint8_t port)
{
    struct fab_guid_block block;
    struct text t;
    begin(&t);
    for (uint32_t b = 0; b < 2; b++) {
        if (!get(sim, node, port, FAB_ATTR_GUID_INFO, b, &fab_wire_attr_guid_block, &block))
            break;
        for (uint32_t i = 0; i < 8; i++) {
            if (b == 0 && i == 0)
                fputs(block.guid[0] == fab_fabric_port(sim->fabric, port_id(sim, node, port))->guid
                          ? "0:own"
                          : "0:foreign",
                      t.out);
            else if (block.guid[i] != 0)
                fprintf(t.out, " %u:0x%016" PRIx64, b * 8 + i, block.guid[i]);
        }
    }
    fputc('\n', t.out);
    golden_items_add(to, "GUIDInfo", node, port, end(&t));
}

static void print_sl2vl(FILE *out, uint64_t table)
{
    for (unsigned sl = 0; sl < 16; sl++)
        fprintf(out, " %u", (unsigned)(table >> (60 - 4 * sl)) & 15);
    fputc('\n', out);
}

/* Prints the SL-to-VL tables of a node for one output port. Consecutive input ports with the same
 * table share a line. */
static void read_sl2vl(struct golden_items *to, const struct fab_sim *sim, uint32_t node,
                       uint8_t port)
{
    unsigned ins = is_switch(sim, node) ? sim->fabric->nodes[node].num_ports : 0;
    struct text t;
    begin(&t);
    for (unsigned in = 0, last; in <= ins; in = last + 1) {
        uint64_t table = fab_sim_sl2vl(sim, node, (uint8_t)in, port);
        for (last = in; last < ins; last++)
            if (fab_sim_sl2vl(sim, node, (uint8_t)(last + 1), port) != table)
                break;
        if (is_switch(sim, node))
            fprintf(t.out, "from %u-%u:", in, last);
        else
            fputs("VLs of SL 0-15:", t.out);
        print_sl2vl(t.out, table);
    }
    golden_items_add(to, "SLtoVLMappingTable", node, port, end(&t));
}

static void read_vlarb(struct golden_items *to, struct fab_sim *sim, uint32_t node, uint8_t port)
{
    static const char *const quarter[] = {"Low", "Low from 32", "High", "High from 32"};
    struct fab_vlarb arb;
    struct text t;
    begin(&t);
    for (uint32_t q = 1; q <= 4; q++) {
        if (!get(sim, node, port, FAB_ATTR_VLARB, q << 16 | port, &fab_wire_attr_vlarb, &arb))
            continue;
        unsigned entries = 32;
        while (entries > 0 && arb.entry[entries - 1].weight == 0)
            entries--;
        fprintf(t.out, "%s (VL:weight):", quarter[q - 1]);
        for (unsigned i = 0; i < entries; i++)
            fprintf(t.out, " %u:%u", arb.entry[i].vl, arb.entry[i].weight);
        fputs(entries == 0 ? " empty\n" : "\n", t.out);
    }
    golden_items_add(to, "VLArbitrationTable", node, port, end(&t));
}

static void read_lft(struct golden_items *to, const struct fab_sim *sim, uint32_t sw)
{
    uint32_t top = 0, printed = 0, used = 0;
    const uint8_t *row = fab_sim_lft(sim, sw, &top);
    struct text t;
    begin(&t);
    for (uint32_t lid = 0; row != NULL && lid <= top; lid++)
        used += row[lid] != 0xff;
    fprintf(t.out, "entries=%u digest=%016" PRIx64 "\nLID:port", used,
            row != NULL ? golden_hash(GOLDEN_HASH, row, top + 1) : 0);
    for (uint32_t lid = 0; row != NULL && lid <= top && printed < FIRST; lid++)
        if (row[lid] != 0xff && printed++ < FIRST)
            fprintf(t.out, " %u:%u", lid, row[lid]);
    fputc('\n', t.out);
    golden_items_add(to, "LinearForwardingTable", sw, -1, end(&t));
}

static void read_mft(struct golden_items *to, const struct fab_sim *sim, uint32_t sw)
{
    struct text t;
    uint64_t hash = GOLDEN_HASH;
    unsigned printed = 0;
    begin(&t);
    for (uint32_t mlid = 0xc000; mlid < 0xc100; mlid++) {
        uint64_t mask[4], any = 0;
        for (unsigned i = 0; i < 4; i++)
            any |= mask[i] = fab_sim_mft(sim, sw, (uint16_t)mlid, i);
        hash = golden_hash_numbers(hash, mask, 4);
        if (any == 0 || printed++ >= FIRST / 2)
            continue;
        fprintf(t.out, "0x%04x: ports", mlid);
        for (unsigned port = 0; port < 64; port++)
            if (mask[port / 16] >> port % 16 & 1)
                fprintf(t.out, " %u", port);
        fputc('\n', t.out);
    }
    fprintf(t.out, "MLIDs=%u digest=%016" PRIx64 "\n", printed, hash);
    golden_items_add(to, "MulticastForwardingTable", sw, -1, end(&t));
}

/* Reads the attributes of congestion control (annex A10) that a manager has written. */
static void read_congestion(struct golden_items *to, struct fab_sim *sim, uint32_t node,
                            uint8_t port)
{
    static const struct fab_attr *const attrs[] = {
        &fab_wire_attr_cc_key_info, &fab_wire_attr_cc_switch_setting,
        &fab_wire_attr_cc_switch_port_setting, &fab_wire_attr_cc_ca_setting,
        &fab_wire_attr_cc_table};
    static union {
        uint8_t bytes[4096];
        uint64_t align;
    } value;
    uint8_t data[FAB_GS_DATA];
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        bool of_switch = i == 0 || (is_switch(sim, node) ? i == 1 || i == 2 : i == 3 || i == 4);
        struct text t;
        if (!of_switch)
            continue;
        begin(&t);
        for (uint32_t block = 0; block < 2; block++) {
            if (!fab_sim_table_read(sim, port_id(sim, node, port), attrs[i]->id, block, data) ||
                fab_wire_attr_unpack(attrs[i], data, sizeof data, &value) != 0)
                continue;
            char *fields = golden_fields(attrs[i], &value, NULL);
            fprintf(t.out, "block %u\n%s", block, fields);
            free(fields);
        }
        char *text = end(&t);
        golden_items_add(to, attrs[i]->name, node, port,
                         text[0] != '\0' ? text : strdup("not written\n"));
        if (text[0] == '\0')
            free(text);
    }
}

static void read_port(struct golden_items *to, struct fab_sim *sim, uint32_t node, uint8_t port)
{
    read_port_info(to, sim, node, port);
    read_pkeys(to, sim, node, port);
    if (!is_switch(sim, node))
        read_guids(to, sim, node, port);
    if (port > 0) {
        read_sl2vl(to, sim, node, port);
        read_vlarb(to, sim, node, port);
    }
    if (port == 0 || !is_switch(sim, node))
        read_congestion(to, sim, node, port);
}

void golden_items_read(struct golden_items *to, struct fab_sim *sim)
{
    const struct fab_fabric *f = fab_sim_fabric(sim);
    for (uint32_t n = 0; n < f->node_count; n++) {
        for (unsigned p = is_switch(sim, n) ? 0 : 1; p <= f->nodes[n].num_ports; p++)
            read_port(to, sim, n, (uint8_t)p);
        if (!is_switch(sim, n))
            continue;
        golden_items_add(to, "SwitchInfo", n, -1,
                         golden_fields(&fab_wire_attr_switch_info, &sim->switches[n].info, NULL));
        read_lft(to, sim, n);
        read_mft(to, sim, n);
    }
}

/* ---- paragraphs ------------------------------------------------------------------------------ */

/* prints a list of ports, such as "leaf-001/1-3,7 leaf-002/1", port by port */
struct places {
    FILE *out;
    uint32_t node;
    /* the range of ports that is not printed yet, because it may become longer */
    int first, last;
    size_t column;
};

static void close_run(struct places *p)
{
    if (p->last > p->first)
        p->column += (size_t)fprintf(p->out, "-%d", p->last);
}

static void print_place(struct places *p, const struct fab_fabric *f,
                        const struct golden_item *item)
{
    if (p->node == item->node && (item->port == p->last + 1 || item->port == p->last)) {
        p->last = item->port;
        return;
    }
    close_run(p);
    if (p->node == item->node) {
        p->column += (size_t)fprintf(p->out, ",%d", item->port);
    } else {
        if (p->column > LINE)
            p->column = (size_t)fprintf(p->out, "\n ");
        p->column += (size_t)fprintf(p->out, " %s", f->nodes[item->node].desc);
        if (item->port >= 0)
            p->column += (size_t)fprintf(p->out, "/%d", item->port);
    }
    p->node = item->node;
    p->first = p->last = item->port;
}

static void print_indented(FILE *out, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        fprintf(out, "    %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

/* Compares the texts of an attribute before and after a step. Returns the fields that differ, each
 * with its new and its old value. Both texts have the same fields in the same order. */
static char *changed_fields(const char *now, const char *before)
{
    struct text t;
    unsigned on_line = 0;
    begin(&t);
    while (*now != '\0' && *before != '\0') {
        size_t n = strcspn(now, " \n"), b = strcspn(before, " \n");
        if (n != b || memcmp(now, before, n) != 0) {
            size_t name = strcspn(before, "=");
            fprintf(t.out, "%s%.*s (was %.*s)", on_line++ > 0 ? ", " : "", (int)n, now,
                    (int)(b - name - 1), before + name + 1);
        }
        now += n + (now[n] != '\0');
        before += b + (before[b] != '\0');
    }
    fputc('\n', t.out);
    return end(&t);
}

/* Returns what to print for item i. If there is no `before`: its whole text, or NULL if the
 * attribute was never written. Otherwise: its whole text (of PortInfo and SwitchInfo only the
 * fields that changed), or NULL if nothing changed. */
static char *text_of(const struct golden_items *now, const struct golden_items *before, size_t i)
{
    const struct golden_item *item = &now->item[i];
    if (before == NULL)
        return strcmp(item->text, "not written\n") == 0 ? NULL : strdup(item->text);
    const char *was = before->item[i].text;
    if (strcmp(item->text, was) == 0)
        return NULL;
    if (strcmp(item->attr, "PortInfo") == 0 || strcmp(item->attr, "SwitchInfo") == 0)
        return changed_fields(item->text, was);
    return strdup(item->text);
}

/* Prints item i, and in the same paragraph all later items with the same attribute and text. Frees
 * their texts, so that they are not printed again. */
static void print_group(FILE *out, const struct fab_fabric *f, const struct golden_items *now,
                        size_t i, char **text)
{
    struct places p = {.out = out, .node = FAB_NONE, .first = -2, .last = -2};
    char *shared = text[i];
    p.column = (size_t)fprintf(out, "%s", now->item[i].attr);
    for (size_t j = i; j < now->count; j++) {
        if (text[j] == NULL || strcmp(now->item[j].attr, now->item[i].attr) != 0 ||
            strcmp(text[j], shared) != 0)
            continue;
        print_place(&p, f, &now->item[j]);
        if (j > i)
            free(text[j]);
        text[j] = NULL;
    }
    close_run(&p);
    fputc('\n', out);
    print_indented(out, shared);
    free(shared);
}

static void print_lids(FILE *out, const struct fab_fabric *f, const struct golden_items *now,
                       char **text)
{
    size_t column = 0;
    for (size_t i = 0; i < now->count; i++) {
        if (text[i] == NULL || strcmp(now->item[i].attr, "LID") != 0)
            continue;
        if (column == 0)
            fputs("LIDs\n   ", out);
        else if (column > LINE) {
            fputs("\n   ", out);
            column = 0;
        }
        column += (size_t)fprintf(out, " %s/%d=%s", f->nodes[now->item[i].node].desc,
                                  now->item[i].port, text[i]);
        free(text[i]);
        text[i] = NULL;
    }
    if (column > 0)
        fputc('\n', out);
}

void golden_items_print(FILE *out, const struct fab_fabric *f, const struct golden_items *now,
                        const struct golden_items *before)
{
    char **text = calloc(now->count + 1, sizeof(*text));
    ck_assert_ptr_nonnull(text);
    ck_assert(before == NULL || before->count == now->count);
    for (size_t i = 0; i < now->count; i++)
        text[i] = text_of(now, before, i);
    print_lids(out, f, now, text);
    /* prints each attribute once, in the order in which now->item[] first has it */
    for (size_t i = 0; i < now->count; i++) {
        const char *attr = now->item[i].attr;
        for (size_t j = i; j < now->count; j++)
            if (text[j] != NULL && strcmp(now->item[j].attr, attr) == 0)
                print_group(out, f, now, j, text);
    }
    free(text);
}
