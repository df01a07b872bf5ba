/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof of multicast tables. It must accept the trees of libfabmgr/mcast through all changes,
 * and find each damaged entry. About channel dependencies of unicast and multicast packets
 * together, it must agree with a simple walk. For tables on a triangle of switches, the verdict
 * about each kind of failure is known.
 */
#include "libfabmgr/verify/multicast.h"

#include "tests/unit/mcast_world.h"
#include "tests/unit/verify_vls.h"

struct members {
    struct fab_verify_multicast_member member[GROUPS * 400];
    struct fab_verify_multicast_lid lid[GROUPS];
};

static void list_members(const struct world *w, struct members *m)
{
    uint32_t count = 0;
    for (uint32_t group = 0; group < GROUPS; group++) {
        m->lid[group] =
            (struct fab_verify_multicast_lid){.mlid = mlid_of(group), .sls = 1, .first = count};
        for (uint32_t end = 0; end < w->ends; end++)
            if (w->member[end][group] != 0)
                m->member[count++] = (struct fab_verify_multicast_member){
                    .guid = guid_of(w, end), .receives = w->member[end][group] == 1};
        m->lid[group].count = count - m->lid[group].first;
    }
}

static struct fab_multicast_verdict verdict_of(const struct world *w, const struct members *m,
                                               const struct fab_blocks *tables,
                                               const struct fab_verify_input *unicast)
{
    struct fab_multicast_verdict v;
    struct fab_verify_channels *channels = NULL;
    if (unicast != NULL)
        ck_assert_int_eq(fab_verify_channels_new(unicast, &channels), FAB_OK);
    const struct fab_verify_multicast_input in = {.fabric = w->now,
                                                  .mft = tables,
                                                  .member = m->member,
                                                  .lid = m->lid,
                                                  .lids = GROUPS,
                                                  .unicast = channels};
    ck_assert_int_eq(fab_verify_multicast(&in, &v), FAB_OK);
    fab_verify_channels_free(channels);
    return v;
}

static void assert_proved(const struct world *w, const struct members *m)
{
    struct fab_multicast_verdict v = verdict_of(w, m, fab_mcast_trees_tables(w->trees), NULL);
    if (v.kind != FAB_OK) {
        char *text = NULL;
        ck_assert_int_eq(fab_verify_multicast_text(w->now, &v, &text), FAB_OK);
        ck_abort_msg("%s", text);
    }
    ck_assert_uint_eq(v.lids, GROUPS);
    ck_assert_uint_eq(v.failed, 0);
    ck_assert_uint_eq(v.unserved, 0);
}

/* Inverts the bit of a random port in the MFT entry (the mask) of a random switch and MLID. Returns
 * false if this MLID has no members. */
static bool spoil(struct world *w, const struct members *m, struct fab_blocks *t,
                  uint32_t *ret_group)
{
    uint32_t group = (uint32_t)fab_base_prng_below(&w->r, GROUPS);
    if (w->now->switch_count == 0)
        return false;
    uint32_t sw = (uint32_t)fab_base_prng_below(&w->r, w->now->switch_count);
    uint8_t num = (uint8_t)fab_base_prng_below(&w->r, w->now->nodes[sw].num_ports + 1u);
    uint16_t mlid = mlid_of(group);
    if (m->lid[group].count == 0)
        return false;
    uint16_t *entry = fab_target_blocks_edit(t, sw, fab_mft_number(mlid, num));
    entry[(mlid - FAB_MLID_FIRST) % FAB_BLOCK_ENTRIES] ^= (uint16_t)(1u << num % 16);
    *ret_group = group;
    return true;
}

