/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The performance manager, together with the whole manager, in virtual time. The tests check which
 * requests it sends, and when. Each figure that it gives must equal what the test computes from the
 * simulated devices.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/cc/cc.h"
#include "fabricd/metrics/metrics.h"
#include "fabricd/pm/pm.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"
#include "tests/sim/lab.h"
#include "tests/support/golden.h"

#define SENT_MOST 8192
/* each tick also reads the next 16 ports that are not due yet (see assert_schedule) */
#define EARLY 16

struct sent {
    uint64_t us;
    uint16_t attr_id, dlid;
    uint8_t port;
};
static struct {
    struct lab lab;
    struct transport wire; /* the transport of the performance manager */
    struct pm *pm;
    bool narrow; /* true: devices have PortCounters, but not PortCountersExtended */
    struct sent sent[SENT_MOST];
    unsigned count;
    /* [LID] requests that the device did not answer yet, and the greatest of these numbers */
    unsigned in_flight[UINT16_MAX + 1], most_in_flight;
} t;

/* ---- the transport between the performance manager and the devices --------------------------- */

static int on_send(struct transport *base, const struct transport_mad *mad)
{
    enum { AT_ATTR_ID = 16, AT_PORT = FAB_PERF_DATA + 1 };
    (void)base;
    ck_assert_uint_lt(t.count, SENT_MOST);
    t.sent[t.count++] = (struct sent){
        .us = clock_now_us(),
        .attr_id = (uint16_t)(mad->bytes[AT_ATTR_ID] << 8 | mad->bytes[AT_ATTR_ID + 1]),
        .dlid = mad->addr.dlid,
        .port = mad->bytes[AT_PORT]};
    unsigned in_flight = ++t.in_flight[mad->addr.dlid];
    t.most_in_flight = in_flight > t.most_in_flight ? in_flight : t.most_in_flight;
    return transport_send(t.lab.sim_transport, mad);
}

static void on_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        struct transport_mad mad = mads[i];
        ck_assert_uint_gt(t.in_flight[mad.addr.slid]--, 0);
        if (t.narrow && mad.bytes[16] == 0 && mad.bytes[17] == FAB_ATTR_CLASS_PORT_INFO)
            /* clears CapabilityMask and CapabilityMask2 */
            memset(mad.bytes + FAB_PERF_DATA + 2, 0, 5);
        transport_hand_up(&t.wire, &mad, 1);
    }
}

static void begin(struct fab_builder *b, uint32_t interval_s, bool narrow)
{
    static const struct transport_ops ops = {.send = on_send};
    struct lab *lab = &t.lab;
    lab_open_virtual(lab, b, NULL);
    t.count = t.most_in_flight = 0;
    memset(t.in_flight, 0, sizeof t.in_flight);
    t.narrow = narrow;
    lab->config.sweep.light_interval_s = lab->config.sweep.heavy_interval_s = 0;
    lab->config.sweep.scrub_interval_s = 0;
    lab->config.counters.interval_s = interval_s;
    lab->config.counters.within_s = 3 * interval_s;
    lab->config.counters.on_errors = CONFIG_ON_ERRORS_REPORT;
    /* with congestion.apply, FECN and BECN counters are read, too */
    lab->config.policy.congestion.apply = true;
    sm_start(lab->sm);
    lab_run(lab, 60, lab_is_ready, "bring-up");
    t.wire = *lab->sim_transport;
    t.wire.ops = &ops;
    t.wire.receive = NULL;
    memset(t.wire.taker, 0, sizeof(t.wire.taker));
    ck_assert_int_eq(transport_on_class(lab->sim_transport, FAB_CLASS_PERF, on_receive, NULL),
                     FAB_OK);
    const struct pm_input in = {.loop = lab->loop,
                                .transport = &t.wire,
                                .sm = lab->sm,
                                .bus = lab->bus,
                                .config = &lab->config};
    ck_assert_int_eq(pm_new(&in, &t.pm), FAB_OK);
}

static void end(void)
{
    struct pm_status status;
    pm_get_status(t.pm, &status);
    ck_assert_uint_eq(status.most_in_flight, t.most_in_flight);
    ck_assert_uint_le(t.most_in_flight, 2);
    pm_free(t.pm);
    lab_close(&t.lab);
}

static const struct fab_fabric *fabric(void)
{
    return fab_sim_fabric(t.lab.sim);
}

