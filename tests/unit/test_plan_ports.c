/* SPDX-License-Identifier: BSD-3-Clause */
/* The value that a plan wants for each field of PortInfo, and VL tables that move from one snapshot
 * to another. */
#include "libfabmgr/plan/attr_diff.h"
#include "libfabmgr/plan/pkey_writes.h"
#include "libfabmgr/plan/plan.h"
#include "tests/unit/routing.h"

#define SM_LID 5

struct world {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_target *target;
    struct fab_observed observed;
};

/* Makes the world of a test for f. Takes over f. */
static struct world world_of(struct fab_fabric *f, uint8_t lmc)
{
    struct world w = {.f = f};
    fab_policy_defaults(&w.policy);
    w.policy.lmc = lmc;
    w.policy.m_keys.number = 0x1234;
    w.target = routed(w.f, &w.policy);
    ck_assert_int_eq(fab_plan_observed_init(&w.observed, w.f->switch_count, w.target->lids.top), 0);
    return w;
}

static void world_fini(struct world *w)
{
    fab_target_unref(w->target);
    fab_plan_observed_fini(&w->observed);
    fab_policy_fini(&w->policy);
    fab_fabric_unref(w->f);
}

/* ---- wanted attributes of ports -------------------------------------------------------------- */

START_TEST(fields_fit_the_kind_of_port)
{
    struct world w = world_of(fat_tree(8, 2, 1), 2);
    const struct fab_lids *lids = &w.target->lids;
    struct fab_port_info want;
    uint32_t host_side = FAB_NONE, spine_side = FAB_NONE;
    for (unsigned num = 1; num <= w.f->nodes[0].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(w.f, 0, (uint8_t)num);
        *(fab_fabric_node_is_switch(w.f, fab_fabric_peer_node(w.f, port)) ? &spine_side
                                                                          : &host_side) = port;
    }
    uint32_t host = fab_fabric_port(w.f, host_side)->peer;
    fab_fabric_edit_port(w.f, host)->info.mtu_cap = 4;
    fab_fabric_edit_port(w.f, host)->info.vl_cap = 2;
    fab_fabric_edit_port(w.f, host)->info.cap_mask |= 1u << 25;
    /* The port reports these values. A plan must not write them back, because they would act as
     * commands: change a state, train the link again, or ask the host to register again. */
    struct fab_port_info *read = &fab_fabric_edit_port(w.f, host_side)->info;
    read->port_state = 4;
    read->phys_state = 5;
    read->width_enabled = 2;
    read->speed_enabled = 4;
    read->speed_ext_enabled = 1;
    read->speed_ext2_enabled = 1;
    read->client_reregister = 1;
    fab_target_port_info(w.f, &w.policy, lids, host_side, SM_LID, &want);
    ck_assert_uint_eq(want.port_state, 0);
    ck_assert_uint_eq(want.phys_state, 0);
    ck_assert_uint_eq(want.width_enabled, 0);
    ck_assert_uint_eq(want.speed_enabled, 0);
    ck_assert_uint_eq(want.speed_ext_enabled, 0);
    ck_assert_uint_eq(want.speed_ext2_enabled, 0);
    ck_assert_uint_eq(want.client_reregister, 0);
    ck_assert_uint_eq(want.down_default_state, 2); /* LinkDownDefaultState 2 means Polling */
    ck_assert_uint_eq(want.neighbor_mtu, 4);
    ck_assert_uint_eq(want.op_vls, 2);
    ck_assert_uint_eq(want.hoq_life, w.policy.leaf_hoq_life);
    ck_assert_uint_eq(want.lid, 0);
    ck_assert_uint_eq(want.m_key, 0);
    fab_target_port_info(w.f, &w.policy, lids, spine_side, SM_LID, &want);
    ck_assert_uint_eq(want.hoq_life, w.policy.hoq_life);
    fab_target_port_info(w.f, &w.policy, lids, host, SM_LID, &want);
    ck_assert_uint_eq(want.lid, lids->base[host]);
    ck_assert_uint_eq(want.lmc, 2);
    ck_assert_uint_eq(want.client_reregister, 1);
    ck_assert_uint_eq(want.subnet_timeout, w.policy.subnet_timeout);
    /* the port is Active and already has the LID of this manager, so the host need not register
     * again */
    fab_fabric_edit_port(w.f, host)->info.sm_lid = SM_LID;
    fab_fabric_edit_port(w.f, host)->info.port_state = 4;
    fab_target_port_info(w.f, &w.policy, lids, host, SM_LID, &want);
    ck_assert_uint_eq(want.client_reregister, 0);
    fab_fabric_edit_port(w.f, host)->info.port_state =
        2; /* state Init: the link was down, so the host must register again */
    fab_target_port_info(w.f, &w.policy, lids, host, SM_LID, &want);
    ck_assert_uint_eq(want.client_reregister, 1);
    fab_target_port_info(w.f, &w.policy, lids, fab_fabric_port_id(w.f, 0, 0), SM_LID, &want);
    ck_assert_uint_eq(want.lmc, 0);
    ck_assert_uint_eq(want.sm_lid, SM_LID);
    w.policy.max_mtu = 3;
    w.policy.max_op_vls = 1;
    fab_target_port_info(w.f, &w.policy, lids, spine_side, SM_LID, &want);
    ck_assert_uint_eq(want.neighbor_mtu, 3);
    ck_assert_uint_eq(want.op_vls, 1);
    /* without the MTU of the other end, NeighborMTU must keep its value */
    uint32_t other = fab_fabric_port(w.f, spine_side)->peer;
    fab_fabric_edit_port(w.f, spine_side)->info.neighbor_mtu = 1;
    fab_fabric_edit_port(w.f, other)->info.mtu_cap = 0;
    fab_target_port_info(w.f, &w.policy, lids, spine_side, SM_LID, &want);
    ck_assert_uint_eq(want.neighbor_mtu, 1);
    world_fini(&w);
}
END_TEST