static unsigned assert_spoiled_is_found(struct world *w, const struct members *m)
{
    struct fab_blocks t;
    uint32_t group;
    char *text = NULL;
    ck_assert_int_eq(fab_target_blocks_copy(fab_mcast_trees_tables(w->trees), &t), FAB_OK);
    bool spoiled = spoil(w, m, &t, &group);
    if (spoiled) {
        struct fab_multicast_verdict v = verdict_of(w, m, &t, NULL);
        ck_assert_int_ne(v.kind, FAB_OK);
        ck_assert_uint_eq(v.failed, 1);
        ck_assert_uint_eq(v.mlid, mlid_of(group));
        ck_assert(fab_base_bits_get(v.failed_groups, (v.mlid - FAB_MLID_FIRST) / 32));
        ck_assert_int_eq(fab_verify_multicast_text(w->now, &v, &text), FAB_OK);
        ck_assert_ptr_nonnull(strstr(text, "MLID 0xc0"));
        free(text);
    }
    fab_target_blocks_fini(&t);
    return spoiled;
}

static unsigned live(struct fab_fabric *f, uint64_t seed)
{
    struct world w;
    static struct members m;
    unsigned spoiled = 0;
    world_init(&w, f, seed);
    for (unsigned i = 0; i < 60; i++) {
        if (i % 6 == 5)
            change_fabric(&w);
        else
            change_member(&w);
        list_members(&w, &m);
        assert_proved(&w, &m);
        for (unsigned k = 0; k < 4; k++)
            spoiled += assert_spoiled_is_found(&w, &m);
    }
    world_fini(&w);
    return spoiled;
}

static struct fab_fabric *some_fabric(unsigned i, struct fab_prng *prng)
{
    static const uint32_t size[3] = {4, 3, 1};
    switch (i % 4) {
    case 0:
        return random_fabric(2 + (uint32_t)fab_base_prng_below(prng, 10), 3, 1 + i % 2,
                             fab_base_prng_next(prng));
    case 1:
        return leaf_spine(4, 2, 3);
    case 2:
        return grid(size, false, 1);
    default:
        return grid(size, true, 1);
    }
}

START_TEST(trees_are_proved_and_spoiled_entries_found)
{
    struct fab_prng prng;
    unsigned spoiled = 0;
    fab_base_prng_init(&prng, test_seed("multicast", 31));
    for (unsigned i = 0; i < 24; i++) {
        struct fab_fabric *f = some_fabric(i, &prng);
        spoiled += live(f, fab_base_prng_next(&prng));
    }
    printf("# %u spoiled entries found\n", spoiled);
    ck_assert_uint_gt(spoiled, 2000);
}
END_TEST

/* ---- dependencies ---------------------------------------------------------------------------- */

/* A packet has entered the switch by port `in`. Follows it to all other ports of the mask, and
 * records its channel dependencies. last: the channel before; SIZE_MAX: none, because an endport
 * sent the packet. */
static void flood(struct naive_vls *n, const struct walk *walk, uint32_t sw, uint32_t in,
                  size_t last, uint8_t sl)
{
    const struct fab_vls *v = &n->t->vls;
    for (uint32_t num = 1; num <= n->f->nodes[sw].num_ports; num++) {
        uint32_t out = fab_fabric_port_id(n->f, sw, (uint8_t)num);
        if (out == in || !walk->named[out] || !naive_is_channel(n->f, out))
            continue;
        uint8_t from = last != SIZE_MAX && v->port_class ? v->port_class[in] : 0;
        uint8_t to = v->port_class ? v->port_class[out] : 0;
        uint8_t vl = v->count > 1 ? (uint8_t)(v->vl[from][to][sl] % v->count) : 0;
        size_t channel = out * 16u + vl;
        if (last != SIZE_MAX)
            n->depends[last * n->size + channel] = true;
        uint32_t there = fab_fabric_port(n->f, out)->peer;
        flood(n, walk, fab_fabric_port(n->f, there)->node, there, channel, sl);
    }
}

static bool is_cyclic_again(struct naive_vls *n)
{
    n->cyclic = false;
    memset(n->colour, 0, n->size);
    for (size_t channel = 0; channel < n->size; channel++)
        if (n->colour[channel] == 0)
            naive_lanes_visit(n, channel);
    return n->cyclic;
}