/* Returns the id in the simulation of a port of the view. */
static uint32_t in_sim(const struct fab_fabric *view, uint32_t port)
{
    const struct fab_fabric *f = fabric();
    uint32_t node = fab_fabric_node_by_guid(f, view->nodes[fab_fabric_port(view, port)->node].guid);
    ck_assert_uint_ne(node, FAB_NONE);
    return fab_fabric_port_id(f, node, fab_fabric_port(view, port)->num);
}

static uint16_t lid_of(uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(fabric(), port);
    bool is_switch = fab_fabric_node_is_switch(fabric(), p->node);
    return fab_sim_port(t.lab.sim, p->node, is_switch ? 0 : p->num)->lid;
}

/* ---- times of reads -------------------------------------------------------------------------- */

static uint32_t find(uint64_t from_us, uint64_t to_us, uint16_t attr_id, uint16_t lid, uint8_t port,
                     uint64_t *ret_us)
{
    uint32_t found = 0;
    for (unsigned i = 0; i < t.count; i++) {
        const struct sent *s = &t.sent[i];
        if (s->us < from_us || s->us >= to_us || s->attr_id != attr_id || s->dlid != lid ||
            s->port != port)
            continue;
        *ret_us = s->us;
        found++;
    }
    return found;
}

/* Checks when each port is read. A pass takes one interval, and must read each port with a link
 * once, by its LID. The time of a port in the pass is proportional to its id; both ports of a link
 * have the time of the lower id. There is a tick whenever 16 more ports are due, and at least once
 * a second. A tick must read the ports that are due, and the next 16 ports. */
static void assert_schedule(struct fab_builder *b, uint32_t interval_s, bool narrow)
{
    const uint64_t interval = interval_s * UINT64_C(1000000);
    const uint16_t attr = narrow ? FAB_PERF_PORT_COUNTERS : FAB_PERF_PORT_COUNTERS_EXT;
    begin(b, interval_s, narrow);
    uint64_t began = clock_now_us();
    lab_run_for(&t.lab, 3.5 * interval_s);
    struct fab_view *v = sm_view(t.lab.sm);
    const uint64_t all = v->fabric->port_count;
    uint64_t tick = interval / all * EARLY, expected = 0, us;
    tick = tick > 1000000 ? 1000000 : tick;
    uint64_t pass_us = (interval + tick - 1) / tick * tick;
    for (uint64_t pass = 0; pass < 3; pass++) {
        uint64_t from = began + pass * pass_us;
        for (uint32_t id = 0; id < all; id++) {
            uint32_t port = in_sim(v->fabric, id);
            const struct fab_port *p = fab_fabric_port(fabric(), port);
            uint64_t n = 0;
            if (p->num == 0 || p->peer == FAB_NONE)
                continue;
            /* a link is read at the time of its port with the lower id */
            uint32_t first = fab_fabric_port(v->fabric, id)->peer;
            first = first < id ? first : id;
            while (all * n * tick / interval + EARLY <= first)
                n++;
            uint16_t marks = fab_fabric_node_is_switch(fabric(), p->node)
                                 ? FAB_PERF_SW_VL_CONGESTION
                                 : FAB_PERF_RCV_CON_CTRL;
            const uint16_t both[] = {attr, marks};
            for (int i = 0; i < 2; i++) {
                uint32_t times = find(from, from + pass_us, both[i], lid_of(port), p->num, &us);
                ck_assert_msg(times == 1, "pass %u reads 0x%x of port %u %u times", (unsigned)pass,
                              both[i], port, times);
                ck_assert_uint_eq(us - from, n * tick);
            }
            expected += 2;
        }
    }
    /* the manager reads the ClassPortInfo of a node before it reads the first port of the node */
    for (uint32_t node = 0; node < fabric()->node_count; node++) {
        const struct fab_node *n = &fabric()->nodes[node];
        bool is_switch = fab_fabric_node_is_switch(fabric(), node);
        uint16_t lid = lid_of(n->first_port + !is_switch);
        ck_assert_uint_eq(find(began, UINT64_MAX, FAB_ATTR_CLASS_PORT_INFO, lid, 0, &us), 1);
        ck_assert_uint_lt(us, began + pass_us);
        expected++;
    }
    uint64_t seen = 0;
    for (unsigned i = 0; i < t.count; i++)
        seen += t.sent[i].us < began + 3 * pass_us;
    ck_assert_uint_eq(seen, expected); /* there must be no other requests */
    fab_view_unref(v);
    end();
}

