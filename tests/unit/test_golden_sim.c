/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares digests of what simulated devices do with tests/unit/golden/sim.golden: their answers to
 * Gets and Sets of all attributes, their traps, and the attributes that they then have. Requests
 * have random values from a fixed seed. There are digests without faults and with each kind of
 * fault. This test shows only that answers have changed; other tests check whether they are
 * correct. UPDATE_GOLDEN=1 rewrites the file.
 */
#include <string.h>

#include "tests/support/golden.h"
#include "tests/unit/sim_lab.h"

#define STEPS 2500

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return golden_hash_numbers(hash, &number, 1);
}

struct run {
    struct lab x;
    struct fab_prng g;
    uint64_t digest;
    uint32_t answers, refusals, mails;
};

static uint32_t below(struct run *r, uint32_t n)
{
    return (uint32_t)fab_base_prng_below(&r->g, n);
}

static void count(struct run *r, int status, const uint8_t *data, size_t len)
{
    r->digest = hash_number(r->digest, (uint64_t)(status + 1));
    if (status >= 0)
        r->digest = golden_hash(r->digest, data, len);
    r->answers += status == 0;
    r->refusals += status > 0;
}

/* Reads a random attribute of a random node. In some cases, changes a few bits and writes the
 * attribute back, but not to the two ports of the manager's own link. */
static void ask_subnet(struct run *r)
{
    static const uint16_t attrs[] = {
        FAB_ATTR_NODE_DESC,  FAB_ATTR_NODE_INFO,   FAB_ATTR_SWITCH_INFO,
        FAB_ATTR_GUID_INFO,  FAB_ATTR_PORT_INFO,   FAB_ATTR_PORT_INFO,
        FAB_ATTR_PKEY_TABLE, FAB_ATTR_SL2VL,       FAB_ATTR_VLARB,
        FAB_ATTR_LFT,        FAB_ATTR_RFT,         FAB_ATTR_MFT,
        FAB_ATTR_SM_INFO,    FAB_ATTR_NOTICE,      FAB_ATTR_VENDOR_DIAG,
        FAB_ATTR_LED_INFO,   FAB_ATTR_INFORM_INFO, FAB_ATTR_MLNX_EXT_PORT_INFO};
    uint32_t node = below(r, r->x.f->node_count);
    uint16_t attr = attrs[below(r, sizeof attrs / sizeof *attrs)];
    uint32_t mod = below(r, 6) | (below(r, 3) == 0 ? below(r, 6) << 16 : 0) |
                   (below(r, 6) == 0 ? below(r, 6) << 8 : 0) | (below(r, 8) == 0 ? 3u << 28 : 0);
    uint8_t data[FAB_SMP_DATA];
    count(r, get(&r->x, node, attr, mod, data), data, sizeof data);
    if (node == r->x.r.node || node == r->x.leaf || below(r, 2) == 0)
        return;
    for (uint32_t n = below(r, 4); n > 0; n--)
        data[below(r, sizeof data)] ^= (uint8_t)(1u << below(r, 8));
    count(r, set(&r->x, node, attr, mod, data), data, sizeof data);
}

static void ask_services(struct run *r)
{
    static const struct {
        uint8_t mgmt_class;
        uint16_t attr, count;
    } kinds[] = {
        {FAB_CLASS_PERF, 0x0001, 1},    {FAB_CLASS_PERF, 0x0010, 0x10}, {FAB_CLASS_PERF, 0x001d, 2},
        {FAB_CLASS_PERF, 0x0030, 0x20}, {FAB_CLASS_PERF, 0x0072, 2},    {FAB_CLASS_CC, 0x0001, 1},
        {FAB_CLASS_CC, 0x0011, 10},     {FAB_CLASS_CC, 0x0011, 10},     {FAB_CLASS_SA, 0x0001, 1}};
    uint32_t k = below(r, sizeof kinds / sizeof *kinds), node = below(r, r->x.f->node_count);
    uint8_t data[FAB_GS_DATA] = {0};
    uint16_t attr = (uint16_t)(kinds[k].attr + below(r, kinds[k].count));
    uint64_t key = below(r, 4) == 0 ? below(r, 3) : 0;
    data[1] = (uint8_t)(below(r, 8) == 0 ? 255 : below(r, 6)); /* PortSelect */
    count(r, gs(&r->x, node, kinds[k].mgmt_class, FAB_METHOD_GET, attr, below(r, 3), key, data),
          data, sizeof data);
    if (below(r, 2) == 0)
        return;
    for (uint32_t n = below(r, 5); n > 0; n--)
        data[below(r, 60)] = (uint8_t)below(r, 256);
    data[1] = (uint8_t)below(r, 6);
    count(r, gs(&r->x, node, kinds[k].mgmt_class, FAB_METHOD_SET, attr, below(r, 3), key, data),
          data, sizeof data);
}

static void receive(struct run *r)
{
    struct fab_sim_delivery mail;
    while (fab_sim_receive(r->x.r.sim, &mail)) {
        const uint64_t head[] = {mail.node, mail.port, mail.slid, mail.dlid};
        r->digest = golden_hash(golden_hash_numbers(r->digest, head, 4), mail.mad, sizeof mail.mad);
        r->mails++;
    }
}

