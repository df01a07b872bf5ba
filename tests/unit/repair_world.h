/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric whose tables are repaired after faults. Three independent checks follow each repair.
 * First, libfabmgr/verify, which knows nothing of repairs, proves the complete tables. Second, the
 * same repair is computed again, and must change nothing. Third, after each single write, the path
 * of every pair of ports is followed. REPAIR_STEPS=1000 in the environment makes the sequences of
 * faults longer.
 */
#ifndef TESTS_UNIT_REPAIR_WORLD_H
#define TESTS_UNIT_REPAIR_WORLD_H

#include "libfabmgr/repair/internal.h"
#include "libfabmgr/repair/repair.h"
#include "tests/unit/routing.h"

struct world {
    const char *name;
    struct fab_fabric *whole; /* the fabric for which the tables `base` were computed */
    struct fab_policy policy;
    struct fab_target *base; /* tables as the engine computed them */
    struct fab_lft lft;      /* the active tables */
    struct fab_repair *repair;
    uint32_t *cables; /* [count] one port of each ISL */
    uint32_t count;
    bool *dead; /* [count] ISLs that are dead */
    /* true: the test checks the tables after every single write */
    bool looked_at;
    /* true: every repair starts from the baseline, and the test checks that it changes no more
     * entries than necessary */
    bool lone;
    /* true: the test damages deltas, and checks that the proof detects the damage */
    bool spoiled;
    /* true: the test also plans each repair with all other sets of labels, and compares the
     * plans */
    bool sets_compared;
    unsigned unsafe, caught, harmless, later_sets;
    /* number of deltas with several entries without a path that fail the proof if d.lost claims
     * only one */
    unsigned unclaimed;
    unsigned done, refused, lost, parted, stepped, drained, rebalanced, paused;
};

/* ---- worlds ---------------------------------------------------------------------------------- */

static inline struct fab_lft copy_of(const struct fab_lft *t)
{
    struct fab_lft copy;
    ck_assert_int_eq(fab_target_lft_init(&copy, t->switch_count, t->top), FAB_OK);
    ck_assert_uint_eq(copy.stride, t->stride);
    memcpy(copy.entries, t->entries, (size_t)t->switch_count * t->stride);
    return copy;
}

static inline struct fab_repair *repair_of(const struct world *w)
{
    struct fab_repair *r = NULL;
    char why[160] = "";
    struct fab_repair_input in = {.fabric = w->whole,
                                  .policy = &w->policy,
                                  .lids = &w->base->lids,
                                  .lft = &w->base->lft,
                                  .vls = &w->base->vls};
    int status = fab_repair_new(&in, &r, why, sizeof(why));
    if (status == FAB_E_UNSUPPORTED) {
        printf("# %s: %s\n", w->name, why);
        return NULL;
    }
    ck_assert_msg(status == FAB_OK, "%s: status %d: %s", w->name, status, why);
    return r;
}

static inline void world_free(struct world *w)
{
    fab_repair_free(w->repair);
    fab_target_lft_fini(&w->lft);
    fab_target_unref(w->base);
    fab_policy_fini(&w->policy);
    fab_fabric_unref(w->whole);
    free(w->cables);
    free(w->dead);
    free(w);
}

static inline struct fab_verdict judged(const struct world *w, const struct fab_fabric *f,
                                        const struct fab_lft *lft)
{
    struct fab_verdict v;
    struct fab_verify_input in = {.fabric = f,
                                  .lids = &w->base->lids,
                                  .lft = lft,
                                  .max_hops = w->policy.max_hops,
                                  .vls = &w->base->vls};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    return v;
}

/* Returns whether the tables of the baseline pass the proof. The tables of some engines do not pass
 * it. */
static inline bool is_good(const struct world *w)
{
    struct fab_verdict v = judged(w, w->whole, &w->base->lft);
    bool good = fab_verify_verdict_good(&v);
    fab_verify_verdict_fini(&v);
    return good;
}

/* Makes a world: the tables of this engine for f, and a repair of them. Takes ownership of f. Ports
 * get the LIDs of their leases. Returns NULL if the engine does not support f, if its tables fail
 * the proof, or if no labels fit the VLs of the tables. */
static inline struct world *world_leased(const char *name, struct fab_fabric *f, const char *engine,
                                         const struct fab_lease *leases, size_t lease_count)
{
    struct world *w = calloc(1, sizeof(*w));
    w->name = name;
    w->whole = f;
    fab_policy_defaults(&w->policy);
    w->base = fab_target_new();
    assigned_with(f, &w->policy, leases, lease_count, &w->base->lids);
    char why[480] = "";
    struct fab_route_input in = {.fabric = f, .policy = &w->policy, .lids = &w->base->lids};
    int status =
        fab_route_engine_by_name(engine)->run(&in, &w->base->lft, &w->base->vls, why, sizeof(why));
    if (status == FAB_E_UNSUPPORTED || !is_good(w)) {
        world_free(w);
        return NULL;
    }
    ck_assert_msg(status == FAB_OK, "%s: %s", name, why);
    w->lft = copy_of(&w->base->lft);
    w->repair = repair_of(w);
    if (w->repair == NULL) {
        world_free(w);
        return NULL;
    }
    w->cables = calloc(f->port_count, sizeof(*w->cables));
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer != FAB_NONE && peer > port &&
            fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
            fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node) &&
            fab_fabric_port_is_up(f, port))
            w->cables[w->count++] = port;
    }
    w->dead = calloc(w->count + 1, sizeof(*w->dead));
    return w;
}