static void add_multicast(struct naive_vls *n, const struct world *w, const struct members *m)
{
    struct walk walk = walk_of(w->now, fab_mcast_trees_tables(w->trees));
    for (uint32_t group = 0; group < GROUPS; group++) {
        walk_take(&walk, mlid_of(group));
        for (uint32_t i = 0; i < m->lid[group].count; i++) {
            uint32_t port =
                fab_fabric_port_by_guid(w->now, m->member[m->lid[group].first + i].guid);
            uint32_t sw = switch_of(w, port);
            for (uint8_t sl = 0; sl < FAB_SLS && sw != FAB_NONE; sl++)
                if (m->lid[group].sls >> sl & 1)
                    flood(n, &walk, sw, fab_fabric_port(w->now, port)->peer, SIZE_MAX, sl);
        }
    }
    walk_fini(&walk);
}

struct findings {
    unsigned cyclic; /* number of fabrics with a cycle */
    /* number of fabrics with a cycle of multicast packets alone */
    unsigned alone;
    unsigned vls; /* number of fabrics whose paths use several VLs */
};

/* Follows all unicast and multicast packets. The proof must find the same dependencies. Returns
 * true if they have a cycle. */
static bool compare(struct world *w, const char *engine, struct findings *ret)
{
    static struct members m;
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_target *t = routed_by(w->now, &p, engine);
    list_members(w, &m);
    for (uint32_t group = 0; group < GROUPS; group++)
        m.lid[group].sls = (uint16_t)(1u << fab_base_prng_below(&w->r, 3));
    struct naive_vls n = naive_vls(w->now, t, &p);
    struct naive_vls alone = n;
    alone.depends = calloc(n.size, n.size);
    add_multicast(&n, w, &m);
    add_multicast(&alone, w, &m);
    const struct fab_verify_input unicast = proof_input(w->now, t, 64);
    struct fab_multicast_verdict v = verdict_of(w, &m, fab_mcast_trees_tables(w->trees), &unicast);
    uint64_t dependencies = 0;
    for (size_t i = 0; i < alone.size * alone.size; i++)
        dependencies += alone.depends[i];
    bool cyclic = is_cyclic_again(&n), cyclic_alone = is_cyclic_again(&alone);
    ck_assert_uint_eq(v.dependencies, dependencies);
    ck_assert_int_eq(v.alone, !cyclic_alone);
    ck_assert_int_eq(v.together, !cyclic);
    ck_assert_int_eq(v.cycle.kind == FAB_E_CYCLE, cyclic);
    for (uint32_t i = 0; i < v.cycle.port_count; i++) {
        const struct naive_vls *of = cyclic_alone ? &alone : &n;
        uint32_t k = (i + 1) % v.cycle.port_count;
        size_t from = v.cycle.ports[i] * 16u + (v.cycle.vls ? v.cycle.vls[i] : 0);
        size_t to = v.cycle.ports[k] * 16u + (v.cycle.vls ? v.cycle.vls[k] : 0);
        ck_assert(of->depends[from * of->size + to]);
    }
    ret->cyclic += cyclic;
    ret->alone += cyclic_alone;
    ret->vls += t->vls.count > 1;
    free(alone.depends);
    naive_vls_fini(&n);
    fab_verify_multicast_fini(&v);
    fab_target_unref(t);
    return cyclic;
}

/* Takes all switches out of the groups. Packets to a switch that is a member can go down and then
 * up, which leads to cycles. */
static void switches_leave(struct world *w)
{
    for (uint32_t end = 0; end < w->ends; end++)
        for (uint32_t group = 0; group < GROUPS; group++)
            if (w->member[end][group] != 0 &&
                fab_fabric_node_is_switch(w->whole, fab_fabric_port(w->whole, w->end[end])->node))
                leave(w, end, group);
}

