/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the result of a rehearsal, as text or JSON: the proof of the new tables, the LIDs that
 * would change, and the writes by attribute and by device. If fabric, settings and state stay the
 * same, the manager makes these writes when it starts.
 */
#include "fabricd/rehearse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/report.h"
#include "fabricd/store/copy.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/verify.h"

#define LISTED 20 /* maximum number of devices and of LIDs in the text output */

/* ---- the copy of the state directory --------------------------------------------------------- */

int rehearse_prepare(struct daemon *d, char *why)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = d->rehearsal_dir;
    int len = snprintf(dir, sizeof(d->rehearsal_dir), "%s/fabricd-rehearsal-XXXXXX",
                       tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (len < 0 || (size_t)len >= sizeof(d->rehearsal_dir))
        snprintf(dir, sizeof(d->rehearsal_dir), "/tmp/fabricd-rehearsal-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        snprintf(why, WHY_LEN, "%s: %s", dir, strerror(errno));
        dir[0] = '\0';
        return FAB_E_IO;
    }
    int r = store_copy(d->config.state_dir, dir, why, WHY_LEN);
    char *copy = r == FAB_OK ? strdup(dir) : NULL;
    if (r == FAB_OK && copy == NULL) {
        snprintf(why, WHY_LEN, "out of memory");
        r = FAB_E_NOMEM;
    }
    if (r == FAB_OK) {
        free(d->config.state_dir);
        d->config.state_dir = copy;
    }
    return r;
}

void rehearse_clean(struct daemon *d)
{
    if (d->rehearsal_dir[0] != '\0')
        store_copy_remove(d->rehearsal_dir);
    d->rehearsal_dir[0] = '\0';
}

/* ---- counting -------------------------------------------------------------------------------- */

static const uint16_t attributes[] = {FAB_ATTR_SWITCH_INFO, FAB_ATTR_PORT_INFO, FAB_ATTR_LFT,
                                      FAB_ATTR_PKEY_TABLE,  FAB_ATTR_SL2VL,     FAB_ATTR_VLARB};
#define ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))
static const char *const names[ATTRIBUTES] = {
    "SwitchInfo", "PortInfo",           "LinearForwardingTable",
    "P_KeyTable", "SLtoVLMappingTable", "VLArbitrationTable"};

struct counts {
    uint32_t writes[ATTRIBUTES], devices[ATTRIBUTES], all;
    uint32_t *by_node; /* [node_count * ATTRIBUTES] number of writes by node and attribute */
    uint32_t *entries; /* [switch_count] number of LFT entries that change in each switch */
    uint64_t entries_all;
    /* numbers of ports: `kept` keep their LID, `new` get their first LID, and `changed` get another
     * LID */
    uint32_t kept, new, changed;
};

static unsigned attribute_of(uint16_t id)
{
    unsigned i = 0;
    while (i < ATTRIBUTES && attributes[i] != id)
        i++;
    return i;
}

static bool lid_changes(const struct sm_rehearsal *r, uint32_t port, bool *ret_new)
{
    uint32_t now = fab_fabric_port(r->fabric, port)->info.lid, then = r->target->lids.base[port];
    *ret_new = now == 0;
    return then != 0 && now != then;
}

/* Returns the number of LFT entries of a switch that would change. If a block could not be read,
 * counts all entries of the new block that have a route. */
static uint32_t entries_of(const struct sm_rehearsal *r, uint32_t sw)
{
    const struct fab_observed *o = r->observed;
    uint32_t count = 0;
    for (uint32_t lid = 1; lid <= r->target->lids.top; lid++) {
        bool known = sw < o->lft.switch_count && lid <= o->lft.top &&
                     fab_plan_observed_is_known(o, sw, lid / FAB_LFT_BLOCK);
        uint8_t was = known ? fab_target_lft_at(&o->lft, sw, lid) : FAB_LFT_NO_ROUTE;
        count += fab_target_lft_at(&r->target->lft, sw, lid) != was;
    }
    return count;
}

