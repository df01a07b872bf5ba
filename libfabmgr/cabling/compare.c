/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/cabling/compare.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"
#include "libfabmgr/cabling/name.h"

const char *fab_cabling_kind_name(enum fab_cabling_kind kind)
{
    static const char *const names[FAB_CABLING_KINDS] = {
        [FAB_CABLING_ABSENT] = "absent",
        [FAB_CABLING_MISSING] = "missing",
        [FAB_CABLING_SWAPPED] = "swapped",
        [FAB_CABLING_WRONG_PORT] = "wrong-port",
        [FAB_CABLING_WRONG_HOST] = "wrong-host",
        [FAB_CABLING_WRONG_RAIL] = "wrong-rail",
        [FAB_CABLING_WRONG_PLANE] = "wrong-plane",
        [FAB_CABLING_EXTRA] = "extra",
        [FAB_CABLING_WRONG_WIDTH] = "wrong-width",
        [FAB_CABLING_WRONG_SPEED] = "wrong-speed",
        [FAB_CABLING_DUPLICATE_NAME] = "duplicate-name",
    };
    return names[kind];
}

/* ---- both matchings -------------------------------------------------------------------------- */

static int make_matchings(struct fab_cabling_check *c)
{
    size_t size = c->port_count * sizeof(uint32_t);
    c->planned = fab_base_alloc_array(c->port_count, sizeof *c->planned);
    c->actual = fab_base_alloc_array(c->port_count, sizeof *c->actual);
    c->link = fab_base_alloc_array(c->port_count, sizeof *c->link);
    if (c->planned == NULL || c->actual == NULL || c->link == NULL)
        return FAB_E_NOMEM;
    memset(c->planned, 0xff, size); /* sets all elements to FAB_NONE */
    memset(c->actual, 0xff, size);
    memset(c->link, 0xff, size);
    return FAB_OK;
}

static int set_planned(struct fab_cabling_check *c)
{
    uint32_t *site = fab_base_alloc_array(c->plan->node_count, sizeof *site);
    if (site == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->site_count; i++)
        if (c->sites[i].planned != FAB_NONE)
            site[c->sites[i].planned] = i;
    for (uint32_t i = 0; i < c->plan->link_count; i++) {
        const struct fab_cabling_link *l = &c->plan->links[i];
        uint32_t a = c->sites[site[l->node[0]]].first_port + l->port[0];
        uint32_t b = c->sites[site[l->node[1]]].first_port + l->port[1];
        c->planned[a] = b;
        c->planned[b] = a;
        c->link[a] = c->link[b] = i;
    }
    free(site);
    return FAB_OK;
}

static uint32_t port_of(const struct fab_cabling_check *c, const struct fab_port *p)
{
    return c->sites[p->node].first_port + p->num;
}

/* The kinds of links that the plan has. Cables of other kinds are not compared with the plan. */
struct scope {
    /* hosts: the plan has links of hosts. switches: the plan has links between switches. */
    bool hosts, switches;
};

static struct scope find_scope(const struct fab_cabling_check *c)
{
    struct scope s = {false, false};
    for (uint32_t p = 0; p < c->port_count; p++) {
        if (c->planned[p] == FAB_NONE)
            continue;
        bool both = fab_cabling_site_of(c, p)->is_switch &&
                    fab_cabling_site_of(c, c->planned[p])->is_switch;
        *(both ? &s.switches : &s.hosts) = true;
    }
    return s;
}

/* Returns true if the plan does not cover a cable between the ports a and b. Neither of the two
 * ports may have a planned link. */
static bool is_outside(const struct fab_cabling_check *c, const struct scope *scope, uint32_t a,
                       uint32_t b)
{
    const struct fab_cabling_site *x = fab_cabling_site_of(c, a), *y = fab_cabling_site_of(c, b);
    if (c->fabric->nodes[c->port_site[a]].aggregation ||
        c->fabric->nodes[c->port_site[b]].aggregation)
        return true;
    if (!x->is_switch || !y->is_switch)
        return !scope->hosts;
    size_t len = fab_cabling_system_len(x->key);
    bool inside = x->key[len] == '/' && strncmp(x->key, y->key, len + 1) == 0;
    return !scope->switches || inside;
}

