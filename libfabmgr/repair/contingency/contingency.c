/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes contingencies, and keeps a collection of them. A contingency describes the failure of one
 * link or switch, and may hold the repair plan for it. The maker owns all its data, so it may run
 * on any thread. The plans of a collection are valid only for one state of one repair: after any
 * commit, the collection returns no plans. */
#include "libfabmgr/repair/contingency/contingency.h"

#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define BLOCK_OVERHEAD 16 /* approximate overhead of one malloc() in bytes */

struct fab_repair_contingency_maker {
    struct fab_repair *r;
    struct fab_lft lft;
    struct fab_repair_load load;
    uint32_t port, sw; /* where the search for the next case begins: at this port id, and after all
                          links at this switch */
    uint32_t cases;
};

/* ---- the maker ------------------------------------------------------------------------------- */

static bool is_living(const struct fab_repair *r, uint32_t port)
{
    return r->network->peer_sw[port] != FAB_NONE && !fab_repair_was_dead(r, port);
}

static bool is_case(const struct fab_repair *r, uint32_t port)
{
    return is_living(r, port) && port < fab_repair_peer_port(r->network, port);
}

static uint32_t count_cases(const struct fab_repair *r)
{
    uint32_t cases = 0;
    for (uint32_t port = 0; port < r->network->ports; port++)
        cases += is_case(r, port);
    for (uint32_t sw = 0; sw < r->network->n; sw++)
        cases += r->network->degree[sw] > 0;
    return cases;
}

int fab_repair_contingency_begin(const struct fab_repair *r,
                                 struct fab_repair_contingency_maker **ret)
{
    struct fab_repair_contingency_maker *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return FAB_E_NOMEM;
    int status = fab_repair_clone(r, &m->r);
    if (status == FAB_OK)
        status = fab_repair_load_init(&m->load, r);
    if (status == FAB_OK) {
        m->cases = count_cases(m->r);
        *ret = m;
    } else {
        fab_repair_contingency_end(m);
    }
    return status;
}

void fab_repair_contingency_end(struct fab_repair_contingency_maker *m)
{
    if (m == NULL)
        return;
    fab_repair_free(m->r);
    fab_repair_load_fini(&m->load);
    fab_target_lft_fini(&m->lft);
    free(m);
}

uint32_t fab_repair_contingency_cases(const struct fab_repair_contingency_maker *m)
{
    return m->cases;
}

size_t fab_repair_contingency_memory(const struct fab_repair_contingency_maker *m)
{
    const struct fab_repair_load *l = &m->load;
    size_t a_port = sizeof(*l->load) + sizeof(*l->change) + sizeof(*l->order);
    return sizeof(*m) + a_port * m->r->network->ports + l->mark_room * sizeof(*l->marked) +
           fab_repair_memory(m->r) - fab_repair_network_memory(m->r->network);
}

void fab_repair_contingency_set_tables(struct fab_repair_contingency_maker *m,
                                       const struct fab_lft *lft)
{
    struct fab_lft same = fab_target_lft_share(lft);
    fab_target_lft_fini(&m->lft);
    m->lft = same;
}

bool fab_repair_contingency_prepare(struct fab_repair_contingency_maker *m)
{
    return fab_repair_load_count(&m->load, m->r, &m->lft);
}

uint64_t fab_repair_contingency_load(const struct fab_repair_contingency_maker *m)
{
    return m->load.channels > 0 ? m->load.load[m->load.order[0]] : 0;
}

/* ---- one case -------------------------------------------------------------------------------- */

static bool choose_case(struct fab_repair_contingency_maker *m, struct fab_repair_contingency *ret)
{
    const struct fab_repair_network *b = m->r->network;
    while (m->port < b->ports && !is_case(m->r, m->port))
        m->port++;
    if (m->port < b->ports) {
        uint32_t port = m->port++;
        *ret = (struct fab_repair_contingency){.id = port, .peer = fab_repair_peer_port(b, port)};
        return true;
    }
    while (m->sw < b->n && b->degree[m->sw] == 0)
        m->sw++;
    if (m->sw == b->n)
        return false;
    *ret = (struct fab_repair_contingency){.is_switch = true, .id = m->sw++, .peer = FAB_NONE};
    return true;
}