static int count(const struct sm_rehearsal *r, struct counts *c)
{
    const struct fab_fabric *f = r->fabric;
    *c = (struct counts){.all = r->plan->stage_start[FAB_STAGE_COUNT]};
    c->by_node = calloc((size_t)f->node_count * ATTRIBUTES + 1, sizeof(*c->by_node));
    c->entries = calloc((size_t)f->switch_count + 1, sizeof(*c->entries));
    if (c->by_node == NULL || c->entries == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->all; i++) {
        unsigned a = attribute_of(r->plan->ops[i].attr_id);
        if (a == ATTRIBUTES)
            continue;
        uint32_t *at = &c->by_node[(size_t)r->plan->ops[i].node * ATTRIBUTES + a];
        c->devices[a] += (*at)++ == 0;
        c->writes[a]++;
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        c->entries_all += c->entries[sw] = entries_of(r, sw);
    for (uint32_t p = 0; p < f->port_count; p++) {
        bool is_new, differs = lid_changes(r, p, &is_new);
        c->kept += r->target->lids.base[p] != 0 && !differs;
        c->new += differs &&is_new;
        c->changed += differs && !is_new;
    }
    return FAB_OK;
}

static uint32_t writes_of(const struct counts *c, uint32_t node)
{
    uint32_t sum = 0;
    for (unsigned a = 0; a < ATTRIBUTES; a++)
        sum += c->by_node[(size_t)node * ATTRIBUTES + a];
    return sum;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_lids(const struct sm_rehearsal *r, const struct counts *c)
{
    unsigned shown = 0;
    printf("LIDs:    %u kept, %u new, %u changed\n", c->kept, c->new, c->changed);
    for (uint32_t p = 0; p < r->fabric->port_count && shown < LISTED; p++) {
        char name[128];
        bool is_new;
        if (!lid_changes(r, p, &is_new) || is_new)
            continue;
        const struct fab_port *port = fab_fabric_port(r->fabric, p);
        report_node_name(r->fabric, port->node, name, sizeof(name));
        printf("         %s/%u: LID %u becomes %u\n", name, port->num, port->info.lid,
               r->target->lids.base[p]);
        shown++;
    }
}

static void print_devices(const struct sm_rehearsal *r, const struct counts *c)
{
    unsigned shown = 0;
    uint32_t rest = 0;
    printf("%-40s %8s %8s %8s %8s %8s\n", "DEVICE", "WRITES", "LFT", "ENTRIES", "PORTINFO",
           "P_KEY");
    for (uint32_t n = 0; n < r->fabric->node_count; n++) {
        char name[128];
        const uint32_t *at = &c->by_node[(size_t)n * ATTRIBUTES];
        if (writes_of(c, n) == 0)
            continue;
        if (shown++ >= LISTED) {
            rest++;
            continue;
        }
        report_node_name(r->fabric, n, name, sizeof(name));
        printf("%-40.40s %8u %8u %8u %8u %8u\n", name, writes_of(c, n),
               at[attribute_of(FAB_ATTR_LFT)], n < r->fabric->switch_count ? c->entries[n] : 0,
               at[attribute_of(FAB_ATTR_PORT_INFO)], at[attribute_of(FAB_ATTR_PKEY_TABLE)]);
    }
    if (rest > 0)
        printf("... and %u more devices (--rehearse=json lists all)\n", rest);
}

static void print_text(const struct sm_rehearsal *r, const struct counts *c)
{
    const struct fab_fabric *f = r->fabric;
    printf("Fabric:  %u switch%s, %u other nodes, %u links\n", f->switch_count,
           fab_base_plural_es(f->switch_count), f->node_count - f->switch_count, f->link_count);
    printf("Routing: engine %s\n", r->target->engine);
    printf("Proof:   %" PRIu64
           " pairs have a path, none has a loop, the longest has %u switches; %s\n",
           r->verdict->pairs - r->verdict->unreachable_pairs, r->verdict->longest_path,
           r->verdict->deadlock_free ? "no deadlock is possible" : "deadlocks are possible");
    print_lids(r, c);
    printf("Tables:  %" PRIu64 " LFT entries differ\n", c->entries_all);
    printf("Writes:  %u (multicast tables follow when hosts have joined groups)\n", c->all);
    for (unsigned a = 0; a < ATTRIBUTES; a++)
        if (c->writes[a] > 0)
            printf("         %6u %s, at %u device%s\n", c->writes[a], names[a], c->devices[a],
                   fab_base_plural_s(c->devices[a]));
    if (c->all > 0)
        print_devices(r, c);
    printf("Nothing was written.\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_lids(const struct sm_rehearsal *r, const struct counts *c)
{
    const char *comma = "";
    printf(" \"lids\": {\"kept\": %u, \"new\": %u, \"changed\": %u},\n \"lid_changes\": [", c->kept,
           c->new, c->changed);
    for (uint32_t p = 0; p < r->fabric->port_count; p++) {
        bool is_new;
        if (!lid_changes(r, p, &is_new))
            continue;
        const struct fab_port *port = fab_fabric_port(r->fabric, p);
        printf("%s\n  {\"port_guid\": \"0x%016" PRIx64 "\", \"before\": %u, \"after\": %u}", comma,
               port->guid, port->info.lid, r->target->lids.base[p]);
        comma = ",";
    }
    printf("],\n");
}

static void json_writes(const char *indent, const uint32_t *writes)
{
    const char *comma = "";
    printf("%s\"writes\": {", indent);
    for (unsigned a = 0; a < ATTRIBUTES; a++)
        if (writes[a] > 0) {
            printf("%s\"%s\": %u", comma, names[a], writes[a]);
            comma = ", ";
        }
    printf("}");
}

static void print_json(const struct sm_rehearsal *r, const struct counts *c)
{
    const struct fab_fabric *f = r->fabric;
    const char *comma = "";
    printf("{\"switches\": %u, \"nodes\": %u, \"links\": %u, \"routing_engine\": ", f->switch_count,
           f->node_count, f->link_count);
    report_put_string(r->target->engine);
    printf(",\n \"proved\": true, \"deadlock_free\": %s, \"pairs\": %" PRIu64
           ", \"unreachable_pairs\": %" PRIu64 ", \"longest_path\": %u,\n",
           r->verdict->deadlock_free ? "true" : "false", r->verdict->pairs,
           r->verdict->unreachable_pairs, r->verdict->longest_path);
    json_lids(r, c);
    printf(" \"write_count\": %u, \"lft_entries\": %" PRIu64 ",\n", c->all, c->entries_all);
    json_writes(" ", c->writes);
    printf(",\n \"devices\": [");
    for (uint32_t n = 0; n < f->node_count; n++) {
        if (writes_of(c, n) == 0)
            continue;
        printf("%s\n  {\"guid\": \"0x%016" PRIx64 "\", \"name\": ", comma, f->nodes[n].guid);
        report_put_string(f->nodes[n].name);
        printf(", \"lft_entries\": %u, ", n < f->switch_count ? c->entries[n] : 0);
        json_writes("", &c->by_node[(size_t)n * ATTRIBUTES]);
        printf("}");
        comma = ",";
    }
    printf("]}\n");
}

/* ---- the result ------------------------------------------------------------------------------ */

static void print_failure(const struct sm_rehearsal *r, bool json)
{
    const char *why = r->alarm[0] != '\0'   ? r->alarm
                      : r->status != FAB_OK ? fab_base_status_text(r->status)
                                            : "the sweep found no tables";
    if (json) {
        printf("{\"proved\": false, \"reason\": ");
        report_put_string(why);
        printf("}\n");
    } else {
        printf("There are no new tables: %s\nNothing was written.\n", why);
    }
}

void rehearse_report(void *ctx, const struct sm_rehearsal *r)
{
    struct daemon *d = ctx;
    bool json = strcmp(d->options.rehearse, "json") == 0;
    struct counts c = {.all = 0};
    d->report_good = r->status == FAB_OK && r->target != NULL && r->plan != NULL;
    if (!d->report_good)
        print_failure(r, json);
    else if (count(r, &c) == FAB_OK)
        (json ? print_json : print_text)(r, &c);
    else
        fprintf(stderr, "fabricd: out of memory\n");
    free(c.by_node);
    free(c.entries);
    d->report_good = d->report_good && fflush(stdout) == 0;
    loop_stop(d->loop);
}