static void set_actual(struct fab_cabling_check *c)
{
    const struct scope scope = find_scope(c);
    for (uint32_t i = 0; i < c->fabric->port_count; i++) {
        const struct fab_port *p = fab_fabric_port(c->fabric, i);
        if (p->peer == FAB_NONE)
            continue;
        uint32_t a = port_of(c, p), b = port_of(c, fab_fabric_port(c->fabric, p->peer));
        if (c->planned[a] != FAB_NONE || c->planned[b] != FAB_NONE || !is_outside(c, &scope, a, b))
            c->actual[a] = b;
    }
}

/* ---- differences ----------------------------------------------------------------------------- */

int fab_cabling_add(struct fab_cabling_check *c, const struct fab_cabling_difference *d)
{
    if (c->difference_count == c->difference_room) {
        void *bigger =
            fab_base_grow(c->differences, sizeof *d, c->difference_count + 1, &c->difference_room);
        if (bigger == NULL)
            return FAB_E_NOMEM;
        c->differences = bigger;
    }
    c->differences[c->difference_count++] = *d;
    c->kinds[d->kind]++;
    return FAB_OK;
}

int fab_cabling_add_site(struct fab_cabling_check *c, enum fab_cabling_kind kind, uint32_t site,
                         uint32_t count, uint32_t nodes)
{
    uint32_t port = c->sites[site].first_port;
    return fab_cabling_add(c, &(struct fab_cabling_difference){.kind = kind,
                                                               .a = port,
                                                               .b = port,
                                                               .planned_a = FAB_NONE,
                                                               .planned_b = FAB_NONE,
                                                               .count = count,
                                                               .nodes = nodes,
                                                               .group = FAB_NONE});
}

unsigned fab_cabling_precedence(const struct fab_cabling_check *c, uint32_t port)
{
    const struct fab_cabling_site *s = fab_cabling_site_of(c, port);
    if (!s->is_switch)
        return 2;
    for (unsigned k = 1; k < s->ports; k++) {
        uint32_t peer = c->planned[s->first_port + k];
        if (peer != FAB_NONE && !fab_cabling_site_of(c, peer)->is_switch)
            return 0;
    }
    return 1;
}

/* Adds a difference about a cable or planned link. First puts its two ports into the order in which
 * messages name them. */
static int add_link(struct fab_cabling_check *c, struct fab_cabling_difference d)
{
    unsigned a = fab_cabling_precedence(c, d.a), b = fab_cabling_precedence(c, d.b);
    if (b < a || (b == a && fab_cabling_port_order(c, d.b, d.a) < 0))
        d = (struct fab_cabling_difference){.kind = d.kind,
                                            .a = d.b,
                                            .b = d.a,
                                            .planned_a = d.planned_b,
                                            .planned_b = d.planned_a,
                                            .planned_rate = d.planned_rate,
                                            .rate = d.rate,
                                            .group = d.group};
    if (d.kind == FAB_CABLING_WRONG_PORT)
        d.kind = fab_cabling_classify(c, d.a, d.b);
    return fab_cabling_add(c, &d);
}

static int add_wrong_cables(struct fab_cabling_check *c)
{
    int rc = FAB_OK;
    for (uint32_t p = 0; p < c->port_count && rc == FAB_OK; p++) {
        uint32_t q = c->actual[p];
        if (q == FAB_NONE || q < p || c->planned[p] == q)
            continue;
        rc = add_link(c, (struct fab_cabling_difference){.kind = FAB_CABLING_WRONG_PORT,
                                                         .a = p,
                                                         .b = q,
                                                         .planned_a = c->planned[p],
                                                         .planned_b = c->planned[q],
                                                         .group = c->moves.group[p]});
    }
    return rc;
}

/* Returns true if the link belongs to a node or host that is reported as absent. The link itself is
 * then no difference, because no cable must be moved. */
static bool is_of_absent(const struct fab_cabling_check *c, uint32_t a, uint32_t b)
{
    return c->absent[c->port_site[a]] || c->absent[c->port_site[b]];
}