START_TEST(each_port_is_read_at_its_time)
{
    /* so few ports that there is a tick only once a second */
    assert_schedule(lab_leaf_spine(4, 2, 3), 60, false);
    assert_schedule(lab_leaf_spine(6, 4, 9), 5, true);
}
END_TEST

#define SCANNED 4096u /* maximum number of ports that one tick examines */
#define WIDE 254u     /* number of ports of a switch */
#define WIDE_SWITCHES 17u

/* Makes a fabric of switches with many ports and few links. The first switch has links to all
 * others and to the manager. The last one has two hosts, at the ports with the ids `last` and last
 * + 1. */
static struct fab_builder *wide_fabric(uint32_t last)
{
    struct fab_text text = {0};
    struct fab_text_error e;
    struct fab_builder *b = NULL;
    unsigned far = last - (WIDE_SWITCHES - 1) * (WIDE + 1);
    for (unsigned i = 1; i <= WIDE_SWITCHES; i++) {
        fab_base_text_addf(&text, "Switch %u \"S-%016x\" # \"switch-%u\"\n", WIDE, i, i);
        for (unsigned k = 2; i == 1 && k <= WIDE_SWITCHES; k++)
            fab_base_text_addf(&text, "[%u] \"S-%016x\"[1]\n", k, k);
        if (i == 1)
            fab_base_text_addf(&text, "[%u] \"H-%016x\"[1]\n", WIDE, 100);
        else
            fab_base_text_addf(&text, "[1] \"S-%016x\"[%u]\n", 1, i);
        for (unsigned k = 0; i == WIDE_SWITCHES && k < 2; k++)
            fab_base_text_addf(&text, "[%u] \"H-%016x\"[1]\n", far + k, 101 + k);
    }
    for (unsigned i = 0; i < 3; i++)
        fab_base_text_addf(&text, "Ca 1 \"H-%016x\" # \"host-%u\"\n[1] \"S-%016x\"[%u]\n", 100 + i,
                           i, i == 0 ? 1 : WIDE_SWITCHES, i == 0 ? WIDE : far + i - 1);
    int status =
        fab_fabric_text_read(fab_base_text_get(&text), strlen(fab_base_text_get(&text)), &b, &e);
    ck_assert_msg(status == FAB_OK, "%u:%u: %s", e.line, e.column, e.message);
    fab_base_text_fini(&text);
    return b;
}

/* Returns the time of the first request to the node with this LID. */
static uint64_t first_request(uint16_t lid)
{
    unsigned i = 0;
    while (i < t.count && t.sent[i].dlid != lid)
        i++;
    ck_assert_uint_lt(i, t.count);
    return t.sent[i].us;
}

/* While a pass runs, the interval becomes shorter. The pass, which has examined 16 ports so far, is
 * now late. But one tick may examine only 4096 ports. So the next tick must end with port id 16 +
 * 4095, and the port after it must wait for another tick. */
START_TEST(a_late_pass_examines_few_ports_at_once)
{
    const uint32_t last = EARLY + SCANNED - 1;
    begin(wide_fabric(last), 1000000, false);
    struct fab_view *v = sm_view(t.lab.sm);
    const uint32_t all = v->fabric->port_count,
                   peer[2] = {fab_fabric_port(v->fabric, last)->peer,
                              fab_fabric_port(v->fabric, last + 1)->peer};
    ck_assert_str_eq(v->fabric->nodes[fab_fabric_port(v->fabric, peer[0])->node].desc, "host-1");
    const uint16_t lid[2] = {(uint16_t)v->target->lids.base[peer[0]],
                             (uint16_t)v->target->lids.base[peer[1]]};
    fab_view_unref(v);
    lab_run_for(&t.lab, 3);
    t.lab.config.counters.interval_s = 3;
    lab_run_for(&t.lab, 2);
    ck_assert_uint_eq(first_request(lid[1]) - first_request(lid[0]), 3000000 / all * EARLY);
    end();
}
END_TEST

/* Many ports of a switch are due at the same time. The switch must have two requests in flight, and
 * never a third. */
START_TEST(no_switch_gets_a_third_request)
{
    begin(lab_leaf_spine(4, 18, 18), 1, true);
    lab_run_for(&t.lab, 5);
    ck_assert_uint_eq(t.most_in_flight, 2);
    end();
}
END_TEST

