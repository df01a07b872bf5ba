/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake of congestion control and of congested ports. It implements the interface of cc.h with
 * fixed states of devices and fixed logs. In the one second that a test takes, simulated devices
 * log no congestion, so only this fake can show how the RPC server presents logs.
 */
#include "tests/rpc/fake_cc.h"

#include <stdlib.h>
#include <string.h>

#include "fabricd/pm/pm.h"
#include "libfabmgr/base/status.h"

#define LEAF UINT64_C(0x0002c90100000001) /* leaf-001 */
#define HOST UINT64_C(0x0002c90200000000) /* host-0001 */
/* GUID of a device that has left the fabric */
#define GONE UINT64_C(0x0002c9ffffffffff)

struct cc {
    const struct config *config;
    struct fab_congestion settings;
    struct fab_congestion_log of_leaf, of_host;
    struct loop_timer *timer;
    loop_fn *waiter;
    void *waiter_ctx;
    const struct fab_view *wanted;
    uint64_t generation;
};

static void on_computed(void *ctx)
{
    struct cc *cc = ctx;
    const struct fab_congestion_input in = {.fabric = cc->wanted->fabric,
                                            .policy = &cc->config->policy};
    fab_congestion_fini(&cc->settings);
    cc->settings = (struct fab_congestion){0};
    if (fab_congestion_compute(&in, &cc->settings) == FAB_OK)
        cc->generation = cc->wanted->generation;
    cc->waiter(cc->waiter_ctx);
}

int fake_cc_new(struct loop *loop, const struct config *config, struct cc **ret)
{
    struct cc *cc = calloc(1, sizeof *cc);
    if (cc == NULL)
        return FAB_E_NOMEM;
    cc->config = config;
    cc->timer = loop_timer_new(loop, on_computed, cc);
    /* the log of the switch has two entries, and says that ports 1, 9 and 254 marked packets */
    cc->of_leaf = (struct fab_congestion_log){
        .read_us = 5000000,
        .events = 12,
        .count = 2,
        .entry = {{.slid = 1, .dlid = 2, .sl = 3, .at_us = 4000000},
                  {.slid = 2, .dlid = 0xbeef, .sl = 1, .at_us = 3500000}}};
    cc->of_leaf.port_map[31] = 1 << 1;
    cc->of_leaf.port_map[30] = 1 << 1;
    cc->of_leaf.port_map[0] = 1 << 6;
    cc->of_host = (struct fab_congestion_log){.read_us = 5000000,
                                              .events = 4,
                                              .count = 1,
                                              .sl_map = 1 << 15 | 1 << 2 | 1,
                                              .entry = {{.slid = 1,
                                                         .dlid = 3,
                                                         .sl = 2,
                                                         .service = 3,
                                                         .local_qp = 0x123,
                                                         .remote_qp = 0xabcdef,
                                                         .at_us = 4999000}}};
    *ret = cc;
    return cc->timer != NULL ? FAB_OK : FAB_E_NOMEM;
}

void fake_cc_free(struct cc *cc)
{
    if (cc == NULL)
        return;
    loop_timer_free(cc->timer);
    fab_congestion_fini(&cc->settings);
    free(cc);
}

const char *cc_state_name(enum cc_state state)
{
    static const char *const names[] = {"pending", "programmed", "unsupported", "foreign-key",
                                        "failed"};
    return names[state];
}

void cc_get_status(const struct cc *cc, struct cc_status *ret)
{
    *ret = (struct cc_status){.apply = true,
                              .profile = cc->config->policy.congestion.profile,
                              .generation = cc->generation,
                              .settings = 7,
                              .devices = {1, 2, 3, 4, 5},
                              .fan_in = 6,
                              .compute_us = 1500,
                              .reads = 100,
                              .writes = 50,
                              .log_reads = 30,
                              .log_events = 16,
                              .without_log = 8};
}

uint32_t cc_not_programmed(const struct cc *cc, struct cc_device_status *ret, uint32_t max)
{
    const struct cc_device_status all[] = {
        {.guid = LEAF, .state = CC_FAILED, .tries = 3, .gives_up = true},
        {.guid = HOST, .port = 1, .state = CC_FOREIGN_KEY, .tries = 1},
        {.guid = HOST, .port = 2, .state = CC_UNSUPPORTED, .unresponsive = true},
        {.guid = GONE, .port = 1, .state = CC_UNSUPPORTED}};
    uint32_t count = sizeof all / sizeof all[0];
    (void)cc;
    memcpy(ret, all, (count < max ? count : max) * sizeof *all);
    return count;
}