/* fab_plan_port_when_up predicts the PortInfo of a port that becomes Active. The enabled width and
 * speeds must be those that the port reported. All other fields must have the values that the
 * manager wants. */
START_TEST(a_port_that_is_up_holds_what_was_read_of_its_link)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    const struct fab_plan_input in = {.fabric = w.f,
                                      .policy = &w.policy,
                                      .target = w.target,
                                      .observed = &w.observed,
                                      .sm_lid = SM_LID};
    for (uint32_t port = 0; port < w.f->port_count; port++) {
        struct fab_port_info *read = &fab_fabric_edit_port(w.f, port)->info, expected, when_up;
        if (!fab_fabric_port_is_up(w.f, port))
            continue;
        read->phys_state = FAB_PHYS_LINKUP;
        read->width_enabled = 2;
        read->speed_enabled = 4;
        read->speed_ext_enabled = 3;
        read->speed_ext2_enabled = 1;
        fab_target_port_info(w.f, &w.policy, &w.target->lids, port, SM_LID, &expected);
        expected.port_state = FAB_STATE_ACTIVE;
        expected.phys_state = FAB_PHYS_LINKUP;
        expected.width_enabled = 2;
        expected.speed_enabled = 4;
        expected.speed_ext_enabled = 3;
        expected.speed_ext2_enabled = 1;
        fab_plan_port_when_up(&in, port, &when_up);
        assert_same_attr(&fab_wire_attr_port_info, &expected, &when_up, port);
    }
    world_fini(&w);
}
END_TEST

/* ---- known VL tables ------------------------------------------------------------------------- */

/* In a new snapshot, ports can have other ids, and what is known about their VL tables must move to
 * these ids. If the old snapshot, or the node in it, has another number of ports than when the
 * tables were read, the knowledge is lost. */
