/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the writes of VL tables. SLtoVLMappingTables (IBA 14.2.5.8) belong to a pair of an in port
 * and an out port of a switch, or to a port of an adapter. VLArbitrationTables (14.2.5.9) belong to
 * a port.
 *
 * A switch of 36 ports has 1,332 SL-to-VL tables, and most of them are equal. With
 * SwitchInfo:OptimizedSLtoVLMappingProgramming, one write can set the tables of all pairs, or of
 * all pairs with a certain in port or out port. So the most frequent table is written first, to all
 * pairs. Then come writes for single in ports or for single out ports, whichever are fewer. The
 * last writes set the tables of single pairs.
 *
 * The manager does not read these tables before it writes them (only the scrub reads them, later).
 * It knows them from acknowledged writes (struct fab_observed_vls), and not at all after it has
 * restarted. VL arbitration tables are stored as written, port by port, and only blocks that differ
 * are written again.
 *
 * With several VLs, unknown tables are written. With one VL they are not written. Routing that is
 * free of deadlock on one VL is also free of deadlock with any mapping of SLs to VLs, so any table
 * is correct. But tables that this manager wrote before are then set to VL 0.
 */
#include "libfabmgr/plan/vl_writes.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* maximum number of ports of a switch, port 0 included */
#define PORTS 256
#define CAP_SL_MAPPING (1u << 6)
#define OPTIMIZED 1u
#define MOD_ALL_OUT (1u << 16)
#define MOD_ALL_IN (1u << 17)
/* the attribute modifier of VLArbitrationTable has the block number from this bit on, and the port
 * number in the bits below */
#define VLARB_BLOCK 16
/* tidy_arbs() empties the list of VL arbitration tables when it has this length */
#define ARBS_MANY 1000
/* struct tally counts at most this many distinct SL-to-VL tables */
#define MAPS 64

/* ---- one port -------------------------------------------------------------------------------- */

/* Returns true for port 0 of a switch, and for a port whose link is in state Init or later. Other
 * ports get their VL tables when their links come up. */
static bool is_live(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->present &&
           (fab_fabric_port(f, port)->num == 0 ||
            (fab_fabric_port_is_up(f, port) &&
             fab_fabric_port(f, port)->info.port_state >= FAB_STATE_INIT));
}

/* Returns true if the SL-to-VL tables of a port can be written. At a switch,
 * PortInfo:CapabilityMask of port 0 decides for all ports. Returns false if the manager could not
 * read this PortInfo. */
static bool has_sl2vl(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    uint32_t base = fab_fabric_node_is_switch(f, node) ? f->nodes[node].first_port : port;
    return (fab_fabric_port(f, base)->info.cap_mask & CAP_SL_MAPPING) != 0;
}

static struct fab_observed_vl_port wanted(const struct fab_plan_input *in, uint32_t port)
{
    return (struct fab_observed_vl_port){.vls = fab_target_port_vls(in->fabric, in->policy, port),
                                         .class =
                                             fab_target_vls_port_class(&in->target->vls, port)};
}

static struct fab_observed_vl_port observed_of(const struct fab_plan_input *in, uint32_t port)
{
    const struct fab_observed_vls *held = &in->observed->vls;
    if (in->observed == NULL || held->port == NULL || held->ports != in->fabric->port_count)
        return (struct fab_observed_vl_port){0};
    return held->port[port];
}

static bool nothing_to_do(const struct fab_plan_input *in)
{
    return !fab_target_vls_multiple(&in->target->vls) &&
           (in->observed == NULL || in->observed->vls.port == NULL);
}

/* Returns the VL arbitration tables that the port is known to hold; all zero bytes if they are
 * unknown. */
static struct fab_arb arb_held(const struct fab_plan_input *in,
                               const struct fab_observed_vl_port *now)
{
    const struct fab_observed_vls *held = &in->observed->vls;
    return now->arbitrated > 0 && now->arbitrated <= held->arbs ? held->arb[now->arbitrated - 1]
                                                                : (struct fab_arb){0};
}

static bool arb_differs(const struct fab_arb *now, const struct fab_arb *want, unsigned block)
{
    struct fab_vlarb a, b;
    bool known = now->lows + now->highs > 0 && (now->whole || block == 1);
    fab_target_arb_block(now, block, &a);
    fab_target_arb_block(want, block, &b);
    return !known || memcmp(&a, &b, sizeof(a)) != 0;
}

