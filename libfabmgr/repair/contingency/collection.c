/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the contingencies of a network in a collection, with one element (row) for each link and
 * each switch. Also finds the stored plan that repairs a given set of dead links. */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/maker.h"

#define BLOCK_OVERHEAD 16 /* approximate overhead of one malloc() in bytes */

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_link_row(const struct fab_repair_network *b, uint32_t port)
{
    return b->peer_sw[port] != FAB_NONE && port < fab_repair_peer_port(b, port);
}

int fab_repair_contingency_list_rows(const struct fab_repair_network *b, uint32_t **ret_id,
                                     size_t *ret_rows, size_t *ret_links)
{
    size_t rows = 0, links = 0;
    for (uint32_t port = 0; port < b->ports; port++)
        links += is_link_row(b, port);
    uint32_t *id = fab_base_alloc_array(links + b->n, sizeof(*id));
    if (id == NULL)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < b->ports; port++) {
        if (is_link_row(b, port))
            id[rows++] = port;
    }
    for (uint32_t sw = 0; sw < b->n; sw++) {
        if (b->degree[sw] > 0)
            id[rows++] = sw;
    }
    *ret_id = id;
    *ret_rows = rows;
    *ret_links = links;
    return FAB_OK;
}

size_t fab_repair_contingency_count_cases(const struct fab_repair *r, const uint32_t *id,
                                          size_t rows, size_t links)
{
    size_t cases = rows;
    for (size_t i = 0; r->deads > 0 && i < links; i++)
        cases -= fab_repair_was_dead(r, id[i]);
    return cases;
}

int fab_repair_contingencies_init(struct fab_repair_contingencies *c, const struct fab_repair *r)
{
    struct fab_repair_contingencies all = {.commits = r->commits};
    uint32_t *id = NULL;
    int status = fab_repair_contingency_list_rows(r->network, &id, &all.rows, &all.links);
    if (status == FAB_OK)
        all.row = calloc(all.rows + 1, sizeof(*all.row));
    if (all.row == NULL) {
        free(id);
        return FAB_E_NOMEM;
    }
    for (size_t i = 0; i < all.rows; i++)
        all.row[i].id = id[i];
    all.cases = fab_repair_contingency_count_cases(r, id, all.rows, all.links);
    all.memory = sizeof(all) + all.rows * sizeof(*all.row);
    all.network = fab_repair_network_ref(r->network);
    free(id);
    *c = all;
    return FAB_OK;
}

bool fab_repair_contingencies_valid(const struct fab_repair_contingencies *c,
                                    const struct fab_repair *r)
{
    return c->network == r->network;
}

bool fab_repair_contingencies_follows(const struct fab_repair_contingencies *c,
                                      const struct fab_repair *r)
{
    return c->network == r->network && c->commits == r->commits;
}

void fab_repair_contingencies_fini(struct fab_repair_contingencies *c)
{
    for (size_t i = 0; i < c->rows; i++)
        fab_repair_stored_plan_unref(c->row[i].plan);
    free(c->row);
    fab_repair_network_unref(c->network);
    *c = (struct fab_repair_contingencies){0};
}

void fab_repair_contingencies_evict(struct fab_repair_contingencies *c, uint32_t row)
{
    struct fab_repair_contingency *x = &c->row[row];
    if (x->plan == NULL)
        return;
    c->memory -= x->plan_len + sizeof(*x->plan) + BLOCK_OVERHEAD;
    c->plans--;
    fab_repair_stored_plan_unref(x->plan);
    x->plan = NULL;
}

static void forget(struct fab_repair_contingencies *c, uint32_t row)
{
    fab_repair_contingencies_evict(c, row);
    if (!c->row[row].known)
        return;
    c->count--;
    c->current -= c->row[row].commits == c->commits;
    c->row[row] = (struct fab_repair_contingency){.id = c->row[row].id};
}

void fab_repair_contingencies_add(struct fab_repair_contingencies *all,
                                  const struct fab_repair_contingency *c)
{
    forget(all, c->row);
    all->row[c->row] = *c;
    all->count++;
    all->current += c->commits == all->commits;
    all->plans += c->plan != NULL;
    all->memory += c->plan != NULL ? c->plan_len + sizeof(*c->plan) + BLOCK_OVERHEAD : 0;
}