START_TEST(knowledge_of_vls_moves_by_guid)
{
    enum { NOT_READ, ALL, OTHER_SNAPSHOT, OTHER_NODE };
    for (int known = NOT_READ; known <= OTHER_NODE; known++) {
        struct world w = world_of(fat_tree(8, 2, 1), 0);
        struct fab_builder *b = fab_fabric_builder_from(w.f);
        struct fab_observed_vls *vls = &w.observed.vls;
        struct fab_observed moved;
        uint32_t ref;
        ck_assert_int_eq(fab_fabric_builder_find_node(b, w.f->nodes[2].guid, &ref), FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
        struct fab_fabric *now = sealed(b);
        vls->ports = w.f->port_count + (known == OTHER_SNAPSHOT);
        vls->port = known != NOT_READ ? calloc(vls->ports, sizeof(*vls->port)) : NULL;
        for (uint32_t port = 0; known != NOT_READ && port < vls->ports; port++)
            vls->port[port].arbitrated = (uint16_t)(port + 1);
        vls->arb = calloc(3, sizeof(*vls->arb));
        vls->arbs = vls->arb_room = 3;
        memset(vls->arb, 0x5a, 3 * sizeof(*vls->arb));
        memset(vls->vl, 3, sizeof(vls->vl));
        w.f->nodes[3].num_ports = (uint8_t)(w.f->nodes[3].num_ports - (known == OTHER_NODE));
        ck_assert_int_eq(fab_plan_observed_remap(&w.observed, w.f, now, 60, &moved), FAB_OK);
        if (known == NOT_READ || known == OTHER_SNAPSHOT) {
            ck_assert_ptr_null(moved.vls.port);
            ck_assert_ptr_null(moved.vls.arb);
            ck_assert_uint_eq(moved.vls.ports, 0);
        } else {
            ck_assert_uint_eq(moved.vls.ports, now->port_count);
            ck_assert_uint_eq(moved.vls.arbs, 3);
            ck_assert_uint_eq(moved.vls.arb_room, 3);
            ck_assert_mem_eq(moved.vls.arb, vls->arb, 3 * sizeof(*vls->arb));
            ck_assert_mem_eq(moved.vls.vl, vls->vl, sizeof(vls->vl));
        }
        for (uint32_t port = 0; moved.vls.port != NULL && port < now->port_count; port++) {
            const struct fab_port *p = fab_fabric_port(now, port);
            uint32_t old = fab_fabric_node_by_guid(w.f, now->nodes[p->node].guid);
            bool stays = known == ALL || old != 3;
            ck_assert_uint_eq(moved.vls.port[port].arbitrated,
                              stays ? w.f->nodes[old].first_port + p->num + 1 : 0);
        }
        w.f->nodes[3].num_ports = (uint8_t)(w.f->nodes[3].num_ports + (known == OTHER_NODE));
        fab_plan_observed_fini(&moved);
        fab_fabric_unref(now);
        world_fini(&w);
    }
}
END_TEST

/* ---- differences ----------------------------------------------------------------------------- */

#define DIFFERS(differs, now, want, field, ...)                                                    \
    do {                                                                                           \
        (want).field ^= 1;                                                                         \
        ck_assert_msg(differs(&(now), &(want), ##__VA_ARGS__), "%s", #field);                      \
        (want).field ^= 1;                                                                         \
        ck_assert_msg(!differs(&(now), &(want), ##__VA_ARGS__), "%s", #field);                     \
    } while (0)

/* A difference in any one field that a write can set must cause a write. A difference in another
 * field must not. */
START_TEST(each_field_alone_causes_a_write)
{
    struct fab_port_info now = {.lid = 4, .op_vls = 2}, want = now;
    for (int port0 = 0; port0 <= 1; port0++) {
        DIFFERS(fab_plan_port_differs, now, want, lid, port0);
        DIFFERS(fab_plan_port_differs, now, want, lmc, port0);
        DIFFERS(fab_plan_port_differs, now, want, sm_lid, port0);
        DIFFERS(fab_plan_port_differs, now, want, m_key_protect, port0);
        DIFFERS(fab_plan_port_differs, now, want, m_key_lease, port0);
        DIFFERS(fab_plan_port_differs, now, want, m_key, port0);
        DIFFERS(fab_plan_port_differs, now, want, gid_prefix, port0);
    }
    DIFFERS(fab_plan_port_differs, now, want, part_enforce_in, false);
    DIFFERS(fab_plan_port_differs, now, want, part_enforce_out, false);
    DIFFERS(fab_plan_port_differs, now, want, neighbor_mtu, false);
    DIFFERS(fab_plan_port_differs, now, want, op_vls, false);
    DIFFERS(fab_plan_tuning_differs, now, want, subnet_timeout);
    DIFFERS(fab_plan_tuning_differs, now, want, hoq_life);
    DIFFERS(fab_plan_tuning_differs, now, want, vl_stall_count);
    DIFFERS(fab_plan_tuning_differs, now, want, local_phy_errors);
    DIFFERS(fab_plan_tuning_differs, now, want, overrun_errors);
    DIFFERS(fab_plan_tuning_differs, now, want, vl_high_limit);
    DIFFERS(fab_plan_tuning_differs, now, want, neighbor_mtu);
    want.part_enforce_in = want.part_enforce_out = want.neighbor_mtu = want.op_vls = 1;
    /* these four fields are about a link, and port 0 has none */
    ck_assert(!fab_plan_port_differs(&now, &want, true));
    want = now;
    want.hoq_life = want.overrun_errors = 9;
    want.cap_mask = 9;
    ck_assert(!fab_plan_port_differs(&now, &want, false));
    struct fab_switch_info is = {.linear_fdb_top = 8}, set = is;
    DIFFERS(fab_plan_switch_differs, is, set, linear_fdb_top);
    DIFFERS(fab_plan_switch_differs, is, set, life_time);
    DIFFERS(fab_plan_switch_differs, is, set, multicast_fdb_top);
    DIFFERS(fab_plan_switch_differs, is, set, default_port);
    DIFFERS(fab_plan_switch_differs, is, set, default_mcast_primary_port);
    DIFFERS(fab_plan_switch_differs, is, set, default_mcast_not_primary_port);
    is.port_state_change = set.port_state_change = 1;
    ck_assert(fab_plan_switch_differs(&is, &set));
}
END_TEST

static uint64_t derive_nothing(const uint8_t secret[FAB_M_KEY_SECRET], uint64_t port_guid)
{
    (void)secret;
    (void)port_guid;
    return 0;
}

/* If the M_Key of a port cannot be derived, the port gets no protection without a key, and keeps a
 * key that it has. */
START_TEST(a_key_that_cannot_be_derived_changes_nothing)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    uint32_t port0 = fab_fabric_port_id(w.f, 0, 0);
    struct fab_port_info want;
    w.policy.m_keys = (struct fab_m_keys){.derive = derive_nothing};
    w.policy.m_key_protect = 1;
    w.policy.m_key_lease_s = 77;
    fab_target_port_info(w.f, &w.policy, &w.target->lids, port0, SM_LID, &want);
    ck_assert_uint_eq(want.m_key, 0);
    ck_assert_uint_eq(want.m_key_protect, 0);
    ck_assert_uint_eq(want.m_key_lease, 0);
    fab_fabric_edit_port(w.f, port0)->info.m_key = 99;
    fab_target_port_info(w.f, &w.policy, &w.target->lids, port0, SM_LID, &want);
    ck_assert_uint_eq(want.m_key, 99);
    ck_assert_uint_eq(want.m_key_protect, 1);
    world_fini(&w);
}
END_TEST

/* The kind of port decides which fields are written: M_Keys only to endports, thresholds only to
 * ports with a link, and a special HOQLife to ports of routers. */
START_TEST(keys_and_thresholds_fit_the_kind_of_port)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    const struct fab_lids *lids = &w.target->lids;
    uint32_t port0 = fab_fabric_port_id(w.f, 0, 0), host = FAB_NONE;
    struct fab_port_info want;
    for (uint32_t port = 0; port < w.f->port_count && host == FAB_NONE; port++)
        if (!fab_fabric_node_is_switch(w.f, fab_fabric_port(w.f, port)->node) &&
            fab_fabric_port(w.f, port)->num == 1)
            host = port;
    w.policy.phy_errors = 5;
    w.policy.overrun_errors = 6;
    w.policy.m_key_protect = 1;
    w.policy.m_key_lease_s = 77;
    w.policy.max_mtu = 4;
    w.policy.leaf_hoq_life = 0x11;
    w.policy.leaf_vl_stall_count = 3;
    struct fab_port_info *info = &fab_fabric_edit_port(w.f, port0)->info;
    info->local_phy_errors = info->overrun_errors = 1;
    info->neighbor_mtu = 2;
    info->mtu_cap = 5;
    w.f->switches[0].enhanced_port0 = 0;
    fab_target_port_info(w.f, &w.policy, lids, port0, SM_LID, &want);
    ck_assert_uint_eq(want.local_phy_errors, 1);
    ck_assert_uint_eq(want.overrun_errors, 1);
    ck_assert_uint_eq(want.neighbor_mtu, 2);
    w.f->switches[0].enhanced_port0 = 1;
    fab_target_port_info(w.f, &w.policy, lids, port0, SM_LID, &want);
    ck_assert_uint_eq(want.local_phy_errors, 5);
    ck_assert_uint_eq(want.overrun_errors, 6);
    ck_assert_uint_eq(want.neighbor_mtu, 4);
    ck_assert_uint_eq(want.m_key, 0x1234);
    ck_assert_uint_eq(want.m_key_protect, 1);
    ck_assert_uint_eq(want.m_key_lease, 77);
    ck_assert_uint_eq(want.gid_prefix, w.policy.subnet_prefix);
    /* the device has another key, which the manager knows, and keeps this key for now */
    info->m_key = 99;
    w.policy.m_keys.number = 0;
    info->m_key_lease = 8;
    fab_target_port_info(w.f, &w.policy, lids, port0, SM_LID, &want);
    ck_assert_uint_eq(want.m_key, 99);
    ck_assert_uint_eq(want.m_key_protect, info->m_key_protect);
    ck_assert_uint_eq(want.m_key_lease, 8);
    info = &fab_fabric_edit_port(w.f, host)->info;
    info->hoq_life = info->vl_stall_count = 2;
    fab_target_port_info(w.f, &w.policy, lids, host, SM_LID, &want);
    ck_assert_uint_eq(want.local_phy_errors, 5);
    ck_assert_uint_eq(want.overrun_errors, 6);
    ck_assert_uint_eq(want.hoq_life, 2);
    w.f->nodes[fab_fabric_port(w.f, host)->node].type = FAB_NODE_ROUTER;
    fab_target_port_info(w.f, &w.policy, lids, host, SM_LID, &want);
    ck_assert_uint_eq(want.hoq_life, 0x11);
    ck_assert_uint_eq(want.vl_stall_count, 2);
    fab_target_port_info(w.f, &w.policy, lids, fab_fabric_port(w.f, host)->peer, SM_LID, &want);
    ck_assert_uint_eq(want.hoq_life, 0x11);
    ck_assert_uint_eq(want.vl_stall_count, 3);
    world_fini(&w);
}
END_TEST

/* ---- P_Key tables ---------------------------------------------------------------------------- */

struct key_writes {
    struct fab_plan_op op[8];
    unsigned count;
};

static int add_write(void *ctx, struct fab_plan_op op)
{
    struct key_writes *w = ctx;
    ck_assert_uint_lt(w->count, 8);
    w->op[w->count++] = op;
    return FAB_OK;
}

/* A P_Key block before and after the change, and the block that each of the two passes writes;
 * NULL: the pass writes nothing. */
struct key_case {
    uint16_t was[2], want[2];
    const uint16_t *removed, *added;
};

static void assert_pass(const struct fab_plan_input *in, uint32_t port, bool removes,
                        const uint16_t *block)
{
    struct key_writes w = {0};
    uint16_t will[FAB_PKEY_BLOCK];
    ck_assert_int_eq(fab_plan_pkey_writes(in, port, removes, add_write, &w), FAB_OK);
    ck_assert_uint_eq(w.count, block != NULL);
    if (block == NULL)
        return;
    ck_assert_uint_eq(w.op[0].port, port);
    ck_assert_uint_eq(w.op[0].node, fab_fabric_port(in->fabric, port)->node);
    ck_assert_uint_eq(w.op[0].attr_id, FAB_ATTR_PKEY_TABLE);
    ck_assert_uint_eq(w.op[0].block, 0);
    ck_assert(w.op[0].removes == removes);
    fab_plan_pkey_block(in, &w.op[0], will);
    ck_assert_uint_eq(will[0], block[0]);
    ck_assert_uint_eq(will[1], block[1]);
    ck_assert_uint_eq(will[2], 0);
}

static void set_keys(struct fab_pkeys *p, uint32_t ports, uint32_t port, const uint16_t want[2])
{
    fab_target_pkeys_fini(p);
    p->ports = ports;
    p->first = calloc(ports + 1, sizeof(*p->first));
    p->key = calloc(2, sizeof(*p->key));
    p->enforce = calloc(ports, 1);
    for (uint32_t i = port + 1; i <= ports; i++)
        p->first[i] = 2;
    memcpy(p->key, want, 2 * sizeof(*want));
}

/* The first pass removes keys, and makes full members limited members. The second pass writes all
 * other changes. */
START_TEST(keys_are_removed_before_others_are_added)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    uint32_t host = fab_fabric_port_id(w.f, w.f->switch_count, 1);
    uint32_t edge = fab_fabric_port(w.f, host)->peer;
    static const uint16_t one[2] = {0x8001}, both[2] = {0x8001, 0x8003}, limited[2] = {0x0002},
                          mixed[2] = {0x0002, 0x8003}, full[2] = {0x8002}, none[2] = {0};
    static const struct key_case cases[] = {
        {{0x8001}, {0x8001}, NULL, NULL},
        {{0x8001, 0x8002}, {0x8001}, one, NULL},
        {{0x8001}, {0x8001, 0x8003}, NULL, both},
        {{0x8002, 0x8001}, {0x0002, 0x8003}, limited, mixed},
        {{0x0002}, {0x8002}, NULL, full},
        {{0x8002}, {0x0002}, limited, NULL},
        {{0x8009}, {0x8001}, none, one},
    };
    struct fab_plan_input in = {.fabric = w.f, .target = w.target, .observed = &w.observed};
    uint16_t held[FAB_PKEY_BLOCK] = {0};
    const uint16_t rest[FAB_PKEY_BLOCK] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(held, cases[i].was, sizeof cases[i].was);
        set_keys(&w.target->pkeys, w.f->port_count, host, cases[i].want);
        ck_assert_int_eq(fab_target_blocks_put(&w.observed.pkeys, host, 0, held), FAB_OK);
        ck_assert_int_eq(fab_target_blocks_put(&w.observed.pkeys, host, 1, rest), FAB_OK);
        assert_pass(&in, host, true, cases[i].removed);
        assert_pass(&in, host, false, cases[i].added);
    }
    /* blocks that are not known are written in the second pass; the attribute modifier has the
     * number of the switch port */
    struct key_writes writes = {0};
    set_keys(&w.target->pkeys, w.f->port_count, edge, one);
    w.f->switches[fab_fabric_port(w.f, edge)->node].partition_enforcement_cap = 33;
    ck_assert_int_eq(fab_plan_pkey_writes(&in, edge, true, add_write, &writes), FAB_OK);
    ck_assert_uint_eq(writes.count, 0);
    ck_assert_int_eq(fab_plan_pkey_writes(&in, edge, false, add_write, &writes), FAB_OK);
    ck_assert_uint_eq(writes.count, 2);
    for (uint32_t block = 0; block < 2; block++) {
        ck_assert_uint_eq(writes.op[block].block, block);
        ck_assert_uint_eq(writes.op[block].mod,
                          (uint32_t)fab_fabric_port(w.f, edge)->num << 16 | block);
    }
    writes.count = 0;
    in.observed = NULL;
    ck_assert_int_eq(fab_plan_pkey_writes(&in, edge, false, add_write, &writes), FAB_OK);
    ck_assert_uint_eq(writes.count, 2);
    writes.count = 0; /* the target has no P_Key table for this port */
    ck_assert_int_eq(fab_plan_pkey_writes(&in, host, false, add_write, &writes), FAB_OK);
    ck_assert_uint_eq(writes.count, 0);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan of ports");
    TCase *tcase = tcase_create("ports");
    tcase_add_test(tcase, fields_fit_the_kind_of_port);
    tcase_add_test(tcase, a_port_that_is_up_holds_what_was_read_of_its_link);
    tcase_add_test(tcase, knowledge_of_vls_moves_by_guid);
    tcase_add_test(tcase, each_field_alone_causes_a_write);
    tcase_add_test(tcase, a_key_that_cannot_be_derived_changes_nothing);
    tcase_add_test(tcase, keys_and_thresholds_fit_the_kind_of_port);
    tcase_add_test(tcase, keys_are_removed_before_others_are_added);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