static int add_vlarb(const struct fab_plan_input *in, uint32_t port,
                     struct fab_observed_vl_port held, fab_plan_add_op *add, void *ctx)
{
    const struct fab_port *p = fab_fabric_port(in->fabric, port);
    const uint32_t num = fab_fabric_node_is_switch(in->fabric, p->node) ? p->num : 0;
    struct fab_arb want, now = {0};
    int ret = FAB_OK;
    if (!fab_target_arb(in->fabric, in->policy, &in->target->vls, port, in->book, &want))
        return FAB_OK;
    if (held.arbitrated > 0)
        now = arb_held(in, &held);
    if (memcmp(&now, &want, sizeof(now)) == 0)
        return FAB_OK;
    for (unsigned block = 1; block <= FAB_ARB_BLOCKS && ret == FAB_OK; block++)
        if (fab_target_arb_has_block(&want, &p->info, block) && arb_differs(&now, &want, block))
            ret = add(ctx, (struct fab_plan_op){.node = p->node,
                                                .port = port,
                                                .attr_id = FAB_ATTR_VLARB,
                                                .mod = block << VLARB_BLOCK | num});
    return ret;
}

/* ---- the pairs of a switch ------------------------------------------------------------------- */

struct pairs {
    const struct fab_plan_input *in;
    uint32_t sw, count;
    uint8_t num[PORTS]; /* [count] numbers of the ports for which is_live() is true */
    /* [count] the values from which the VL tables of the ports are computed. now: for the present
     * tables, as far as they are known. want: for the wanted tables. */
    struct fab_observed_vl_port now[PORTS];
    struct fab_observed_vl_port want[PORTS];
    /* known: the tables of the switch are known. by_in: a write of scope LINE sets the tables of
     * all pairs that have the same in port (true) or the same out port (false). */
    bool known, by_in;
};

static uint64_t map_of(const struct fab_vls *v, const struct pairs *s, uint32_t in, uint32_t out)
{
    if (!fab_target_vls_multiple(v))
        return 0;
    return fab_target_sl2vl_pack(v->vl[s->want[in].class][s->want[out].class], s->want[out].vls);
}

static uint64_t want_of(const struct pairs *s, uint32_t line, uint32_t i)
{
    const struct fab_vls *v = &s->in->target->vls;
    return s->by_in ? map_of(v, s, line, i) : map_of(v, s, i, line);
}

static bool differs(const struct pairs *s, uint32_t in, uint32_t out)
{
    const struct fab_observed_vl_port *x = &s->now[in], *y = &s->now[out];
    if (!s->known || x->vls == 0 || y->vls == 0)
        return fab_target_vls_multiple(&s->in->target->vls);
    return fab_target_sl2vl_pack(s->in->observed->vls.vl[x->class][y->class], y->vls) !=
           map_of(&s->in->target->vls, s, in, out);
}

/* Collects the ports of a switch for which is_live() is true, with the present and the wanted
 * values from which their VL tables are computed. Returns false if no SL-to-VL table of the switch
 * needs a write. There are three such cases: the switch does not support these tables; the target
 * uses several VLs, and the switch is known to hold the target's tables; or the target uses one VL,
 * with which any table is correct, and the tables of the switch are not known. */
static bool find_pairs(const struct fab_plan_input *in, uint32_t sw, struct pairs *ret)
{
    const struct fab_fabric *f = in->fabric;
    uint32_t first = f->nodes[sw].first_port;
    struct pairs *s = ret;
    s->in = in;
    s->sw = sw;
    s->count = 0;
    s->by_in = false;
    s->known = observed_of(in, first).vls != 0;
    bool same = s->known &&
                memcmp(in->observed->vls.vl, in->target->vls.vl, sizeof(in->target->vls.vl)) == 0;
    for (uint32_t num = 0; num <= f->nodes[sw].num_ports; num++) {
        if (!is_live(f, first + num))
            continue;
        s->num[s->count] = (uint8_t)num;
        s->now[s->count] = observed_of(in, first + num);
        s->want[s->count] = wanted(in, first + num);
        same = same && s->now[s->count].vls == s->want[s->count].vls &&
               s->now[s->count].class == s->want[s->count].class;
        s->count++;
    }
    return has_sl2vl(f, first) && !(same && fab_target_vls_multiple(&in->target->vls)) &&
           (s->known || fab_target_vls_multiple(&in->target->vls));
}

static uint32_t first_out(const struct pairs *s)
{
    /* port 0 is not an out port, so skip num[0] if it is port 0 */
    return s->count > 0 && s->num[0] == 0 ? 1 : 0;
}