/* ---- a node gets more ports ------------------------------------------------------------------ */

/* After an update of its firmware, an adapter has two ports instead of one. The manager must keep
 * the readings of its first port, and must ask once more for its ClassPortInfo. */
START_TEST(a_node_with_more_ports_keeps_its_readings)
{
    const uint32_t interval_s = 10;
    struct pm_reading reading;
    uint64_t us;
    begin(lab_leaf_spine(3, 2, 2), interval_s, false);
    const uint32_t node = lab_node(&t.lab, "host-0005");
    const uint64_t guid = lab_node_guid(&t.lab, "host-0005");
    const uint16_t lid = lid_of(fabric()->nodes[node].first_port + 1);
    lab_run_for(&t.lab, 2.5 * interval_s);
    ck_assert(pm_port_reading(t.pm, guid, 1, &reading));
    struct fab_node_info info = fabric()->nodes[node].info;
    info.num_ports = 2;
    ck_assert_int_eq(fab_sim_impersonate(t.lab.sim, node, &info), FAB_OK);
    ck_assert_int_eq(sm_sweep(t.lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&t.lab, 1);
    struct fab_view *v = sm_view(t.lab.sm);
    ck_assert_uint_eq(v->fabric->nodes[fab_fabric_node_by_guid(v->fabric, guid)].num_ports, 2);
    fab_view_unref(v);
    for (int pass = 0; pass < 8; pass++) {
        ck_assert_msg(pm_port_reading(t.pm, guid, 1, &reading), "pass %d", pass);
        lab_run_for(&t.lab, interval_s);
    }
    ck_assert_uint_eq(find(0, UINT64_MAX, FAB_ATTR_CLASS_PORT_INFO, lid, 0, &us), 2);
    end();
}
END_TEST

/* ---- counters -------------------------------------------------------------------------------- */

/* Returns a number of errors that depends on the port and the counter. Even four times this number
 * fits into the counter, which may have only 4 bits. */
static uint64_t errors_of(uint32_t port, int counter)
{
    uint32_t number = (port * 5 + (uint32_t)counter * 3) % 4;
    return number * (fab_health_counter_kinds[counter].most > 15 ? 4 + (uint32_t)counter : 1);
}

static void add_errors(void)
{
    for (uint32_t port = 0; port < fabric()->port_count; port++)
        for (int c = 0; c < FAB_COUNTERS; c++)
            if (fab_fabric_port(fabric(), port)->peer != FAB_NONE)
                ck_assert_int_eq(fab_sim_counter_add(t.lab.sim,
                                                     fab_fabric_port(fabric(), port)->node,
                                                     fab_fabric_port(fabric(), port)->num,
                                                     (enum fab_sim_counter)c, errors_of(port, c)),
                                 FAB_OK);
}

static void assert_end(const struct pm_link_end *e, uint64_t recent, uint64_t seconds)
{
    uint32_t node = fab_fabric_node_by_guid(fabric(), e->guid);
    uint32_t port = fab_fabric_port_id(fabric(), node, e->port);
    char place[128];
    snprintf(place, sizeof place, "%s/%u", fabric()->nodes[node].desc, e->port);
    ck_assert_str_eq(e->place, place);
    ck_assert_uint_eq(e->history_count, 4);
    for (int c = 0; c < FAB_COUNTERS; c++) {
        uint64_t once = errors_of(port, c);
        ck_assert_uint_eq(e->total[c], 4 * once);
        ck_assert_uint_eq(e->recent[c], recent * once);
        ck_assert_uint_eq(e->per_hour[c], recent * once * 3600 / seconds);
        for (int i = 0; i < 4; i++)
            ck_assert_uint_eq(e->history[i].rise[c], once);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(e->history[i].time_us - e->history[i + 1].time_us, 10000000);
}

/* The errors of all ports rise in each of four intervals. The rates must cover the last three,
 * because counters.within is three intervals long. */
START_TEST(every_counter_of_every_port_is_told)
{
    struct pm_link link[64];
    struct pm_counters is;
    begin(lab_leaf_spine(3, 2, 2), 10, true);
    memset(t.lab.config.counters.most, 0,
           /* a threshold of 0 for each counter, so that no link counts as unhealthy */
           sizeof t.lab.config.counters.most);
    lab_run_for(&t.lab, 9.5);
    for (int i = 0; i < 4; i++) {
        add_errors();
        lab_run_for(&t.lab, 10);
    }
    ck_assert_uint_eq(pm_links(t.pm, NULL, 0), 12);
    ck_assert_uint_eq(pm_links(t.pm, link, 64), 12);
    for (uint32_t i = 0; i < 12; i++) {
        ck_assert(!link[i].unhealthy);
        for (int e = 0; e < 2; e++)
            assert_end(&link[i].end[e], 3, 30);
    }
    for (uint32_t port = 0; port < fabric()->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(fabric(), port);
        bool has = p->peer != FAB_NONE;
        ck_assert_int_eq(pm_counters(t.pm, fabric()->nodes[p->node].guid, p->num, &is), has);
        for (int c = 0; c < FAB_COUNTERS && has; c++)
            ck_assert_uint_eq(is.counters.value[c],
                              fab_sim_counter(t.lab.sim, p->node, p->num, (enum fab_sim_counter)c));
    }
    end();
}
END_TEST

/* ---- the page of metrics --------------------------------------------------------------------- */

/* Compares the page of metrics with a golden file, without the lines with processor times, which
 * differ from run to run. */
static void compare_metrics(const struct cc *cc, const char *file)
{
    static const char *const varies[] = {"_cpu_seconds", "_cpu_percent", "loop_"};
    const struct metrics_input in = {.loop = t.lab.loop,
                                     .bus = t.lab.bus,
                                     .sm = t.lab.sm,
                                     .pm = t.pm,
                                     .cc = cc,
                                     .config = &t.lab.config};
    struct fab_text page = {0}, kept = {0};
    metrics_page(&in, &page);
    char *text = strdup(fab_base_text_get(&page)), *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool keep = true;
        for (size_t i = 0; i < sizeof varies / sizeof *varies; i++)
            keep = keep && !strstr(line, varies[i]);
        if (keep)
            fab_base_text_addf(&kept, "%s\n", line);
    }
    golden_compare(file, fab_base_text_get(&kept));
    free(text);
    fab_base_text_fini(&page);
    fab_base_text_fini(&kept);
}

/* Each counter of each port must have its own line, even if names of nodes contain special
 * characters. */
START_TEST(metrics_have_every_counter)
{
    static const char hostile[] = "a \"b\"\nfabricd_up 1\xff c\\d/e";
    struct fab_builder *b = lab_leaf_spine(2, 1, 1);
    uint32_t last = fab_fabric_builder_node_count(b) - 1;
    ck_assert_int_eq(fab_fabric_builder_set_desc(b, last, hostile, sizeof hostile - 1), FAB_OK);
    struct cc *cc = NULL;
    begin(b, 10, false);
    const struct cc_input in = {.loop = t.lab.loop,
                                .transport = t.lab.sim_transport,
                                .sm = t.lab.sm,
                                .bus = t.lab.bus,
                                .config = &t.lab.config};
    ck_assert_int_eq(cc_new(&in, &cc), FAB_OK);
    lab_run_for(&t.lab, 9.5);
    add_errors();
    lab_run_for(&t.lab, 10);
    compare_metrics(cc, "tests/sim/golden/metrics.txt");
    cc_free(cc);
    end();
}
END_TEST

/* ---- congestion ------------------------------------------------------------------------------ */

struct rise {
    const char *node;
    uint8_t port;
    uint64_t data, wait, fecn, becn, events; /* by how much the counters rise in an interval */
};

static void add_rise(const struct rise *r)
{
    uint32_t node = lab_node(&t.lab, r->node);
    const struct {
        enum fab_sim_counter which;
        uint64_t add;
    } rows[] = {{FAB_SIM_XMIT_DATA, r->data},
                {FAB_SIM_XMIT_WAIT, r->wait},
                {FAB_SIM_PKT_RCV_FECN, r->fecn},
                {FAB_SIM_PKT_RCV_BECN, r->becn},
                {FAB_SIM_SW_VL_CONGESTION, r->events - r->events / 3},
                {(enum fab_sim_counter)(FAB_SIM_SW_VL_CONGESTION + 2), r->events / 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].add > 0)
            ck_assert_int_eq(
                fab_sim_counter_add(t.lab.sim, node, r->port, rows[i].which, rows[i].add), FAB_OK);
}

/* The list of congested ports. First come ports that marked packets (FECN), most marks first. Then
 * ports whose senders are throttled (BECN), and then ports that only wait for credits, longest
 * first. A port that waits for less than 1 % of the time is not listed. */
START_TEST(congested_ports_are_listed_with_their_figures)
{
    static const struct rise rise[] = {
        {"host-0005", 1, 1000000, 500, 70, 0, 0},
        {"leaf-002", 3, 4000000000, 0, 0, 0, 60},
        {"host-0002", 1, 900000, 100000, 0, 900, 0},
        {"host-0003", 1, 0, 0, 3, 40, 0},
        {"host-0006", 1, 1000, 3000, 0, 0, 0},
        {"leaf-001", 4, 900, 100, 0, 0, 0},
        /* waits for 9 per mille of the time, so it is not listed */
        {"spine-001", 2, 9901, 99, 0, 0, 0},
    };
    static const struct pm_congested want[] = {
        {.port = 1, .kind = PM_CONGESTED, .fecn = 70, .mbps = 3},
        {.port = 3, .kind = PM_CONGESTED, .events = 60, .mbps = 12800},
        {.port = 1, .kind = PM_CONGESTED, .fecn = 3, .becn = 40},
        {.port = 1, .kind = PM_THROTTLED, .becn = 900, .waits_permille = 100, .mbps = 2},
        {.port = 1, .kind = PM_WAITING, .waits_permille = 750},
        {.port = 4, .kind = PM_WAITING, .waits_permille = 100},
    };
    static const char *const node[] = {"host-0005", "leaf-002",  "host-0003",
                                       "host-0002", "host-0006", "leaf-001"};
    struct pm_congested is[16];
    struct fab_congestion_observed seen;
    begin(lab_leaf_spine(3, 2, 2), 10, false);
    lab_run_for(&t.lab, 9.5);
    for (int turn = 1; turn <= 4; turn++) {
        for (size_t i = 0; i < sizeof rise / sizeof *rise; i++)
            add_rise(&rise[i]);
        lab_run_for(&t.lab, 10);
        ck_assert_uint_eq(pm_congested_ports(t.pm, NULL, 0), 6);
        ck_assert_uint_eq(pm_congested_ports(t.pm, is, 16), 6);
        for (int i = 0; i < 6; i++) {
            bool marked = want[i].fecn > 0 || want[i].events > 0;
            ck_assert_uint_eq(is[i].guid, lab_node_guid(&t.lab, node[i]));
            ck_assert_uint_eq(is[i].port, want[i].port);
            ck_assert_int_eq(is[i].kind, want[i].kind);
            ck_assert_uint_eq(is[i].fecn, want[i].fecn);
            ck_assert_uint_eq(is[i].becn, want[i].becn);
            ck_assert_uint_eq(is[i].events, want[i].events);
            ck_assert_uint_eq(is[i].waits_permille, want[i].waits_permille);
            ck_assert_uint_eq(is[i].mbps, want[i].mbps);
            ck_assert_uint_eq(is[i].span_ms, 10000);
            ck_assert_uint_eq(is[i].senders, 0);
            ck_assert(is[i].persistent == (marked && turn >= 3));
        }
        pm_congestion_seen(t.pm, &seen);
        ck_assert_uint_eq(seen.congested_endports, 2);
        ck_assert_uint_eq(seen.persistent_endports, turn >= 3 ? 2 : 0);
        ck_assert_uint_eq(seen.slowed, 2);
        ck_assert_uint_eq(seen.congested_ports, 1);
        ck_assert_uint_eq(seen.waiting, 3);
        ck_assert_uint_eq(seen.max_wait_permille, 750);
    }
    lab_run_for(&t.lab, 10); /* an interval without traffic */
    ck_assert_uint_eq(pm_congested_ports(t.pm, is, 16), 0);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("performance manager");
    TCase *tcase = tcase_create("performance manager");
    tcase_add_test(tcase, each_port_is_read_at_its_time);
    tcase_add_test(tcase, a_late_pass_examines_few_ports_at_once);
    tcase_add_test(tcase, no_switch_gets_a_third_request);
    tcase_add_test(tcase, a_node_with_more_ports_keeps_its_readings);
    tcase_add_test(tcase, every_counter_of_every_port_is_told);
    tcase_add_test(tcase, metrics_have_every_counter);
    tcase_add_test(tcase, congested_ports_are_listed_with_their_figures);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