static int add_missing(struct fab_cabling_check *c)
{
    struct fab_cabling_moves *m = &c->moves;
    size_t kept = 0;
    int rc = FAB_OK;
    for (size_t i = 0; i < m->count && rc == FAB_OK; i++) {
        const struct fab_cabling_move *move = &m->moves[i];
        bool connects = move->step == FAB_CABLING_CONNECT;
        if (connects && is_of_absent(c, move->a, move->b))
            continue;
        if (connects)
            rc = add_link(c, (struct fab_cabling_difference){.kind = FAB_CABLING_MISSING,
                                                             .a = move->a,
                                                             .b = move->b,
                                                             .planned_a = FAB_NONE,
                                                             .planned_b = FAB_NONE,
                                                             .group = move->group});
        m->moves[kept++] = *move;
    }
    if (rc == FAB_OK)
        m->count = kept;
    return rc;
}

/* Compares the rate of a link with the planned rate. The cable must be connected as planned. */
static int check_rate(struct fab_cabling_check *c, uint32_t port)
{
    struct fab_cabling_difference d = {.a = port,
                                       .b = c->planned[port],
                                       .planned_a = FAB_NONE,
                                       .planned_b = FAB_NONE,
                                       .group = FAB_NONE,
                                       .planned_rate = c->plan->links[c->link[port]].rate};
    const struct fab_cabling_site *s = fab_cabling_site_of(c, port);
    uint32_t id = fab_fabric_port_id(c->fabric, s->observed, (uint8_t)(port - s->first_port));
    d.rate = fab_wire_link_modes(&fab_fabric_port(c->fabric, id)->info, FAB_LINK_ACTIVE);
    int rc = FAB_OK;
    /* the fabric does not show the rate of the link */
    if (d.rate.widths == 0 || d.rate.speeds == 0)
        return FAB_OK;
    if (d.planned_rate.widths != 0 && d.planned_rate.widths != d.rate.widths) {
        d.kind = FAB_CABLING_WRONG_WIDTH;
        rc = add_link(c, d);
    }
    if (rc == FAB_OK && d.planned_rate.speeds != 0 && d.planned_rate.speeds != d.rate.speeds) {
        d.kind = FAB_CABLING_WRONG_SPEED;
        rc = add_link(c, d);
    }
    return rc;
}

static int check_correct(struct fab_cabling_check *c)
{
    int rc = FAB_OK;
    for (uint32_t p = 0; p < c->port_count && rc == FAB_OK; p++) {
        if (c->planned[p] == FAB_NONE || c->planned[p] < p || c->planned[p] != c->actual[p])
            continue;
        c->correct++;
        rc = check_rate(c, p);
    }
    return rc;
}

/* ---- order ----------------------------------------------------------------------------------- */

int fab_cabling_port_order(const struct fab_cabling_check *c, uint32_t a, uint32_t b)
{
    const struct fab_cabling_site *x = fab_cabling_site_of(c, a), *y = fab_cabling_site_of(c, b);
    int order = strverscmp(x->rack, y->rack);
    if (order == 0)
        order = strverscmp(x->key, y->key);
    return order != 0 ? order : (a > b) - (a < b);
}