/* Adds the attributes and counters of all devices to the digest. */
static void look(struct run *r)
{
    uint8_t data[FAB_SMP_DATA];
    for (uint32_t node = 0; node < r->x.f->node_count; node++)
        for (uint32_t port = 0; port <= r->x.f->nodes[node].num_ports; port++) {
            count(r, get(&r->x, node, FAB_ATTR_PORT_INFO, port, data), data, sizeof data);
            count(r, get(&r->x, node, FAB_ATTR_VLARB, port | 1u << 16, data), data, sizeof data);
            for (enum fab_sim_counter c = 0; c < FAB_SIM_ALL_COUNTERS; c++)
                r->digest =
                    hash_number(r->digest, fab_sim_counter(r->x.r.sim, node, (uint8_t)port, c));
        }
}

/* ---- faults ---------------------------------------------------------------------------------- */

enum { NONE, LINKS, COUNTERS, CONGESTION, TRAPS, POWER, KEYS, DAMAGE, LOSS, KINDS };
static const char *const names[KINDS] = {"none",  "links", "counters", "congestion", "traps",
                                         "power", "keys",  "damage",   "loss"};

static int link_fault(struct fab_sim *s, uint32_t which, uint32_t node, uint8_t port)
{
    switch (which % 6) {
    case 0:
        return fab_sim_unlink(s, node, port);
    case 1:
        return fab_sim_flap(s, node, port, 1000 * which, 3);
    case 2:
        return fab_sim_degrade(s, node, port, 1 + which % 4, which % 7 < 3 ? "SDR" : NULL);
    case 3:
        return fab_sim_noise(s, node, port, 0.2);
    case 4:
        return fab_sim_bit_errors(s, node, port, 1e-6);
    default:
        return fab_sim_relink(s, node, port);
    }
}

static int power_fault(struct fab_sim *s, uint32_t which, uint32_t node)
{
    switch (which % 4) {
    case 0:
        return fab_sim_power_off(s, node);
    case 1:
        return fab_sim_silence(s, node, true);
    case 2:
        return fab_sim_silence(s, node, false);
    default:
        return fab_sim_power_on(s, node, 300 * which, 50);
    }
}

static int fault(struct run *r, unsigned kind)
{
    struct fab_sim *s = r->x.r.sim;
    uint32_t node = below(r, r->x.f->node_count), which = below(r, 100);
    uint8_t port = (uint8_t)below(r, 6);
    if (node == r->x.r.node || node == r->x.leaf)
        return 0;
    switch (kind) {
    case LINKS:
        return link_fault(s, which, node, port);
    case COUNTERS:
        return fab_sim_increment(s, node, port, (enum fab_sim_counter)below(r, FAB_SIM_COUNTERS),
                                 which);
    case CONGESTION:
        (void)fab_sim_counter_add(s, node, port,
                                  (enum fab_sim_counter)below(r, FAB_SIM_ALL_COUNTERS), which);
        return fab_sim_congest(s, node, port,
                               &(struct fab_sim_congestion){.slid = 1,
                                                            .dlid = (uint16_t)which,
                                                            .sl = (uint8_t)(which % 16),
                                                            .local_qp = which * 1000,
                                                            .remote_qp = which});
    case TRAPS:
        return which % 2 != 0 ? fab_sim_trap(s, node, port, (uint16_t)(128 + which % 4))
                              : fab_sim_trap_storm(s, node, (uint16_t)(128 + which % 4), 500, 3);
    case POWER:
        return power_fault(s, which, node);
    case KEYS:
        return fab_sim_set_m_key(s, node, which % 3, (uint8_t)(which % 4), (uint16_t)(which % 2));
    case DAMAGE:
        return fab_sim_corrupt(s, node, (enum fab_sim_corruption)(which % 9), 0.5);
    default:
        return 0;
    }
}

static void run(FILE *out, unsigned kind)
{
    struct run r = {.x = lab_manager(), .digest = GOLDEN_HASH};
    fab_base_prng_init(&r.g, 77 + kind);
    if (kind == LOSS)
        fab_sim_set_impairments(r.x.r.sim,
                                &(struct fab_sim_impairments){.loss = 0.1, .duplicate = 0.2});
    for (unsigned i = 0; i < STEPS; i++) {
        if (below(&r, 3) > 0)
            ask_subnet(&r);
        else
            ask_services(&r);
        if (below(&r, 20) == 0)
            r.digest = hash_number(r.digest, (uint64_t)fault(&r, kind));
        if (below(&r, 10) == 0) {
            fab_sim_advance(r.x.r.sim, fab_sim_now(r.x.r.sim) + below(&r, 5000));
            receive(&r);
        }
    }
    fab_sim_advance(r.x.r.sim, fab_sim_now(r.x.r.sim) + 3000000);
    receive(&r);
    look(&r);
    fprintf(out, "%s: %u answers, %u refusals, %u MADs received, digest %016" PRIx64 "\n",
            names[kind], r.answers, r.refusals, r.mails, r.digest);
    lab_free(&r.x);
}

START_TEST(answers)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (unsigned kind = 0; kind < KINDS; kind++)
        run(out, kind);
    fclose(out);
    golden_compare("tests/unit/golden/sim.golden", text);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden answers");
    TCase *t = tcase_create("simulated devices");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, answers);
    suite_add_tcase(s, t);
    return test_run(s);
}