bool cc_device_of(const struct cc *cc, const struct fab_fabric *f, uint32_t port,
                  struct cc_device_status *ret)
{
    (void)cc, (void)f, (void)port;
    *ret = (struct cc_device_status){.guid = LEAF, .state = CC_PROGRAMMED};
    return true;
}

void cc_get_key_status(const struct cc *cc, struct sm_key_status *ret)
{
    (void)cc;
    *ret = (struct sm_key_status){.set = true, .generation = 5, .ports = 9, .current = 9};
}

int cc_key_rotate_check(const struct cc *cc, bool give_up, char *why, size_t why_len)
{
    (void)cc, (void)give_up, (void)why, (void)why_len;
    return FAB_OK;
}

int cc_key_rotate(struct cc *cc, bool give_up, bool local, char *why, size_t why_len)
{
    (void)cc, (void)give_up, (void)local, (void)why, (void)why_len;
    return FAB_OK;
}

/* Returns the logs of five devices: a switch with a log, an adapter with a log, an adapter without
 * a log, an adapter that was not read yet, and a device that left the fabric. */
uint32_t cc_logs(const struct cc *cc, uint64_t node_guid, struct cc_log_status *ret, uint32_t max)
{
    const struct cc_log_status all[] = {
        {.guid = LEAF, .read_us = 1795179476000000, .log = &cc->of_leaf},
        {.guid = HOST, .port = 1, .read_us = 1795179476500000, .log = &cc->of_host},
        {.guid = HOST + 4, .port = 1, .none = true},
        {.guid = HOST + 8, .port = 1},
        {.guid = GONE, .port = 1, .none = true}};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if ((node_guid == 0 || all[i].guid == node_guid) && count++ < max)
            ret[count - 1] = all[i];
    return count;
}

/* Adds to senders[LID] the number of adapters that were throttled when they sent to this LID: one
 * for LID 1, three for LID 3. */
void cc_count_senders(const struct cc *cc, uint16_t *senders, uint32_t lids)
{
    (void)cc;
    if (lids > 1)
        senders[1] += 1;
    if (lids > 3)
        senders[3] += 3;
}

unsigned cc_advise(const struct cc *cc, char ret[][FAB_CONGESTION_ADVICE_LEN])
{
    (void)cc;
    strcpy(ret[0], "one sentence");
    strcpy(ret[1], "and another");
    return 2;
}

int cc_settings(struct cc *cc, const struct fab_view *v, const struct fab_congestion **ret)
{
    if (cc->generation != v->generation)
        return FAB_E_BUSY;
    *ret = &cc->settings;
    return FAB_OK;
}

int cc_await(struct cc *cc, const struct fab_view *v, loop_fn *fn, void *ctx)
{
    cc->wanted = v;
    cc->waiter = fn;
    cc->waiter_ctx = ctx;
    loop_timer_set(cc->timer, 1000);
    return FAB_OK;
}

/* ---- congested ports ------------------------------------------------------------------------- */

uint32_t pm_congested_ports(const struct pm *pm, struct pm_congested *ret, uint32_t max)
{
    const struct pm_congested all[] = {
        {.guid = LEAF,
         .port = 3,
         .kind = PM_CONGESTED,
         .waits_permille = 250,
         .mbps = 40000,
         .events = 11,
         .span_ms = 10500},
        {.guid = HOST, .port = 1, .kind = PM_THROTTLED, .mbps = 800, .becn = 21, .span_ms = 10000},
        {.guid = HOST + 4,
         .port = 1,
         .kind = PM_WAITING,
         .waits_permille = 13,
         .mbps = 99,
         .fecn = 2,
         .span_ms = 9000},
        {.guid = GONE, .port = 7, .kind = PM_WAITING, .waits_permille = 12, .span_ms = 9000}};
    uint32_t count = sizeof all / sizeof all[0];
    (void)pm;
    if (max > 0)
        memcpy(ret, all, (count < max ? count : max) * sizeof *all);
    return count;
}

static int compare(const void *a, const void *b)
{
    const struct pm_congested *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->senders != y->senders)
        return x->senders > y->senders ? -1 : 1;
    return x->guid != y->guid ? (x->guid < y->guid ? -1 : 1) : x->port - y->port;
}

void pm_congested_sort(struct pm_congested *all, uint32_t count)
{
    qsort(all, count, sizeof *all, compare);
}