/* Lists all links that are dead in the case `c`: the links that were dead at the last commit, and
 * the links that fail in this case. The caller frees *ret. */
static int list_dead(const struct fab_repair *r, const struct fab_repair_contingency *c,
                     uint32_t **ret, size_t *ret_count)
{
    const struct fab_repair_network *b = r->network;
    uint32_t first = c->is_switch ? b->first[c->id] + 1 : c->id;
    uint32_t end = c->is_switch ? b->first[c->id + 1] : c->id + 1;
    uint32_t *dead = fab_base_alloc_array(r->deads + end - first, sizeof(*dead));
    if (dead == NULL)
        return FAB_E_NOMEM;
    memcpy(dead, r->dead, r->deads * sizeof(*dead));
    for (uint32_t port = first; port < end; port++)
        dead[r->deads + port - first] = port;
    *ret = dead;
    *ret_count = r->deads + end - first;
    return FAB_OK;
}

/* Finds the component with the most endports, and counts the endports and switches outside it as
 * lost. */
static int count_lost(struct fab_repair *r, const struct fab_repair_delta *d,
                      struct fab_repair_contingency *c)
{
    const struct fab_repair_network *b = r->network;
    struct {
        uint32_t ends, switches;
    } *of = calloc((size_t)b->n + 1, sizeof(*of)), all = {0};
    uint32_t most = 0;
    if (of == NULL)
        return FAB_E_NOMEM;
    fab_repair_apply_dead(r, d);
    fab_repair_find_components(r);
    fab_repair_undo_dead(r, d);
    for (uint32_t sw = 0; sw < b->n; sw++) {
        uint32_t island = r->component[sw];
        of[island].ends += b->attached[sw];
        of[island].switches++;
        all.ends += b->attached[sw];
        all.switches++;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        bool more = of[i].ends > of[most].ends ||
                    (of[i].ends == of[most].ends && of[i].switches > of[most].switches);
        most = more ? i : most;
    }
    c->lost_ends = all.ends - of[most].ends;
    c->lost_switches = all.switches - of[most].switches;
    free(of);
    return FAB_OK;
}

static void count_writes(const struct fab_repair_delta *d, struct fab_repair_contingency *c)
{
    c->entries = (uint32_t)d->changes;
    c->blocks = (uint32_t)d->blocks;
    c->steps = d->steps;
    for (size_t i = 0; i < d->changes; i++)
        c->switches += i == 0 || d->change[d->by_write[i]].sw != d->change[d->by_write[i - 1]].sw;
}

static int describe(struct fab_repair_contingency_maker *m, struct fab_repair_delta *d, bool keep,
                    struct fab_repair_contingency *c)
{
    struct fab_repair_change at;
    int status = fab_repair_prove(m->r, &m->lft, d, &at);
    if (status == FAB_OK)
        status = fab_repair_order(m->r, &m->lft, d);
    if (status == FAB_OK)
        status = fab_repair_load_after(&m->load, m->r, &m->lft, d, &c->load, &c->busiest);
    if (status == FAB_OK)
        status = count_lost(m->r, d, c);
    if (status != FAB_OK)
        return status;
    count_writes(d, c);
    return keep ? fab_repair_encode(d, &c->plan, &c->plan_len) : FAB_OK;
}