static inline struct world *world_new(const char *name, struct fab_fabric *f, const char *engine)
{
    return world_leased(name, f, engine, NULL, 0);
}

static inline uint32_t list_dead(const struct world *w, const bool *dead, uint32_t *ret)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        /* The repair must accept each of the two ports of a link. So the test lists the first port
         * of some links and the second port of others. */
        if (dead[i])
            ret[count++] =
                i % 2 == 0 ? w->cables[i] : fab_fabric_port(w->whole, w->cables[i])->peer;
    }
    return count;
}

/* Returns a copy of the fabric in which the dead links are down. */
static inline struct fab_fabric *with_dead_links(const struct world *w, const bool *dead)
{
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_clone(w->whole, &f), FAB_OK);
    for (uint32_t i = 0; i < w->count; i++) {
        if (!dead[i])
            continue;
        fab_fabric_edit_port(f, w->cables[i])->info.phys_state = FAB_PHYS_POLLING;
        fab_fabric_edit_port(f, fab_fabric_port(f, w->cables[i])->peer)->info.phys_state =
            FAB_PHYS_POLLING;
        ck_assert(!fab_fabric_port_is_up(f, w->cables[i]));
    }
    return f;
}

/* ---- mixtures between writes ----------------------------------------------------------------- */

/* Follows packets from each switch to each LID by these tables. Sets ret[switches][top + 1] to
 * whether the packets arrive. Returns false if there is a forwarding loop. */
static inline bool find_arrivals(const struct world *w, const struct fab_fabric *f,
                                 const struct fab_lft *lft, bool *ret)
{
    uint32_t top = w->base->lids.top;
    for (uint32_t from = 0; from < f->switch_count; from++) {
        for (uint32_t lid = 1; lid <= top; lid++) {
            uint32_t sw = from, passed = 0, owner = w->base->lids.owner[lid];
            bool arrives = false;
            for (; passed <= f->switch_count; passed++) {
                uint8_t num = fab_target_lft_at(lft, sw, lid);
                if (num > f->nodes[sw].num_ports)
                    break;
                uint32_t port = fab_fabric_port_id(f, sw, num),
                         next = fab_fabric_port(f, port)->peer;
                arrives = num == 0 ? port == owner : next != FAB_NONE && next == owner;
                if (arrives || num == 0 || !fab_fabric_port_is_up(f, port) ||
                    !fab_fabric_node_is_switch(f, fab_fabric_port(f, next)->node))
                    break;
                sw = fab_fabric_port(f, next)->node;
            }
            if (passed > f->switch_count)
                return false;
            ret[(size_t)from * (top + 1) + lid] = arrives;
        }
    }
    return true;
}

static inline void put_write(const struct world *w, struct fab_lft *lft,
                             const struct fab_repair_delta *d, const struct fab_repair_write *write)
{
    uint8_t bytes[FAB_LFT_BLOCK];
    fab_repair_write_bytes(&w->lft, d, write, bytes);
    memcpy(fab_target_lft_row(lft, write->sw) + (size_t)write->block * FAB_LFT_BLOCK, bytes,
           FAB_LFT_BLOCK);
}

/* Returns what is wrong with the mixture of tables `lft`: a loop, a cycle or a lost path; NULL:
 * nothing is wrong. before[]: the pairs that had a path before the first write; NULL: paths may be
 * lost. */
static inline const char *fault_of(const struct world *w, const struct fab_fabric *f,
                                   const struct fab_lft *lft, const bool *before, bool *after)
{
    size_t cells = (size_t)f->switch_count * (w->base->lids.top + 1);
    if (!find_arrivals(w, f, lft, after))
        return "a loop";
    for (size_t k = 0; before != NULL && k < cells; k++) {
        if (before[k] && !after[k])
            return "a loss";
    }
    struct fab_verdict v = judged(w, f, lft);
    bool free_of_cycles = v.deadlock_free;
    fab_verify_verdict_fini(&v);
    return free_of_cycles ? NULL : "a cycle";
}

/* Applies the writes of a delta one by one in a random order; with in_steps, the order is random
 * only within each step. After each write, there must be no loop and no cycle. All paths that
 * worked before must still work, unless the delta drains entries. Returns NULL, or a text that says
 * what went wrong. */