static int compare_differences(const void *x, const void *y, void *ctx)
{
    const struct fab_cabling_difference *a = x, *b = y;
    int order = fab_cabling_port_order(ctx, a->a, b->a);
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static uint32_t first_port(const struct fab_cabling_check *c, const struct fab_cabling_move *m)
{
    unsigned a = fab_cabling_precedence(c, m->a), b = fab_cabling_precedence(c, m->b);
    return b < a || (b == a && fab_cabling_port_order(c, m->b, m->a) < 0) ? m->b : m->a;
}

/* A group of moves: moves[first] to moves[end - 1]. */
struct batch {
    /* the port by which groups are sorted; it is one of the ports of the first move */
    uint32_t port;
    size_t first, end;
};

static int compare_batches(const void *x, const void *y, void *ctx)
{
    const struct batch *a = x, *b = y;
    int order = fab_cabling_port_order(ctx, a->port, b->port);
    return order != 0 ? order : (a->first > b->first) - (a->first < b->first);
}

/* Sorts the groups of moves by rack, switch and port of their first moves. */
static int sort_moves(struct fab_cabling_check *c)
{
    struct fab_cabling_moves *m = &c->moves;
    struct batch *batches = fab_base_alloc_array(m->count, sizeof *batches);
    struct fab_cabling_move *sorted = fab_base_alloc_array(m->count, sizeof *sorted);
    size_t count = 0, done = 0;
    if (batches == NULL || sorted == NULL) {
        free(batches);
        free(sorted);
        return FAB_E_NOMEM;
    }
    for (size_t i = 0, end; i < m->count; i = end) {
        for (end = i; end < m->count && m->moves[end].group == m->moves[i].group; end++)
            ;
        batches[count++] = (struct batch){first_port(c, &m->moves[i]), i, end};
    }
    if (count > 1)
        qsort_r(batches, count, sizeof *batches, compare_batches, c);
    for (size_t i = 0; i < count; i++)
        for (size_t k = batches[i].first; k < batches[i].end; k++)
            sorted[done++] = m->moves[k];
    free(batches);
    free(m->moves);
    m->moves = sorted;
    m->room = m->count;
    return FAB_OK;
}

/* ---- the whole comparison -------------------------------------------------------------------- */

/* Returns the distance of two ports, as struct fab_cabling_ports (moves.h) needs it. Ports of one
 * switch or host are nearest, then ports in one rack, then ports of two switches; all other pairs
 * are farthest. */
static unsigned distance(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_cabling_check *c = ctx;
    const struct fab_cabling_site *x = fab_cabling_site_of(c, a), *y = fab_cabling_site_of(c, b);
    if (fab_cabling_is_same_system(x->key, y->key))
        return 0;
    if (x->rack[0] != '\0' && strcmp(x->rack, y->rack) == 0)
        return 1;
    return x->is_switch && y->is_switch ? 2 : FAB_CABLING_FARTHEST;
}

static int find_moves(struct fab_cabling_check *c)
{
    const struct fab_cabling_ports ports = {.count = c->port_count,
                                            .planned = c->planned,
                                            .actual = c->actual,
                                            .distance = distance,
                                            .ctx = c};
    return fab_cabling_moves_find(&ports, &c->moves);
}

static int compare(struct fab_cabling_check *c)
{
    int (*const steps[])(struct fab_cabling_check *) = {fab_cabling_match, make_matchings,
                                                        set_planned};
    int (*const more[])(struct fab_cabling_check *) = {fab_cabling_find_rails,
                                                       find_moves,
                                                       add_wrong_cables,
                                                       fab_cabling_find_absent,
                                                       add_missing,
                                                       check_correct,
                                                       sort_moves,
                                                       fab_cabling_find_exchanges};
    int rc = FAB_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && rc == FAB_OK; i++)
        rc = steps[i](c);
    if (rc == FAB_OK)
        set_actual(c);
    for (size_t i = 0; i < sizeof more / sizeof *more && rc == FAB_OK; i++)
        rc = more[i](c);
    if (rc == FAB_OK && c->difference_count > 1)
        qsort_r(c->differences, c->difference_count, sizeof *c->differences, compare_differences,
                c);
    return rc;
}

int fab_cabling_compare(const struct fab_cabling_plan *plan, const struct fab_fabric *fabric,
                        struct fab_cabling_check **ret_check)
{
    struct fab_cabling_check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return FAB_E_NOMEM;
    c->plan = plan;
    c->fabric = fabric;
    int rc = compare(c);
    if (rc == FAB_OK)
        *ret_check = c;
    else
        fab_cabling_check_free(c);
    return rc;
}

void fab_cabling_check_free(struct fab_cabling_check *c)
{
    if (c == NULL)
        return;
    free(c->sites);
    free(c->port_site);
    free(c->planned);
    free(c->actual);
    free(c->link);
    free(c->rail);
    free(c->plane);
    free(c->by_name);
    free(c->absent);
    free(c->exchanges);
    free(c->differences);
    fab_cabling_moves_fini(&c->moves);
    fab_base_arena_fini(&c->arena);
    free(c);
}

bool fab_cabling_is_foreign(const struct fab_cabling_check *c)
{
    uint32_t planned = c->plan->node_count, observed = c->fabric->node_count;
    uint32_t fewer = planned < observed ? planned : observed;
    return 2 * (planned - c->matched[FAB_CABLING_UNMATCHED]) < fewer;
}