static uint32_t count_differing(const struct pairs *s)
{
    uint32_t count = 0;
    for (uint32_t in = 0; in < s->count; in++) {
        for (uint32_t out = first_out(s); out < s->count; out++)
            count += differs(s, in, out);
    }
    return count;
}

/* ---- the widest writes ----------------------------------------------------------------------- */

struct tally {
    uint64_t map[MAPS];
    uint32_t times[MAPS], count;
};

static void tally_line(const struct pairs *s, uint32_t line, struct tally *t)
{
    for (uint32_t i = s->by_in ? first_out(s) : 0; i < s->count; i++) {
        uint64_t map = want_of(s, line, i);
        uint32_t k = 0;
        while (k < t->count && t->map[k] != map)
            k++;
        if (k == MAPS)
            continue;
        if (k == t->count) {
            t->map[k] = map;
            t->times[k] = 0;
            t->count++;
        }
        t->times[k]++;
    }
}

static uint64_t most_frequent(const struct tally *t)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < t->count; k++)
        best = t->times[k] > t->times[best] ? k : best;
    return t->count > 0 ? t->map[best] : 0;
}

static uint64_t most_frequent_in_line(const struct pairs *s, uint32_t line)
{
    struct tally t = {.count = 0};
    tally_line(s, line, &t);
    return most_frequent(&t);
}

static uint64_t most_frequent_of_all(const struct pairs *s)
{
    struct tally t = {.count = 0};
    for (uint32_t line = first_out(s); line < s->count; line++)
        tally_line(s, line, &t);
    return most_frequent(&t);
}

static uint32_t exceptions_in_line(const struct pairs *s, uint32_t line, uint64_t usual)
{
    uint32_t exceptions = 0;
    for (uint32_t i = s->by_in ? first_out(s) : 0; i < s->count; i++)
        exceptions += want_of(s, line, i) != usual;
    return exceptions;
}

/* Returns how many further writes are needed after one write has set the SL-to-VL tables of all
 * pairs of ports to `base`. */
static uint32_t cost(const struct pairs *s, uint64_t base)
{
    uint32_t writes = 0;
    for (uint32_t line = s->by_in ? 0 : first_out(s); line < s->count; line++) {
        uint64_t usual = most_frequent_in_line(s, line);
        writes += (usual != base) + exceptions_in_line(s, line, usual);
    }
    return writes;
}

/* ---- the writes ------------------------------------------------------------------------------ */

struct sink {
    fab_plan_add_op *add;
    void *ctx;
};

static int add_map(const struct pairs *s, const struct sink *to, uint32_t mod, uint64_t map)
{
    return to->add(to->ctx,
                   (struct fab_plan_op){.node = s->sw,
                                        .port = fab_fabric_port_id(s->in->fabric, s->sw, 0),
                                        .attr_id = FAB_ATTR_SL2VL,
                                        .mod = mod,
                                        .map = map});
}

static uint32_t pair_mod(const struct pairs *s, uint32_t in, uint32_t out)
{
    return (uint32_t)s->num[in] << 8 | s->num[out];
}

static int add_differing(const struct pairs *s, const struct sink *to)
{
    int ret = FAB_OK;
    for (uint32_t in = 0; in < s->count; in++) {
        for (uint32_t out = first_out(s); out < s->count && ret == FAB_OK; out++) {
            if (differs(s, in, out))
                ret = add_map(s, to, pair_mod(s, in, out), map_of(&s->in->target->vls, s, in, out));
        }
    }
    return ret;
}

static int add_line(const struct pairs *s, const struct sink *to, uint32_t line, uint64_t base)
{
    uint64_t usual = most_frequent_in_line(s, line);
    uint32_t mod = s->by_in ? MOD_ALL_OUT | (uint32_t)s->num[line] << 8 : MOD_ALL_IN | s->num[line];
    return usual != base ? add_map(s, to, mod, usual) : FAB_OK;
}

static int add_exceptions(const struct pairs *s, const struct sink *to, uint32_t line)
{
    uint64_t usual = most_frequent_in_line(s, line);
    int ret = FAB_OK;
    for (uint32_t i = s->by_in ? first_out(s) : 0; i < s->count && ret == FAB_OK; i++) {
        uint64_t map = want_of(s, line, i);
        if (map != usual)
            ret = add_map(s, to, s->by_in ? pair_mod(s, line, i) : pair_mod(s, i, line), map);
    }
    return ret;
}