static inline const char *watch_writes(const struct world *w, const struct fab_fabric *f,
                                       const struct fab_repair_delta *d, struct fab_prng *prng,
                                       bool in_steps)
{
    struct fab_lft lft = copy_of(&w->lft);
    size_t cells = (size_t)f->switch_count * (w->base->lids.top + 1), early = 0;
    bool *before = calloc(cells, 1), *after = calloc(cells, 1);
    uint32_t *order = calloc(d->writes + 1, sizeof(*order));
    const char *fault = NULL;
    for (; early < d->writes && d->write[early].early; early++)
        /* The manager makes early writes before the links that come back become Active. */
        put_write(w, &lft, d, &d->write[early]);
    ck_assert(find_arrivals(w, f, &lft, before));
    for (size_t first = early, end; first < d->writes; first = end) {
        for (end = first; end < d->writes; end++) {
            if (in_steps && d->write[end].step != d->write[first].step)
                break;
            order[end - first] = (uint32_t)end;
        }
        fab_base_prng_shuffle(prng, order, end - first);
        for (size_t i = 0; i < end - first; i++) {
            put_write(w, &lft, d, &d->write[order[i]]);
            if (fault == NULL)
                fault = fault_of(w, f, &lft, d->drained == 0 ? before : NULL, after);
        }
    }
    for (size_t i = 0; i < d->changes && in_steps; i++)
        ck_assert_uint_eq(fab_target_lft_at(&lft, d->change[i].sw, d->change[i].lid),
                          d->change[i].now);
    free(before);
    free(after);
    free(order);
    fab_target_lft_fini(&lft);
    return fault;
}

/* ---- changes of the dead links --------------------------------------------------------------- */

/* Checks that all pairs of endports reach each other if links connect them. */
static inline void assert_good_for_ends(const struct world *w, const struct fab_fabric *f,
                                        const struct fab_lft *lft, const struct fab_verdict *v)
{
    size_t columns = w->base->lids.top + 1;
    bool *arrives = calloc(f->switch_count * columns, 1), *known = calloc(f->switch_count, 1);
    uint32_t *stack = calloc(f->port_count, sizeof(*stack));
    ck_assert(v->deadlock_free);
    ck_assert(find_arrivals(w, f, lft, arrives));
    for (uint32_t from = 0; from < f->switch_count; from++) {
        uint32_t count = 1, ends = 0;
        memset(known, 0, f->switch_count);
        stack[0] = from;
        known[from] = true;
        while (count > 0) {
            uint32_t sw = stack[--count];
            for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
                uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                         peer = fab_fabric_peer_node(f, port);
                if (!fab_fabric_port_is_up(f, port))
                    continue;
                ends += sw == from && peer >= f->switch_count;
                if (peer < f->switch_count && !known[peer]) {
                    known[peer] = true;
                    stack[count++] = peer;
                }
            }
        }
        for (uint32_t lid = 1; lid < columns && ends > 0; lid++) {
            uint32_t owner = w->base->lids.owner[lid];
            if (owner == FAB_NONE || fab_fabric_port(f, owner)->node < f->switch_count)
                continue;
            uint32_t home = fab_fabric_peer_node(f, owner);
            ck_assert_msg(!known[home] || arrives[from * columns + lid],
                          "%s: ends of switch %u do not reach LID %u", w->name, from, lid);
        }
    }
    free(arrives);
    free(known);
    free(stack);
}

/* Checks that a second repair for the same dead links, which a clone computes, changes nothing. */
static inline void assert_settled(struct world *w, const uint32_t *dead, uint32_t count)
{
    struct fab_repair *clone = NULL;
    struct fab_repair_delta d;
    char why[160] = "";
    ck_assert_int_eq(fab_repair_clone(w->repair, &clone), FAB_OK);
    ck_assert_int_eq(fab_repair_plan(clone, &w->lft, dead, count, &d, why, sizeof(why)), FAB_OK);
    ck_assert_msg(d.changes == 0, "%s: the same dead links change %zu entries more", w->name,
                  d.changes);
    ck_assert_uint_eq(d.entries, fab_repair_overlay_size(w->repair));
    fab_repair_delta_fini(&d);
    fab_repair_free(clone);
}

/* Checks that a clone of the repair computes the same delta. */
static inline void assert_repeatable(struct world *w, const uint32_t *dead, uint32_t count,
                                     const struct fab_repair_delta *d)
{
    struct fab_repair *clone = NULL;
    struct fab_repair_delta again;
    char why[160] = "";
    ck_assert_int_eq(fab_repair_clone(w->repair, &clone), FAB_OK);
    ck_assert_int_eq(fab_repair_plan(clone, &w->lft, dead, count, &again, why, sizeof(why)),
                     FAB_OK);
    ck_assert_uint_eq(again.changes, d->changes);
    ck_assert_uint_eq(again.lost, d->lost);
    ck_assert_uint_eq(again.cut, d->cut);
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *x = &again.change[i], *y = &d->change[i];
        ck_assert(x->lid == y->lid && x->sw == y->sw && x->was == y->was && x->now == y->now);
    }
    fab_repair_delta_fini(&again);
    fab_repair_free(clone);
}