int fab_repair_contingency_next(struct fab_repair_contingency_maker *m, bool keep,
                                struct fab_repair_contingency *ret)
{
    struct fab_repair_contingency c;
    struct fab_repair_delta d = {0};
    uint32_t *dead = NULL;
    size_t count = 0;
    char why[200];
    if (!choose_case(m, &c))
        return FAB_E_NOT_FOUND;
    int status = list_dead(m->r, &c, &dead, &count);
    if (status == FAB_OK)
        status = fab_repair_plan(m->r, &m->lft, dead, count, &d, why, sizeof(why));
    if (status == FAB_OK)
        status = describe(m, &d, keep, &c);
    if (status == FAB_E_UNSUPPORTED) {
        c.outcome = FAB_CONTINGENCY_ENGINE;
        status = FAB_OK;
    }
    fab_repair_delta_fini(&d);
    free(dead);
    if (status == FAB_OK)
        *ret = c;
    return status;
}

/* ---- the collection -------------------------------------------------------------------------- */

void fab_repair_contingencies_init(struct fab_repair_contingencies *c, const struct fab_repair *r)
{
    *c = (struct fab_repair_contingencies){
        .network = fab_repair_network_ref(r->network), .commits = r->commits, .memory = sizeof(*c)};
}

bool fab_repair_contingencies_valid(const struct fab_repair_contingencies *c,
                                    const struct fab_repair *r)
{
    return c->network == r->network && c->commits == r->commits;
}

void fab_repair_contingencies_fini(struct fab_repair_contingencies *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->row[i].plan);
    free(c->row);
    fab_repair_network_unref(c->network);
    *c = (struct fab_repair_contingencies){0};
}

int fab_repair_contingencies_add(struct fab_repair_contingencies *all,
                                 const struct fab_repair_contingency *c)
{
    if (all->count == all->room) {
        size_t was = all->room;
        void *more = fab_base_grow(all->row, sizeof(*all->row), all->count + 1, &all->room);
        if (more == NULL) {
            free(c->plan);
            return FAB_E_NOMEM;
        }
        all->row = more;
        all->memory += (all->room - was) * sizeof(*all->row);
    }
    all->row[all->count++] = *c;
    all->switches += c->is_switch;
    all->plans += c->plan != NULL;
    all->memory += c->plan != NULL ? c->plan_len + BLOCK_OVERHEAD : 0;
    return FAB_OK;
}