static int add_lines(const struct pairs *s, const struct sink *to, uint64_t base,
                     enum fab_plan_vl_scope scope)
{
    int ret = FAB_OK;
    if (scope == FAB_PLAN_VL_ALL)
        return add_map(s, to, MOD_ALL_IN | MOD_ALL_OUT, base);
    for (uint32_t line = s->by_in ? 0 : first_out(s); line < s->count && ret == FAB_OK; line++)
        ret = scope == FAB_PLAN_VL_LINE ? add_line(s, to, line, base) : add_exceptions(s, to, line);
    return ret;
}

/* Adds the writes of one scope. The plan has two possibilities: to set all tables anew by writes of
 * all three scopes, or to set only the tables that differ, by writes of scope PAIR. The function
 * chooses the one with fewer writes in total. If the switch cannot set several tables by one write,
 * only the second is possible. */
static int add_tables(struct pairs *s, const struct sink *to, enum fab_plan_vl_scope scope)
{
    bool optimized = (s->in->fabric->switches[s->sw].optimized_sl2vl & OPTIMIZED) != 0;
    uint32_t differing = count_differing(s);
    if (differing == 0)
        return FAB_OK;
    if (!optimized)
        return scope == FAB_PLAN_VL_PAIR ? add_differing(s, to) : FAB_OK;
    uint64_t base = most_frequent_of_all(s);
    uint32_t by_out = cost(s, base);
    s->by_in = true;
    uint32_t by_in = cost(s, base);
    s->by_in = by_in < by_out;
    if (differing <= 1 + (s->by_in ? by_in : by_out))
        return scope == FAB_PLAN_VL_PAIR ? add_differing(s, to) : FAB_OK;
    return add_lines(s, to, base, scope);
}

int fab_plan_vlarb_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                    fab_plan_add_op *add, void *ctx)
{
    const struct fab_node *node = &in->fabric->nodes[sw];
    int ret = FAB_OK;
    for (uint32_t num = 1; num <= node->num_ports && !nothing_to_do(in) && ret == FAB_OK; num++) {
        uint32_t port = node->first_port + num;
        if (is_live(in->fabric, port))
            ret = add_vlarb(in, port, observed_of(in, port), add, ctx);
    }
    return ret;
}

int fab_plan_vl_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                 enum fab_plan_vl_scope scope, fab_plan_add_op *add, void *ctx)
{
    const struct sink to = {add, ctx};
    struct pairs s;
    if (nothing_to_do(in) || !find_pairs(in, sw, &s))
        return FAB_OK;
    return add_tables(&s, &to, scope);
}

/* The tables of a port in state Init count as unknown, because its adapter may have been reset. */
int fab_plan_vl_writes_of_endport(const struct fab_plan_input *in, uint32_t port,
                                  fab_plan_add_op *add, void *ctx)
{
    const struct fab_port *p = fab_fabric_port(in->fabric, port);
    const bool many = fab_target_vls_multiple(&in->target->vls),
               is_init = p->info.port_state == FAB_STATE_INIT;
    if (nothing_to_do(in) || !is_live(in->fabric, port))
        return FAB_OK;
    struct fab_observed_vl_port now =
        is_init ? (struct fab_observed_vl_port){0} : observed_of(in, port);
    uint64_t map = fab_target_sl2vl(in->fabric, in->policy, &in->target->vls, port, port);
    bool wrong =
        now.vls == 0 ? many : fab_target_sl2vl_pack(in->observed->vls.vl[0][0], now.vls) != map;
    int ret = add_vlarb(in, port, now, add, ctx);
    if (ret == FAB_OK && wrong && has_sl2vl(in->fabric, port))
        ret = add(ctx, (struct fab_plan_op){
                           .node = p->node, .port = port, .attr_id = FAB_ATTR_SL2VL, .map = map});
    return ret;
}

/* ---- what devices are known to hold ---------------------------------------------------------- */

void fab_plan_vls_begin(const struct fab_plan_input *in, const struct fab_plan *plan,
                        struct fab_observed *o)
{
    if (o->vls.port == NULL)
        return;
    for (uint32_t i = 0; i < plan->stage_start[FAB_STAGE_COUNT]; i++) {
        const struct fab_plan_op *op = &plan->ops[i];
        if (op->attr_id == FAB_ATTR_SL2VL || op->attr_id == FAB_ATTR_VLARB)
            fab_plan_observed_forget_vls(o, in->fabric, op->node);
    }
}