/* Proves the damaged delta `bad`. The proof may accept it only if its tables are correct in spite
 * of the damage. */
static inline void check_spoiled(struct world *w, const struct fab_fabric *f,
                                 const struct fab_repair_delta *bad)
{
    struct fab_repair_change at;
    struct fab_lft lft = copy_of(&w->lft);
    int status = fab_repair_prove(w->repair, &w->lft, bad, &at);
    ck_assert_int_ne(status, FAB_E_NOMEM);
    for (size_t n = 0; n < bad->changes; n++)
        fab_target_lft_row(&lft, bad->change[n].sw)[bad->change[n].lid] = bad->change[n].now;
    struct fab_verdict v = judged(w, f, &lft);
    if (bad->lost == 0 && status == FAB_OK)
        assert_good(f, &v, "a spoiled repair passed its proof");
    if (bad->lost > 0 && status == FAB_OK)
        assert_good_for_ends(w, f, &lft, &v);
    ck_assert(v.deadlock_free || status != FAB_OK);
    w->caught += status != FAB_OK;
    w->harmless += status == FAB_OK;
    fab_verify_verdict_fini(&v);
    fab_target_lft_fini(&lft);
}

/* Damages a delta 20 times: changes the port of one entry, or leaves out the change of one entry.
 * check_spoiled() checks each time whether the proof detects the damage. */
static inline void spoil(struct world *w, const struct fab_fabric *f,
                         const struct fab_repair_delta *d, struct fab_prng *prng)
{
    struct fab_repair_delta bad = *d;
    bad.change = calloc(d->changes + 1, sizeof(*bad.change));
    for (unsigned i = 0; i < 20 && d->changes > 0; i++) {
        size_t k = fab_base_prng_below(prng, d->changes);
        memcpy(bad.change, d->change, d->changes * sizeof(*bad.change));
        bad.changes = d->changes;
        /* in one of three cases, the delta also claims more lost entries than it has */
        bad.lost = d->lost + (i % 3 == 0 ? 5 : 0);
        if (i % 2 == 0) {
            uint32_t ports = w->whole->nodes[bad.change[k].sw].num_ports;
            bad.change[k].now = (uint8_t)(1 + fab_base_prng_below(prng, ports));
        } else {
            bad.changes--;
            memmove(bad.change + k, bad.change + k + 1, (bad.changes - k) * sizeof(*bad.change));
        }
        check_spoiled(w, f, &bad);
    }
    free(bad.change);
}

/* Proves a delta that leaves several entries without a path, but claims to leave only one. Counts
 * how often the proof refuses it. */
static inline void claim_one(struct world *w, const struct fab_repair_delta *d)
{
    struct fab_repair_delta one = *d;
    struct fab_repair_change at;
    if (d->lost < 2)
        return;
    one.lost = 1;
    w->unclaimed += fab_repair_prove(w->repair, &w->lft, &one, &at) != FAB_OK;
}

/* Follows a packet that leaves switch `sw` by port `num`. Returns the number of switches that it
 * passes on its way to the LID; UINT32_MAX if there is a loop or no route. */
static inline uint32_t hops_over(const struct world *w, uint32_t sw, uint8_t num, uint32_t lid)
{
    const struct fab_fabric *f = w->whole;
    for (uint32_t hops = 0; hops < 64; hops++) {
        if (num == 0)
            return hops;
        uint32_t port = fab_fabric_port_id(f, sw, num);
        if (num > f->nodes[sw].num_ports || fab_fabric_port(f, port)->peer == FAB_NONE)
            return UINT32_MAX;
        sw = fab_fabric_peer_node(f, port);
        if (sw >= f->switch_count)
            return hops;
        num = fab_target_lft_at(&w->lft, sw, lid);
    }
    return UINT32_MAX;
}

static inline bool is_dead(const struct world *w, const bool *dead, uint32_t sw, uint8_t num)
{
    uint32_t port = fab_fabric_port_id(w->whole, sw, num);
    for (uint32_t i = 0; i < w->count; i++)
        if (dead[i] &&
            (w->cables[i] == port || fab_fabric_port(w->whole, w->cables[i])->peer == port))
            return true;
    return false;
}

/* Checks that a repair changes no entry without need. A switch may use another port only if its old
 * port is dead, or if the path over the old port is longer than the path over the new port. */
static inline void assert_little(const struct world *w, const bool *dead,
                                 const struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        if (is_dead(w, dead, c->sw, c->was))
            continue;
        uint32_t old = hops_over(w, c->sw, c->was, c->lid);
        uint32_t now = hops_over(w, c->sw, c->now, c->lid);
        ck_assert_msg(old > now, "%s: switch %u, LID %u: from port %u (%u hops) to %u (%u hops)",
                      w->name, c->sw, c->lid, c->was, old, c->now, now);
    }
}

/* Checks that the plan uses the right set of labels: the first set whose repair leaves no entry
 * without a path. If there is no such set, it must be the first set with which a repair is
 * possible. */