START_TEST(agrees_about_dependencies)
{
    struct fab_prng prng;
    struct findings one = {0}, several = {0};
    const unsigned cases = 48;
    fab_base_prng_init(&prng, test_seed("multicast dependencies", 32));
    for (unsigned i = 0; i < cases; i++) {
        struct world w;
        struct fab_fabric *f = some_fabric(i, &prng);
        world_init(&w, f, fab_base_prng_next(&prng));
        for (unsigned k = 0; k < 20; k++)
            change_member(&w);
        if (i % 8 != 5)
            switches_leave(&w);
        bool cycle = compare(&w, "updn", &one);
        /* if only hosts are members, a fat tree has no cycle */
        ck_assert(i % 8 != 1 || !cycle);
        if (i % 3 == 0)
            compare(&w, "dfsssp", &several);
        /* the VL of a packet depends on the ports, so it matters where members are attached */
        if (i % 4 == 3)
            compare(&w, "torus", &several);
        world_fini(&w);
    }
    printf("# %u of %u have a cycle, %u with multicast packets alone; %u use several VLs\n",
           one.cyclic, cases, one.alone, several.vls);
    ck_assert_uint_gt(one.cyclic, 0);
    ck_assert_uint_lt(one.cyclic, cases);
    ck_assert_uint_gt(several.vls, 0);
}
END_TEST

/* ---- each failure by hand -------------------------------------------------------------------- */

/* Makes a triangle of three switches, with the links 0/1 - 1/1, 1/33 - 2/1 and 0/2 - 2/2
 * (switch/port). Hosts are at 0/16, 0/17, 1/70, 1/71, 2/3 and 2/4. An MFT block has 16 ports, so
 * masks need several blocks. */
static struct fab_fabric *triangle(bool cut)
{
    static const uint32_t first[3] = {15, 69, 2};
    struct drawing *d = draw_new();
    for (unsigned i = 0; i < 3; i++)
        draw_switch(d, 100);
    draw_cable(d, 0, 1);
    d->used[1] = 32;
    if (!cut) {
        draw_cable(d, 1, 2);
        draw_cable(d, 0, 2);
    }
    for (uint32_t i = 0; i < 3; i++) {
        d->used[i] = first[i];
        draw_hosts(d, i, 2);
    }
    struct fab_fabric *f = draw_done(d);
    for (uint32_t sw = 0; sw < 3; sw++)
        f->switches[sw].multicast_fdb_cap = FAB_VERIFY_MLIDS;
    return f;
}

struct switch_port {
    uint8_t sw, num;
};
#define HAND_PORTS 4
/* clang-format off */
#define END {0, 254}
/* clang-format on */

static void toggle(struct fab_blocks *t, uint16_t mlid, struct switch_port at)
{
    uint16_t *entry = fab_target_blocks_edit(t, at.sw, fab_mft_number(mlid, at.num));
    ck_assert_ptr_nonnull(entry);
    entry[(mlid - FAB_MLID_FIRST) % FAB_BLOCK_ENTRIES] ^= (uint16_t)(1u << at.num % 16);
}

static uint64_t guid_at(const struct fab_fabric *f, uint8_t sw, uint8_t num)
{
    return fab_fabric_port(f, fab_fabric_port(f, fab_fabric_port_id(f, sw, num))->peer)->guid;
}

/* first and last MLID of the first group of 32, first MLID of the next group, another one, and the
 * last MLID of all */
static const uint16_t hand_mlid[] = {0xc000, 0xc01f, 0xc020, 0xd234, 0xfffe};
#define HAND_MLIDS (sizeof(hand_mlid) / sizeof(*hand_mlid))
/* The ports (switch/port) in the masks of the tree of each MLID. The hosts at 0/16 and 1/70
 * receive, the host at 2/3 only sends. */
static const struct switch_port hand_tree[] = {{0, 1}, {0, 16}, {1, 1}, {1, 33}, {1, 70}, {2, 1}};

struct by_hand {
    struct fab_fabric *f;
    struct fab_blocks tables;
    struct fab_verify_multicast_member member[3 * HAND_MLIDS];
    struct fab_verify_multicast_lid lid[HAND_MLIDS];
    struct fab_verify_multicast_input in;
};