static void forget_all(struct fab_observed *o)
{
    free(o->vls.port);
    free(o->vls.arb);
    o->vls = (struct fab_observed_vls){0};
}

/* Finds the tables `arb` in held->arb[], or adds them. Sets *ret to the index + 1, or to 0 if this
 * number does not fit into 16 bits. Returns NOMEM. */
static int number_of(struct fab_observed_vls *held, const struct fab_arb *arb, uint16_t *ret)
{
    size_t i = 0;
    while (i < held->arbs && memcmp(&held->arb[i], arb, sizeof(*arb)) != 0)
        i++;
    if (i == held->arb_room) {
        struct fab_arb *more = fab_base_grow(held->arb, sizeof(*more), i + 1, &held->arb_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        held->arb = more;
    }
    if (i == held->arbs)
        held->arb[held->arbs++] = *arb;
    *ret = i < UINT16_MAX ? (uint16_t)(i + 1) : 0;
    return FAB_OK;
}

/* Empties held->arb[] if it has ARBS_MANY elements or more, because ports have probably ceased to
 * use most of them. The VL arbitration tables of all ports then count as unknown. */
static void tidy_arbs(struct fab_observed_vls *held)
{
    if (held->arbs < ARBS_MANY)
        return;
    held->arbs = 0;
    for (uint32_t port = 0; port < held->ports; port++)
        held->port[port].arbitrated = 0;
}

static int note_port(const struct fab_plan_input *in, uint32_t port, struct fab_observed_vls *held)
{
    struct fab_arb arb;
    held->port[port] = wanted(in, port);
    if (!has_sl2vl(in->fabric, port))
        held->port[port].vls = 0; /* the plan had no writes of this port's SL-to-VL tables */
    if (!fab_target_arb(in->fabric, in->policy, &in->target->vls, port, in->book, &arb))
        return FAB_OK;
    return number_of(held, &arb, &held->port[port].arbitrated);
}

static bool same_mapping(const struct fab_plan_input *in, const struct fab_observed_vls *held)
{
    return memcmp(held->vl, in->target->vls.vl, sizeof(held->vl)) == 0;
}

static int note_ports(const struct fab_plan_input *in, struct fab_observed_vls *held)
{
    bool same = same_mapping(in, held);
    int ret = FAB_OK;
    for (uint32_t port = 0; port < in->fabric->port_count && ret == FAB_OK; port++) {
        if (is_live(in->fabric, port))
            ret = note_port(in, port, held);
        else if (!same)
            held->port[port] = (struct fab_observed_vl_port){0};
    }
    memcpy(held->vl, in->target->vls.vl, sizeof(held->vl));
    return ret;
}

int fab_plan_vls_done(const struct fab_plan_input *in, struct fab_observed *o)
{
    const struct fab_fabric *f = in->fabric;
    struct fab_observed_vls *held = &o->vls;
    if (!fab_target_vls_multiple(&in->target->vls) || held->ports != f->port_count)
        forget_all(o);
    if (!fab_target_vls_multiple(&in->target->vls))
        return FAB_OK;
    if (held->port == NULL)
        held->port = calloc((size_t)f->port_count + 1, sizeof(*held->port));
    if (held->port == NULL)
        return FAB_E_NOMEM;
    held->ports = f->port_count;
    tidy_arbs(held);
    struct fab_arb_cache book = {.count = 0};
    struct fab_plan_input mine = *in;
    mine.book = &book;
    int ret = note_ports(&mine, held);
    fab_target_arb_cache_fini(&book);
    if (ret != FAB_OK)
        forget_all(o);
    return ret;
}

int fab_plan_vls_done_at(const struct fab_plan_input *in, struct fab_observed *o, uint32_t node)
{
    const struct fab_fabric *f = in->fabric;
    const struct fab_node *n = &f->nodes[node];
    struct fab_observed_vls *held = &o->vls;
    struct fab_arb_cache book = {.count = 0};
    struct fab_plan_input mine = *in;
    int ret = FAB_OK;
    if (!fab_target_vls_multiple(&in->target->vls) || held->port == NULL ||
        held->ports != f->port_count || !same_mapping(in, held))
        return FAB_OK;
    mine.book = &book;
    for (uint32_t port = n->first_port; port <= n->first_port + n->num_ports && ret == FAB_OK;
         port++)
        if (is_live(f, port))
            ret = note_port(&mine, port, held);
    fab_target_arb_cache_fini(&book);
    if (ret != FAB_OK)
        fab_plan_observed_forget_vls(o, f, node);
    return ret;
}