static inline void assert_set(struct world *w, const uint32_t *ports, uint32_t count, int status,
                              const struct fab_repair_delta *d)
{
    struct fab_repair *r = w->repair;
    uint32_t want = FAB_NONE;
    size_t lost = 0;
    uint64_t work = r->relax_work;
    char why[160] = "";
    r->relax_work = 0;
    for (uint32_t set = 0; set < r->network->sets && (want == FAB_NONE || lost > 0); set++) {
        struct fab_repair_delta by_set;
        int set_status =
            fab_repair_delta_make(r, set, &w->lft, ports, count, NULL, &by_set, why, sizeof(why));
        ck_assert(set_status == FAB_OK || set_status == FAB_E_UNSUPPORTED);
        if (set_status != FAB_OK)
            continue;
        if (want == FAB_NONE || by_set.lost == 0) {
            want = set;
            lost = by_set.lost;
        }
        fab_repair_delta_fini(&by_set);
    }
    ck_assert_int_eq(status, want == FAB_NONE ? FAB_E_UNSUPPORTED : FAB_OK);
    ck_assert_uint_eq(r->relax_work, work);
    if (want == FAB_NONE)
        return;
    ck_assert_msg(d->label_set == want, "%s: labels of set %u, not %u", w->name, d->label_set,
                  want);
    ck_assert_uint_eq(d->lost, lost);
    w->later_sets += want > 0;
}

/* Checks that the writes are sorted by step, and the number of entries that drop packets. Within a
 * step, the writes that concern the most endports must come first. */
static inline void assert_write_order(const struct world *w, const struct fab_repair_delta *d)
{
    uint32_t steps = 0;
    size_t drained = 0;
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *x = &d->write[i], *before = i > 0 ? x - 1 : NULL;
        uint64_t endports = w->repair->network->attached[x->sw];
        ck_assert_uint_eq(x->weight, x->early ? 0 : endports * x->entries);
        steps = x->step + 1;
        drained += x->drain != 0 ? x->entries : 0;
        if (before == NULL || before->step < x->step)
            continue;
        ck_assert_uint_eq(before->step, x->step);
        ck_assert_uint_ge(before->weight, x->weight);
        if (before->weight == x->weight)
            ck_assert(before->sw < x->sw || (before->sw == x->sw && before->block < x->block));
    }
    ck_assert_uint_eq(d->steps, steps);
    ck_assert_uint_eq(d->drained, drained);
}

/* Returns the step of the write after which switches hold the new value of a change. */
static inline uint32_t step_of(const struct fab_repair_delta *d, size_t which)
{
    uint32_t step = 0;
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *x = &d->write[i];
        uint64_t bit = UINT64_C(1) << d->change[which].lid % FAB_LFT_BLOCK;
        if (x->sw == d->change[which].sw && x->block == d->change[which].lid / FAB_LFT_BLOCK &&
            (x->keep & bit) == 0 && (x->drain & bit) == 0 && x->step > step)
            step = x->step;
    }
    return step;
}

/* Marks the switches from which packets to the LID of change `which` may reach its switch in this
 * step: over old values that earlier steps do not replace, and new values that no later step
 * writes. */
static inline void mark_senders(const struct world *w, const struct fab_repair_delta *d,
                                size_t which, uint32_t step, bool *sends)
{
    const struct fab_repair_network *b = w->repair->network;
    uint32_t lid = d->change[which].lid;
    bool *reached = calloc(b->n, 1);
    uint8_t(*num)[2] = calloc(b->n, sizeof(*num));
    for (uint32_t sw = 0; sw < b->n; sw++)
        num[sw][0] = num[sw][1] = fab_target_lft_at(&w->lft, sw, lid);
    for (size_t m = 0; m < d->changes; m++) {
        if (d->change[m].lid != lid)
            continue;
        uint8_t *at = num[d->change[m].sw];
        if (step_of(d, m) <= step)
            at[1] = d->change[m].now;
        if (step_of(d, m) < step)
            at[0] = d->change[m].now;
    }
    reached[d->change[which].sw] = true;
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t sw = 0; sw < b->n; sw++) {
            for (int i = 0; i < 2; i++) {
                uint32_t channel = fab_repair_channel(b, sw, num[sw][i]);
                if (channel != FAB_NONE && !reached[sw] && reached[b->peer_sw[channel]])
                    reached[sw] = grows = true;
            }
        }
    }
    for (uint32_t sw = 0; sw < b->n; sw++)
        sends[sw] |= reached[sw];
    free(reached);
    free(num);
}

/* Returns the number of endports whose packets to the LID of change `which` may pass its switch in
 * the steps from `first` on, until the switch holds the new value. */