static void by_hand_init(struct by_hand *h, bool cut)
{
    *h = (struct by_hand){.f = triangle(cut)};
    for (uint32_t i = 0; i < HAND_MLIDS; i++) {
        struct fab_verify_multicast_member *m = &h->member[3 * i];
        m[0] = (struct fab_verify_multicast_member){guid_at(h->f, 0, 16), true};
        m[1] = (struct fab_verify_multicast_member){guid_at(h->f, 1, 70), true};
        m[2] = (struct fab_verify_multicast_member){guid_at(h->f, 2, 3), false};
        h->lid[i] = (struct fab_verify_multicast_lid){
            .mlid = hand_mlid[i], .sls = 1, .first = 3 * i, .count = 3};
        for (unsigned k = 0; k < sizeof(hand_tree) / sizeof(*hand_tree); k++)
            toggle(&h->tables, hand_mlid[i], hand_tree[k]);
    }
    h->in = (struct fab_verify_multicast_input){
        .fabric = h->f, .mft = &h->tables, .member = h->member, .lid = h->lid, .lids = HAND_MLIDS};
}

static void by_hand_fini(struct by_hand *h)
{
    fab_target_blocks_fini(&h->tables);
    fab_fabric_unref(h->f);
}

/* Checks all values of the verdict. kind: expected kind of failure; FAB_OK: none. Only
 * hand_mlid[mlid] may fail, and the first failure must be at the port `place`. */
static void assert_hand(const struct by_hand *h, int kind, size_t mlid, uint32_t place,
                        uint32_t lids, uint64_t members, uint64_t unserved)
{
    struct fab_multicast_verdict v;
    uint64_t failed[FAB_VERIFY_MLID_GROUPS / 64] = {0};
    unsigned group = (hand_mlid[mlid] - FAB_VERIFY_MLID_FIRST) / 32u;
    ck_assert_int_eq(fab_verify_multicast(&h->in, &v), FAB_OK);
    ck_assert_int_eq(v.kind, kind);
    ck_assert_uint_eq(v.failed, kind != FAB_OK);
    ck_assert_uint_eq(v.lids, lids);
    ck_assert_uint_eq(v.members, members);
    ck_assert_uint_eq(v.unserved, unserved);
    ck_assert(!v.with_unicast);
    if (kind != FAB_OK) {
        failed[group / 64] = UINT64_C(1) << group % 64;
        ck_assert_uint_eq(v.mlid, hand_mlid[mlid]);
        ck_assert_uint_eq(v.port, place);
    }
    ck_assert_mem_eq(v.failed_groups, failed, sizeof(failed));
    fab_verify_multicast_fini(&v);
}

struct hand_case {
    /* ports whose mask bits are inverted; the last element has port 254 */
    struct switch_port toggled[HAND_PORTS];
    int kind;
    /* where the failure must be reported: at this switch port, or (member) at the host that is
     * connected to it */
    struct switch_port at;
    bool member;
    const char *text;
};
static const struct hand_case hand_cases[] = {
    {{END}, FAB_OK, {0, 0}, false, NULL},
    /* a branch is missing in the mask at one of its ends */
    {{{0, 1}, END}, FAB_E_UNREACHABLE, {1, 1}, false, "does not get or forward"},
    {{{1, 1}, END}, FAB_E_UNREACHABLE, {0, 1}, false, "does not get or forward"},
    {{{2, 1}, END}, FAB_E_UNREACHABLE, {1, 33}, false, "does not get or forward"},
    /* the branch to the sender is missing at both ends, so its packets reach no receiver */
    {{{1, 33}, {2, 1}, END}, FAB_E_UNREACHABLE, {2, 3}, true, "packets of all members"},
    /* the branch between the receivers is missing at both ends, so there are two trees */
    {{{0, 1}, {1, 1}, END}, FAB_E_UNREACHABLE, {1, 70}, true, "packets of all members"},
    /* the port of a receiver is missing in its mask */
    {{{0, 16}, END}, FAB_E_UNREACHABLE, {0, 16}, true, "packets of all members"},
    {{{1, 70}, END}, FAB_E_UNREACHABLE, {1, 70}, true, "packets of all members"},
    {{{0, 16}, {1, 70}, END}, FAB_E_UNREACHABLE, {0, 16}, true, "packets of all members"},
    /* a mask has a port too many: of a host that is no member, of a host that only sends, or port 0
     * of a switch that is no member */
    {{{0, 17}, END}, FAB_E_DENIED, {0, 17}, false, "to a port that is no receiving member"},
    {{{2, 3}, END}, FAB_E_DENIED, {2, 3}, false, "to a port that is no receiving member"},
    {{{0, 0}, END}, FAB_E_DENIED, {0, 0}, false, "to a port that is no receiving member"},
    /* a mask has a port without a link, the last port of the switch, or a port that does not
     * exist */
    {{{0, 50}, END}, FAB_E_INVAL, {0, 50}, false, "has no working link, or does not exist"},
    {{{0, 100}, END}, FAB_E_INVAL, {0, 100}, false, "has no working link, or does not exist"},
    {{{0, 101}, END}, FAB_E_INVAL, {0, 0}, false, "has no working link, or does not exist"},
    {{{2, 255}, END}, FAB_E_INVAL, {2, 0}, false, "has no working link, or does not exist"},
    /* a third branch between the switches, so that packets loop */
    {{{0, 2}, {2, 2}, END}, FAB_E_LOOP, {1, 33}, false, "closes a loop of branches"},
    /* if there are several failures, the first is reported */
    {{{0, 17}, {0, 50}, {2, 3}, END}, FAB_E_DENIED, {0, 17}, false, "no receiving member"},
    {{{0, 16}, {2, 50}, END}, FAB_E_INVAL, {2, 50}, false, "has no working link"},
};