static const struct fab_repair_contingency *find(const struct fab_repair_contingency *row,
                                                 size_t count, uint32_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (row[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && row[low].id == id ? &row[low] : NULL;
}

const struct fab_repair_contingency *
fab_repair_contingencies_link(const struct fab_repair_contingencies *c, uint32_t port)
{
    const struct fab_repair_network *b = c->network;
    if (b == NULL || port >= b->ports || b->peer_sw[port] == FAB_NONE)
        return NULL;
    uint32_t far = fab_repair_peer_port(b, port);
    return find(c->row, c->count - c->switches, port < far ? port : far);
}

const struct fab_repair_contingency *
fab_repair_contingencies_switch(const struct fab_repair_contingencies *c, uint32_t sw)
{
    return find(c->row + (c->count - c->switches), c->switches, sw);
}

/* ---- finding a stored plan ------------------------------------------------------------------- */

/* Marks both ports of each link of dead[] in r->is_dead. Returns the number of ports marked. */
static size_t mark_dead(struct fab_repair *r, const uint32_t *dead, size_t count)
{
    const struct fab_repair_network *b = r->network;
    size_t marked = 0;
    for (size_t i = 0; i < count; i++) {
        if (dead[i] >= b->ports || b->peer_sw[dead[i]] == FAB_NONE ||
            fab_base_bits_get(r->is_dead, dead[i]))
            continue;
        fab_base_bits_set(r->is_dead, dead[i]);
        fab_base_bits_set(r->is_dead, fab_repair_peer_port(b, dead[i]));
        marked += 2;
    }
    return marked;
}

static void unmark_dead(struct fab_repair *r, const uint32_t *dead, size_t count)
{
    const struct fab_repair_network *b = r->network;
    for (size_t i = 0; i < count; i++) {
        if (dead[i] >= b->ports || b->peer_sw[dead[i]] == FAB_NONE)
            continue;
        fab_base_bits_clear(r->is_dead, dead[i]);
        fab_base_bits_clear(r->is_dead, fab_repair_peer_port(b, dead[i]));
    }
}

/* Returns the contingency of switch `sw` if the newly dead links are exactly its living links, else
 * NULL. newly_dead: the number of ports of newly dead links. */
static const struct fab_repair_contingency *row_of_switch(const struct fab_repair_contingencies *c,
                                                          const struct fab_repair *r, uint32_t sw,
                                                          size_t newly_dead)
{
    const struct fab_repair_network *b = r->network;
    size_t living = 0;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (!is_living(r, port))
            continue;
        if (!fab_base_bits_get(r->is_dead, port))
            return NULL;
        living += 2;
    }
    return living == newly_dead ? fab_repair_contingencies_switch(c, sw) : NULL;
}

/* Returns the contingency of the link or switch whose failure explains exactly the newly dead
 * links. A link is newly dead if it is marked dead and was alive at the last commit. NULL: there is
 * no such contingency. */
static const struct fab_repair_contingency *row_of(const struct fab_repair_contingencies *c,
                                                   const struct fab_repair *r, const uint32_t *dead,
                                                   size_t count, size_t marked)
{
    const struct fab_repair_network *b = r->network;
    uint32_t port = FAB_NONE;
    for (size_t i = 0; i < r->deads; i++) {
        if (!fab_base_bits_get(r->is_dead, r->dead[i]))
            return NULL; /* a link came back; contingencies only cover failures */
    }
    for (size_t i = 0; i < count && port == FAB_NONE; i++)
        port = dead[i] < b->ports && is_living(r, dead[i]) ? dead[i] : FAB_NONE;
    if (port == FAB_NONE)
        return NULL;
    if (marked - r->deads == 2)
        return fab_repair_contingencies_link(c, port);
    const struct fab_repair_contingency *near =
        row_of_switch(c, r, fab_repair_switch_of(b, port), marked - r->deads);
    return near != NULL ? near : row_of_switch(c, r, b->peer_sw[port], marked - r->deads);
}

/* Stores all ports marked in r->is_dead in d->dead. marked: their number. */
static int list_marked(struct fab_repair *r, struct fab_repair_delta *d, size_t marked)
{
    d->dead = fab_base_alloc_array(marked, sizeof(*d->dead));
    if (d->dead == NULL)
        return FAB_E_NOMEM;
    for (size_t word = 0; word < fab_base_bits_words(r->network->ports); word++) {
        for (uint64_t bits = r->is_dead[word]; bits != 0; bits &= bits - 1)
            d->dead[d->deads++] = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
    }
    return fab_repair_relabel_find(r, d);
}

int fab_repair_contingencies_find(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                  const struct fab_lft *lft, const uint32_t *dead, size_t count,
                                  struct fab_repair_delta *ret)
{
    struct fab_repair_delta d = {0}, with_dead = {0};
    if (!fab_repair_contingencies_valid(c, r) || c->plans == 0)
        return FAB_E_NOT_FOUND;
    size_t marked = mark_dead(r, dead, count);
    const struct fab_repair_contingency *row = row_of(c, r, dead, count, marked);
    int status = row != NULL && row->plan != NULL ? FAB_OK : FAB_E_NOT_FOUND;
    if (status == FAB_OK)
        status = list_marked(r, &with_dead, marked);
    unmark_dead(r, dead, count);
    if (status == FAB_OK)
        status = fab_repair_decode(r, lft, row->plan, &d);
    if (status == FAB_OK) {
        d.dead = with_dead.dead;
        d.deads = with_dead.deads;
        d.relabel = with_dead.relabel;
        d.relabels = with_dead.relabels;
        *ret = d;
    } else {
        fab_repair_delta_fini(&with_dead);
    }
    return status;
}