static inline uint64_t count_endports_before(const struct world *w,
                                             const struct fab_repair_delta *d, size_t which,
                                             uint32_t first)
{
    const struct fab_repair_network *b = w->repair->network;
    uint64_t endports = 0;
    bool *sends = calloc(b->n, 1);
    for (uint32_t step = first; step <= step_of(d, which); step++)
        mark_senders(w, d, which, step, sends);
    for (uint32_t sw = 0; sw < b->n; sw++)
        endports += sends[sw] ? b->attached[sw] : 0;
    free(sends);
    return endports;
}

/* Returns the number of pairs of a source endport and the LID of an endport that had a path before
 * the delta and have none after some of the writes. */
static inline uint64_t count_lost_pairs(const struct world *w, const bool *before,
                                        const bool *after)
{
    size_t columns = w->base->lids.top + 1;
    uint64_t lost = 0;
    for (uint32_t sw = 0; sw < w->whole->switch_count; sw++)
        for (size_t lid = 1; lid < columns; lid++)
            if (fab_base_bits_get(w->repair->network->is_endport, lid) &&
                before[sw * columns + lid] && !after[sw * columns + lid])
                lost += w->repair->network->attached[sw];
    return lost;
}

/* Makes the writes of the delta in a random order within each step. At no time may more pairs have
 * lost their paths than the delta announces. */
static inline void assert_no_more_lost(const struct world *w, const struct fab_repair_delta *d,
                                       const bool *dead, uint64_t announced, struct fab_prng *prng)
{
    bool *both = calloc(w->count + 1, 1);
    for (uint32_t i = 0; i < w->count; i++)
        both[i] = dead[i] || fab_repair_was_dead(w->repair, w->cables[i]);
    struct fab_fabric *old = with_dead_links(w, both), *f = with_dead_links(w, dead);
    size_t cells = (size_t)f->switch_count * (w->base->lids.top + 1);
    bool *before = calloc(cells, 1), *after = calloc(cells, 1);
    uint32_t *order = calloc(d->writes + 1, sizeof(*order));
    struct fab_lft lft = copy_of(&w->lft);
    ck_assert(find_arrivals(w, old, &lft, before));
    for (size_t first = 0, end; first < d->writes; first = end) {
        for (end = first; end < d->writes && d->write[end].step == d->write[first].step; end++)
            order[end - first] = (uint32_t)end;
        fab_base_prng_shuffle(prng, order, end - first);
        for (size_t i = 0; i < end - first; i++) {
            put_write(w, &lft, d, &d->write[order[i]]);
            find_arrivals(w, d->write[order[i]].early ? old : f, &lft, after);
            uint64_t lost = count_lost_pairs(w, before, after);
            ck_assert_msg(lost <= announced, "%s: %" PRIu64 " pairs lost, %" PRIu64 " announced",
                          w->name, lost, announced);
        }
    }
    free(both);
    free(before);
    free(after);
    free(order);
    fab_target_lft_fini(&lft);
    fab_fabric_unref(old);
    fab_fabric_unref(f);
}

/* Checks the number of pairs that are paused while the drained entries of a delta drop packets.
 * The delta is not yet committed. dead: the dead links after the delta. */
static inline void assert_paused(struct world *w, const struct fab_repair_delta *d,
                                 const bool *dead, struct fab_prng *prng)
{
    uint64_t paused = UINT64_MAX, want = 0;
    for (size_t i = 0; i < d->writes; i++) {
        for (uint32_t k = 0; k < d->write[i].changes; k++) {
            uint32_t which = d->by_write[d->write[i].first + k];
            const struct fab_repair_change *c = &d->change[which];
            uint8_t old = fab_target_lft_at(&w->lft, c->sw, c->lid);
            if ((d->write[i].drain >> c->lid % 64 & 1) == 0 || old == FAB_LFT_NO_ROUTE ||
                !fab_base_bits_get(w->repair->network->is_endport, c->lid) ||
                fab_repair_was_dead(w->repair, w->repair->network->first[c->sw] + old))
                continue;
            want += count_endports_before(w, d, which, d->write[i].step);
        }
    }
    ck_assert_int_eq(fab_repair_count_paused(w->repair, &w->lft, d, &paused), FAB_OK);
    ck_assert_msg(paused == want, "%s: %" PRIu64 " pairs paused, not %" PRIu64, w->name, paused,
                  want);
    w->paused += want > 0;
    if (w->looked_at && d->drained > 0)
        assert_no_more_lost(w, d, dead, paused, prng);
}

/* Repairs the tables for a new set of dead links, with all checks. Returns false if the repair was
 * refused; the tables are then unchanged. */