START_TEST(each_failure_is_found_where_it_is)
{
    for (size_t i = 0; i < sizeof(hand_cases) / sizeof(*hand_cases); i++) {
        const struct hand_case *c = &hand_cases[i];
        for (size_t k = 0; k < HAND_MLIDS; k++) {
            struct by_hand h;
            by_hand_init(&h, false);
            for (unsigned n = 0; c->toggled[n].num != 254; n++)
                toggle(&h.tables, hand_mlid[k], c->toggled[n]);
            uint32_t place = fab_fabric_port_id(h.f, c->at.sw, c->at.num);
            place = c->member ? fab_fabric_port(h.f, place)->peer : place;
            assert_hand(&h, c->kind, k, place, HAND_MLIDS, 3 * HAND_MLIDS, 0);
            by_hand_fini(&h);
        }
    }
}
END_TEST

START_TEST(texts_name_mlid_port_and_failure)
{
    for (size_t i = 1; i < sizeof(hand_cases) / sizeof(*hand_cases); i++) {
        const struct hand_case *c = &hand_cases[i];
        struct fab_multicast_verdict v;
        struct by_hand h;
        char *text = NULL, begin[200];
        by_hand_init(&h, false);
        for (unsigned n = 0; c->toggled[n].num != 254; n++)
            toggle(&h.tables, 0xd234, c->toggled[n]);
        ck_assert_int_eq(fab_verify_multicast(&h.in, &v), FAB_OK);
        ck_assert_int_eq(fab_verify_multicast_text(h.f, &v, &text), FAB_OK);
        const struct fab_port *p = fab_fabric_port(h.f, v.port);
        snprintf(begin, sizeof(begin), "MLID 0xd234: %s (0x%016llx) port %u ",
                 h.f->nodes[p->node].desc, (unsigned long long)h.f->nodes[p->node].guid, p->num);
        ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s: not %s", text, begin);
        ck_assert_msg(strstr(text + strlen(begin), c->text) != NULL, "%s", text);
        free(text);
        by_hand_fini(&h);
    }
}
END_TEST

/* The MFT of switch 1 has only `cap` entries. The tree of a higher MLID fails, because switch 1 has
 * no entry for it, and host 1/70 does not count as one of its members. */