void fab_repair_contingencies_confirm(struct fab_repair_contingencies *c, uint32_t row)
{
    c->current += c->row[row].known && c->row[row].commits != c->commits;
    c->row[row].commits = c->commits;
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* Returns the index of the element of row[] for the link or switch `id`; FAB_NONE: there is none.
 * Searches the elements from `first` up to, but not including, `end`. */
static uint32_t find_row(const struct fab_repair_contingencies *c, size_t first, size_t end,
                         uint32_t id)
{
    size_t low = first, high = end;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->row[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < end && c->row[low].id == id ? (uint32_t)low : FAB_NONE;
}

static uint32_t row_of_link(const struct fab_repair_contingencies *c, uint32_t port)
{
    const struct fab_repair_network *b = c->network;
    if (b == NULL || port >= b->ports || b->peer_sw[port] == FAB_NONE)
        return FAB_NONE;
    uint32_t far = fab_repair_peer_port(b, port);
    return find_row(c, 0, c->links, port < far ? port : far);
}

const struct fab_repair_contingency *
fab_repair_contingencies_link(const struct fab_repair_contingencies *c, uint32_t port)
{
    uint32_t row = row_of_link(c, port);
    return row != FAB_NONE && c->row[row].known ? &c->row[row] : NULL;
}

const struct fab_repair_contingency *
fab_repair_contingencies_switch(const struct fab_repair_contingencies *c, uint32_t sw)
{
    uint32_t row = find_row(c, c->links, c->rows, sw);
    return row != FAB_NONE && c->row[row].known ? &c->row[row] : NULL;
}

void fab_repair_contingencies_follow(struct fab_repair_contingencies *c, const struct fab_repair *r)
{
    for (size_t i = 0; i < r->deads; i++) {
        uint32_t row = row_of_link(c, r->dead[i]);
        if (row != FAB_NONE)
            forget(c, row);
    }
    if (c->commits != r->commits)
        c->current = 0;
    c->commits = r->commits;
    c->cases = c->rows - r->deads / 2;
}

/* ---- keeping plans when the fabric changes --------------------------------------------------- */

/* Returns the index in c->row[] of the link or switch that all->row[row] describes; FAB_NONE: `c`
 * does not have it. */
static uint32_t same_row(const struct fab_repair_contingencies *c,
                         const struct fab_repair_contingencies *all, size_t row)
{
    uint32_t id = all->row[row].id;
    if (row >= all->links)
        return find_row(c, c->links, c->rows, id);
    return c->network->peer_sw[id] == all->network->peer_sw[id] ? find_row(c, 0, c->links, id)
                                                                : FAB_NONE;
}

static void move_row(struct fab_repair_contingencies *c, uint32_t from,
                     struct fab_repair_contingencies *all, size_t to)
{
    struct fab_repair_contingency one = c->row[from];
    c->row[from].plan = NULL;
    one.row = (uint32_t)to;
    if (one.known)
        fab_repair_contingencies_add(all, &one);
}

int fab_repair_contingencies_adopt(struct fab_repair_contingencies *c, struct fab_repair *r)
{
    struct fab_repair_contingencies all;
    if (c->network == NULL || !fab_repair_networks_agree(c->network, r->network))
        return FAB_E_NOT_FOUND;
    int status = fab_repair_contingencies_init(&all, r);
    if (status != FAB_OK)
        return status;
    if (r->commits <= c->commits)
        r->commits = c->commits + 1;
    all.commits = c->commits;
    for (size_t i = 0; i < all.rows; i++) {
        uint32_t from = same_row(c, &all, i);
        if (from != FAB_NONE)
            move_row(c, from, &all, i);
    }
    fab_repair_contingencies_fini(c);
    *c = all;
    return FAB_OK;
}

/* ---- finding a stored plan ------------------------------------------------------------------- */

/* Marks the links of dead[] as dead in r->is_dead, at both their ports. Returns the number of bits
 * that it has set. */
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

/* Returns the contingency of the failure of switch `sw`, if the links that died are exactly the
 * links that this switch still had; otherwise NULL. newly_dead: number of ports at both ends of the
 * links that died. */
static const struct fab_repair_contingency *row_of_switch(const struct fab_repair_contingencies *c,
                                                          const struct fab_repair *r, uint32_t sw,
                                                          size_t newly_dead)
{
    const struct fab_repair_network *b = r->network;
    size_t living = 0;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (!fab_repair_is_living(r, port))
            continue;
        if (!fab_base_bits_get(r->is_dead, port))
            return NULL;
        living += 2;
    }
    return living == newly_dead ? fab_repair_contingencies_switch(c, sw) : NULL;
}

/* Returns the contingency of the one link or switch whose failure explains all newly dead links. A
 * link is newly dead if it is marked dead in r->is_dead, and was not dead at the last
 * fab_repair_commit. NULL: there is no such contingency. */
static const struct fab_repair_contingency *row_of(const struct fab_repair_contingencies *c,
                                                   const struct fab_repair *r, const uint32_t *dead,
                                                   size_t count, size_t marked)
{
    const struct fab_repair_network *b = r->network;
    uint32_t port = FAB_NONE;
    for (size_t i = 0; i < r->deads; i++) {
        if (!fab_base_bits_get(r->is_dead, r->dead[i]))
            /* a link came back; contingencies only cover failures */
            return NULL;
    }
    for (size_t i = 0; i < count && port == FAB_NONE; i++)
        port = dead[i] < b->ports && fab_repair_is_living(r, dead[i]) ? dead[i] : FAB_NONE;
    if (port == FAB_NONE)
        return NULL;
    if (marked - r->deads == 2)
        return fab_repair_contingencies_link(c, port);
    const struct fab_repair_contingency *near =
        row_of_switch(c, r, fab_repair_switch_of(b, port), marked - r->deads);
    return near != NULL ? near : row_of_switch(c, r, b->peer_sw[port], marked - r->deads);
}

/* Fills d->dead with the ids of all ports whose bits are set in r->is_dead, and d->relabel with the
 * switches that are relabelled while these links are dead. marked: number of bits that are set.
 * Returns OK, NOMEM, or UNSUPPORTED (fab_repair_relabel_find). */
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

struct fab_repair_stored_plan *
fab_repair_contingencies_lookup(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                const uint32_t *dead, size_t count, uint64_t *ret_commits)
{
    if (!fab_repair_contingencies_valid(c, r) || c->plans == 0)
        return NULL;
    size_t marked = mark_dead(r, dead, count);
    const struct fab_repair_contingency *row = row_of(c, r, dead, count, marked);
    unmark_dead(r, dead, count);
    if (row == NULL || row->plan == NULL)
        return NULL;
    *ret_commits = row->commits;
    return fab_repair_stored_plan_ref(row->plan);
}

int fab_repair_stored_plan_take(const struct fab_repair_stored_plan *p, uint64_t commits,
                                struct fab_repair *r, const struct fab_lft *lft,
                                const uint32_t *dead, size_t count, struct fab_repair_delta *ret)
{
    struct fab_repair_delta d = {0}, with_dead = {0};
    size_t marked = mark_dead(r, dead, count);
    int status = list_marked(r, &with_dead, marked);
    unmark_dead(r, dead, count);
    if (status == FAB_OK)
        status = fab_repair_decode(r, lft, p->bytes, &d);
    if (status != FAB_OK) {
        fab_repair_delta_fini(&with_dead);
        return status;
    }
    d.dead = with_dead.dead;
    d.deads = with_dead.deads;
    d.relabel = with_dead.relabel;
    d.relabels = with_dead.relabels;
    d.detours = with_dead.detours;
    if (commits != r->commits)
        status = fab_repair_stored_plan_check(r, lft, p, &d);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}

int fab_repair_contingencies_find(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                  const struct fab_lft *lft, const uint32_t *dead, size_t count,
                                  struct fab_repair_delta *ret)
{
    uint64_t commits;
    struct fab_repair_stored_plan *p = fab_repair_contingencies_lookup(c, r, dead, count, &commits);
    if (p == NULL)
        return FAB_E_NOT_FOUND;
    int status = fab_repair_stored_plan_take(p, commits, r, lft, dead, count, ret);
    fab_repair_stored_plan_unref(p);
    return status;
}