static inline bool change_to(struct world *w, const bool *dead, struct fab_prng *prng)
{
    uint32_t *ports = calloc(w->count + 1, sizeof(*ports));
    uint32_t count = list_dead(w, dead, ports);
    struct fab_repair_delta d;
    struct fab_repair_change at;
    char why[160] = "";
    fab_base_prng_shuffle(prng, ports, count);
    int status = fab_repair_plan(w->repair, &w->lft, ports, count, &d, why, sizeof(why));
    if (w->sets_compared)
        assert_set(w, ports, count, status, &d);
    if (status == FAB_E_UNSUPPORTED) {
        w->refused++;
        free(ports);
        return false;
    }
    ck_assert_int_eq(status, FAB_OK);
    assert_repeatable(w, ports, count, &d);
    status = fab_repair_prove(w->repair, &w->lft, &d, &at);
    ck_assert_msg(status == FAB_OK, "%s: proof says %d at switch %u LID %u", w->name, status, at.sw,
                  at.lid);
    claim_one(w, &d);
    ck_assert_int_eq(fab_repair_order(w->repair, &w->lft, &d), FAB_OK);
    ck_assert(d.writes >= d.blocks || d.changes == 0);
    assert_write_order(w, &d);
    assert_paused(w, &d, dead, prng);
    w->parted += d.writes > d.blocks && d.drained == 0;
    w->stepped += d.steps > 1;
    w->drained += d.drained > 0;
    struct fab_fabric *f = with_dead_links(w, dead);
    if (w->looked_at) {
        const char *fault = watch_writes(w, f, &d, prng, true);
        ck_assert_msg(fault == NULL, "%s: %s on the way", w->name, fault);
    }
    if (w->looked_at && d.steps > 1)
        w->unsafe += watch_writes(w, f, &d, prng, false) != NULL;
    if (w->spoiled)
        spoil(w, f, &d, prng);
    fab_repair_commit(w->repair, &w->lft, &d);
    struct fab_verdict v = judged(w, f, &w->lft);
    if (d.lost == 0)
        assert_good(f, &v, w->name);
    else
        assert_good_for_ends(w, f, &w->lft, &v);
    w->lost += d.lost > 0;
    if (w->lone)
        assert_little(w, dead, &d);
    fab_verify_verdict_fini(&v);
    fab_fabric_unref(f);
    fab_repair_delta_fini(&d);
    assert_settled(w, ports, count);
    free(ports);
    w->done++;
    return true;
}

/* Checks that a clone of the repair computes the same step of the incremental rebalance, which is
 * the delta *d. Before that, the clone commits a repair that changes nothing. If the previous step
 * changed entries, this commit makes the clone count the paths to all LIDs again. */
static inline void assert_same_step(struct world *w, struct fab_repair *clone, size_t most,
                                    uint32_t at, const struct fab_repair_delta *d)
{
    struct fab_repair_delta same;
    char why[160] = "";
    uint32_t *ports = calloc(w->count + 1, sizeof(*ports));
    uint32_t count = list_dead(w, w->dead, ports);
    ck_assert_int_eq(fab_repair_plan(clone, &w->lft, ports, count, &same, why, sizeof(why)),
                     FAB_OK);
    ck_assert_uint_eq(same.changes, 0);
    fab_repair_commit(clone, &w->lft, &same);
    fab_repair_delta_fini(&same);
    ck_assert_int_eq(fab_repair_rebalance(clone, &w->lft, most, &at, &same), FAB_OK);
    ck_assert_uint_eq(same.changes, d->changes);
    for (size_t i = 0; i < d->changes; i++)
        ck_assert(same.change[i].lid == d->change[i].lid && same.change[i].sw == d->change[i].sw &&
                  same.change[i].now == d->change[i].now);
    fab_repair_delta_fini(&same);
    fab_repair_free(clone);
    free(ports);
}

/* Checks that a step of the incremental rebalance ends with the LID at which the number of changes
 * reaches `most`. */
static inline void assert_no_more_than(const struct fab_repair_delta *d, size_t most)
{
    size_t before = d->changes;
    while (before > 0 && d->change[before - 1].lid == d->change[d->changes - 1].lid)
        before--;
    ck_assert_uint_lt(before, most);
}

/* Does one step of the incremental rebalance, with all checks. Returns true if it changed entries.
 */
static inline bool rebalance_step(struct world *w, uint32_t *at, struct fab_prng *prng)
{
    struct fab_repair_delta d;
    struct fab_repair_change bad;
    struct fab_repair *clone = NULL;
    size_t most = 1 + fab_base_prng_below(prng, 8);
    uint32_t after = *at;
    ck_assert_int_eq(fab_repair_clone(w->repair, &clone), FAB_OK);
    ck_assert_int_eq(fab_repair_rebalance(w->repair, &w->lft, most, at, &d), FAB_OK);
    assert_same_step(w, clone, most, after, &d);
    ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &bad), FAB_OK);
    assert_no_more_than(&d, most);
    ck_assert_int_eq(fab_repair_order(w->repair, &w->lft, &d), FAB_OK);
    assert_write_order(w, &d);
    assert_paused(w, &d, w->dead, prng);
    struct fab_fabric *f = with_dead_links(w, w->dead);
    if (w->looked_at) {
        const char *fault = watch_writes(w, f, &d, prng, true);
        ck_assert_msg(fault == NULL, "%s: %s during a rebalance", w->name, fault);
    }
    fab_repair_commit(w->repair, &w->lft, &d);
    struct fab_verdict v = judged(w, f, &w->lft);
    if (d.lost == 0)
        assert_good(f, &v, w->name);
    else
        assert_good_for_ends(w, f, &w->lft, &v);
    bool changed = d.changes > 0;
    w->rebalanced += changed;
    fab_verify_verdict_fini(&v);
    fab_fabric_unref(f);
    fab_repair_delta_fini(&d);
    return changed;
}