START_TEST(small_mfts_limit_the_mlids)
{
    static const struct {
        uint16_t cap;
        int kind;
        uint32_t failed, members;
        uint16_t mlid;
    } cases[] = {
        {0, FAB_E_LIMIT, 5, 10, 0xc000},      {1, FAB_E_LIMIT, 4, 11, 0xc01f},
        {31, FAB_E_LIMIT, 4, 11, 0xc01f},     {32, FAB_E_LIMIT, 3, 12, 0xc020},
        {33, FAB_E_LIMIT, 2, 13, 0xd234},     {0x1234, FAB_E_LIMIT, 2, 13, 0xd234},
        {0x1235, FAB_E_LIMIT, 1, 14, 0xfffe}, {0x3ffe, FAB_E_LIMIT, 1, 14, 0xfffe},
        {0x3fff, FAB_OK, 0, 15, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fab_multicast_verdict v;
        struct by_hand h;
        by_hand_init(&h, false);
        h.f->switches[1].multicast_fdb_cap = cases[i].cap;
        ck_assert_int_eq(fab_verify_multicast(&h.in, &v), FAB_OK);
        ck_assert_int_eq(v.kind, cases[i].kind);
        ck_assert_uint_eq(v.lids, HAND_MLIDS);
        ck_assert_uint_eq(v.failed, cases[i].failed);
        ck_assert_uint_eq(v.members, cases[i].members);
        ck_assert_uint_eq(v.mlid, cases[i].mlid);
        if (v.kind != FAB_OK) {
            char *text = NULL;
            ck_assert_uint_eq(v.port, fab_fabric_port_id(h.f, 1, 0));
            ck_assert_int_eq(fab_verify_multicast_text(h.f, &v, &text), FAB_OK);
            ck_assert_ptr_nonnull(strstr(text, "has no multicast table entry for this MLID"));
            free(text);
        }
        by_hand_fini(&h);
    }
}
END_TEST

/* Switch 2 has no link, so no tree can reach its members. If the masks give no tree at all, the
 * failure is at the first member of the first part of the fabric with a receiver. A part is a set
 * of connected switches. */
START_TEST(members_that_no_link_connects_are_counted)
{
    static const struct {
        bool receives[3];
        bool has_tree;
        int kind;
        struct switch_port at;
        uint64_t unserved;
    } cases[] = {
        {{true, true, true}, true, FAB_OK, {0, 16}, 1},
        {{true, true, false}, true, FAB_OK, {0, 16}, 0},
        {{true, true, true}, false, FAB_E_UNREACHABLE, {0, 16}, 0},
        {{false, true, false}, false, FAB_E_UNREACHABLE, {0, 16}, 0},
        {{false, false, true}, false, FAB_E_UNREACHABLE, {2, 3}, 0},
        {{false, false, false}, false, FAB_OK, {0, 16}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct by_hand h;
        by_hand_init(&h, true);
        fab_target_blocks_fini(&h.tables);
        h.tables = (struct fab_blocks){0};
        for (unsigned k = 0; k < 3; k++)
            h.member[3 + k].receives = cases[i].receives[k];
        h.in.lid = &h.lid[1];
        h.in.lids = 1;
        if (cases[i].has_tree)
            for (unsigned k = 0; k < 5; k++)
                if (hand_tree[k].num != 33)
                    toggle(&h.tables, hand_mlid[1], hand_tree[k]);
        uint32_t at = fab_fabric_port_id(h.f, cases[i].at.sw, cases[i].at.num);
        assert_hand(&h, cases[i].kind, 1, fab_fabric_port(h.f, at)->peer, 1, 3, cases[i].unserved);
        by_hand_fini(&h);
    }
}
END_TEST

/* Three rules: a member that is not in the fabric does not count, only the MLID groups in in.groups
 * are verified, and an MLID with masks but without members is a failure. */
START_TEST(only_what_is_asked_is_checked)
{
    struct by_hand h;
    uint64_t groups[FAB_VERIFY_MLID_GROUPS / 64] = {0};
    by_hand_init(&h, false);
    h.member[2].guid = 1; /* a GUID that no port has */
    assert_hand(&h, FAB_OK, 0, 0, HAND_MLIDS, 3 * HAND_MLIDS - 1, 0);
    groups[0] = 2; /* verifies only the MLIDs 0xc020 to 0xc03f */
    h.in.groups = groups;
    assert_hand(&h, FAB_OK, 0, 0, 1, 3, 0);
    groups[0] = 1;
    assert_hand(&h, FAB_OK, 0, 0, 2, 5, 0);
    groups[7] = UINT64_C(1) << 63;
    assert_hand(&h, FAB_OK, 0, 0, 3, 8, 0);
    h.in.groups = NULL;
    /* without the last MLID, whose masks are still in the MFTs */
    h.in.lids = HAND_MLIDS - 1;
    assert_hand(&h, FAB_E_DENIED, HAND_MLIDS - 1, fab_fabric_port_id(h.f, 0, 16), HAND_MLIDS,
                3 * HAND_MLIDS - 4, 0);
    /* only the branches between the switches are left, and lead to nobody */
    toggle(&h.tables, hand_mlid[HAND_MLIDS - 1], (struct switch_port){0, 16});
    toggle(&h.tables, hand_mlid[HAND_MLIDS - 1], (struct switch_port){1, 70});
    assert_hand(&h, FAB_E_DENIED, HAND_MLIDS - 1, fab_fabric_port_id(h.f, 0, 1), HAND_MLIDS,
                3 * HAND_MLIDS - 4, 0);
    by_hand_fini(&h);
}
END_TEST

/* Proves three trees, one after the other. Each uses another two sides of the triangle. With
 * in.keep, the dependencies of a tree are kept for later proofs. Those of two trees have no cycle,
 * but those of all three do. */
START_TEST(kept_trees_count_in_later_proofs)
{
    static const struct switch_port side[3][2] = {
        {{0, 1}, {1, 1}}, {{1, 33}, {2, 1}}, {{2, 2}, {0, 2}}};
    for (unsigned kept = 0; kept < 4; kept++) {
        struct by_hand h;
        struct fab_policy p;
        struct fab_verify_channels *channels = NULL;
        by_hand_init(&h, false);
        fab_policy_defaults(&p);
        struct fab_target *t = routed_by(h.f, &p, "updn");
        const struct fab_verify_input unicast = proof_input(h.f, t, 64);
        ck_assert_int_eq(fab_verify_channels_new(&unicast, &channels), FAB_OK);
        h.in.unicast = channels;
        h.in.lids = 1;
        h.lid[0].count = 0;
        for (unsigned i = 0; i < 3; i++) {
            struct fab_multicast_verdict v;
            bool last = i == 2 && kept == 3;
            fab_target_blocks_fini(&h.tables);
            h.tables = (struct fab_blocks){0};
            for (unsigned k = 0; k < 3; k++)
                for (unsigned n = 0; n < 2 && k != i; n++)
                    toggle(&h.tables, hand_mlid[0], side[k][n]);
            h.in.keep = kept >> i & 1;
            ck_assert_int_eq(fab_verify_multicast(&h.in, &v), FAB_OK);
            ck_assert_int_eq(v.kind, FAB_OK);
            ck_assert_uint_eq(v.lids, 1);
            ck_assert(v.with_unicast && v.alone);
            ck_assert_uint_eq(v.dependencies, 2);
            ck_assert_int_eq(v.together, !last);
            ck_assert_int_eq(v.cycle.kind, last ? FAB_E_CYCLE : FAB_OK);
            ck_assert_uint_eq(v.cycle.port_count, last ? 3 : 0);
            fab_verify_multicast_fini(&v);
        }
        fab_verify_channels_free(channels);
        fab_target_unref(t);
        by_hand_fini(&h);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify_multicast");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, trees_are_proved_and_spoiled_entries_found);
    tcase_add_test(t, agrees_about_dependencies);
    tcase_add_test(t, each_failure_is_found_where_it_is);
    tcase_add_test(t, texts_name_mlid_port_and_failure);
    tcase_add_test(t, small_mfts_limit_the_mlids);
    tcase_add_test(t, members_that_no_link_connects_are_counted);
    tcase_add_test(t, only_what_is_asked_is_checked);
    tcase_add_test(t, kept_trees_count_in_later_proofs);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