/* Does up to `most` steps of the incremental rebalance, until no entry changes any more. */
static inline void rebalance(struct world *w, struct fab_prng *prng, unsigned most)
{
    uint32_t at = 0;
    bool changed = false;
    for (unsigned i = 0; i < most; i++) {
        changed = rebalance_step(w, &at, prng) || changed;
        if (at == 0 && !changed)
            return;
        changed = changed && at > 0;
    }
}

struct tally {
    unsigned done, refused, unsafe, caught, paused;
};

/* ---- sequences ------------------------------------------------------------------------------- */

static inline void toggle(const struct world *w, bool *dead, struct fab_prng *prng, bool restore)
{
    uint32_t cable = (uint32_t)fab_base_prng_below(prng, w->count);
    if (fab_base_prng_below(prng, 8) > 0) {
        dead[cable] = !restore && !dead[cable];
        return;
    }
    /* All links of a switch fail or return. */
    uint32_t sw = fab_fabric_port(w->whole, w->cables[cable])->node;
    bool now = !restore && !dead[cable];
    for (uint32_t i = 0; i < w->count; i++) {
        if (fab_fabric_port(w->whole, w->cables[i])->node == sw ||
            fab_fabric_peer_node(w->whole, w->cables[i]) == sw)
            dead[i] = now;
    }
}

static inline unsigned steps_wanted(unsigned usual)
{
    const char *wanted = getenv("REPAIR_STEPS");
    return wanted != NULL ? (unsigned)strtoul(wanted, NULL, 0) : usual;
}

/* Makes `steps` random changes of the dead links, and takes over w. */
static inline struct tally run_sequence(struct world *w, struct fab_prng *prng, unsigned steps)
{
    bool *next = calloc(w->count + 1, sizeof(*next));
    for (unsigned i = 0; i < steps && w->count > 0; i++) {
        memcpy(next, w->dead, w->count * sizeof(*next));
        uint32_t dead = 0;
        for (uint32_t k = 0; k < w->count; k++)
            dead += next[k];
        unsigned at_once = 1 + (unsigned)(fab_base_prng_below(prng, 4) == 0) * 2;
        for (unsigned k = 0; k < at_once; k++)
            toggle(w, next, prng, dead * 5 > w->count);
        /* If the manager cannot repair these faults, all links come back before the next step. */
        if (change_to(w, next, prng)) {
            memcpy(w->dead, next, w->count * sizeof(*next));
            rebalance(w, prng, (unsigned)fab_base_prng_below(prng, 6));
        } else if (dead > 0)
            memset(w->dead, 0, w->count * sizeof(*next));
    }
    memset(next, 0, w->count * sizeof(*next));
    ck_assert(change_to(w, next, prng));
    ck_assert_msg(memcmp(w->lft.entries, w->base->lft.entries,
                         (size_t)w->lft.switch_count * w->lft.stride) == 0,
                  "%s: the tables differ after all links came back", w->name);
    ck_assert_uint_eq(fab_repair_overlay_size(w->repair), 0);
    printf("# %s (%s): %u changes, %u refused, %u with losses; in steps %u (unsafe without: %u), "
           "in parts %u, drained %u, steps of rebalance %u",
           w->name, fab_repair_label_source(w->repair), w->done, w->refused, w->lost, w->stepped,
           w->unsafe, w->parted, w->drained, w->rebalanced);
    if (w->spoiled)
        printf("; spoiled: %u caught, %u harmless", w->caught, w->harmless);
    printf("\n");
    fflush(stdout);
    free(next);
    struct tally t = {w->done, w->refused, w->unsafe, w->caught, w->paused};
    world_free(w);
    return t;
}

static inline struct fab_fabric *hyperx(void)
{
    struct fab_hyperx_spec spec = {.dimensions = 2, .size = {4, 3}, .hosts = 2, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_hyperx(&spec, &b), FAB_OK);
    return sealed(b);
}

static inline struct fab_fabric *dragonfly(void)
{
    struct fab_dragonfly_spec spec = {.group_size = 3, .global = 1, .hosts = 2, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&spec, &b), FAB_OK);
    return sealed(b);
}

struct repair_case {
    const char *name;
    const TTest *test;
};

/* Returns a suite with a test case for each of the `count` tests in all[]. */
static inline Suite *repair_suite(const char *name, const struct repair_case *all, size_t count)
{
    Suite *s = suite_create(name);
    for (size_t i = 0; i < count; i++) {
        TCase *c = tcase_create(all[i].name);
        tcase_set_timeout(c, 3600);
        tcase_add_test(c, all[i].test);
        suite_add_tcase(s, c);
    }
    return s;
}

#endif
