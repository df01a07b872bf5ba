/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes contingencies. A contingency describes the failure of one link or switch, and may hold the
 * repair plan for it. The maker owns all data that it uses, so it may run on any thread. */
#include "libfabmgr/repair/contingency/contingency.h"

#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/maker.h"

/* ---- the maker ------------------------------------------------------------------------------- */

int fab_repair_contingency_begin(const struct fab_repair *r,
                                 struct fab_repair_contingency_maker **ret)
{
    struct fab_repair_contingency_maker *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return FAB_E_NOMEM;
    int status = fab_repair_clone(r, &m->r);
    if (status == FAB_OK)
        status = fab_repair_load_init(&m->load, r);
    if (status == FAB_OK)
        status = fab_repair_contingency_list_rows(r->network, &m->id, &m->rows, &m->links);
    if (status == FAB_OK) {
        m->cases = fab_repair_contingency_count_cases(r, m->id, m->rows, m->links);
        m->touched.since = r->commits;
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
    free(m->id);
    free(m->queue);
    free(m->likely);
    fab_repair_touched_reset(&m->touched, 0);
    free(m);
}

uint32_t fab_repair_contingency_cases(const struct fab_repair_contingency_maker *m)
{
    return (uint32_t)m->cases;
}

size_t fab_repair_contingency_memory(const struct fab_repair_contingency_maker *m)
{
    const struct fab_repair_load *l = &m->load;
    size_t a_port = sizeof(*l->load) + sizeof(*l->change) + sizeof(*l->order);
    return sizeof(*m) + a_port * m->r->network->ports + l->mark_room * sizeof(*l->marked) +
           2 * m->rows * sizeof(*m->id) + fab_repair_memory(m->r) -
           fab_repair_network_memory(m->r->network);
}

void fab_repair_contingency_set_tables(struct fab_repair_contingency_maker *m,
                                       const struct fab_lft *lft)
{
    struct fab_lft same = fab_target_lft_share(lft);
    fab_target_lft_fini(&m->lft);
    m->lft = same;
}

int fab_repair_contingency_set_likely(struct fab_repair_contingency_maker *m, const uint32_t *port,
                                      size_t count)
{
    uint32_t *copy = fab_base_alloc_array(count, sizeof(*copy));
    if (copy == NULL)
        return FAB_E_NOMEM;
    if (count > 0)
        memcpy(copy, port, count * sizeof(*copy));
    free(m->likely);
    m->likely = copy;
    m->likelies = count;
    return FAB_OK;
}

void fab_repair_contingency_stop_at(struct fab_repair_contingency_maker *m, const int *stop)
{
    m->stop = m->r->stop = stop;
}

bool fab_repair_contingency_prepare(struct fab_repair_contingency_maker *m)
{
    if (fab_repair_load_count(&m->load, m->r, &m->lft))
        return true;
    if (m->ordered)
        return false;
    fab_repair_contingency_order(m);
    m->ordered = true;
    return true;
}

uint64_t fab_repair_contingency_load(const struct fab_repair_contingency_maker *m)
{
    return m->load.channels > 0 ? m->load.load[m->load.order[0]] : 0;
}

uint32_t fab_repair_contingency_peek(const struct fab_repair_contingency_maker *m, size_t ahead)
{
    return ahead < m->queued - m->next ? m->queue[m->next + ahead] : FAB_NONE;
}

size_t fab_repair_contingency_left(const struct fab_repair_contingency_maker *m)
{
    return m->ordered ? m->queued - m->next : m->cases;
}

/* ---- one case -------------------------------------------------------------------------------- */

static struct fab_repair_contingency case_of(const struct fab_repair_contingency_maker *m,
                                             uint32_t row)
{
    struct fab_repair_contingency c = {.known = true,
                                       .is_switch = row >= m->links,
                                       .id = m->id[row],
                                       .peer = FAB_NONE,
                                       .row = row,
                                       .commits = m->r->commits};
    if (!c.is_switch)
        c.peer = fab_repair_peer_port(m->r->network, c.id);
    return c;
}

/* Lists the living links that fail if the link or switch of `c` fails, each by the id of one port.
 * Returns the number of these links. */
static size_t list_failing(const struct fab_repair *r, const struct fab_repair_contingency *c,
                           uint32_t ret[256])
{
    const struct fab_repair_network *b = r->network;
    uint32_t first = c->is_switch ? b->first[c->id] + 1 : c->id;
    uint32_t end = c->is_switch ? b->first[c->id + 1] : c->id + 1;
    size_t count = 0;
    for (uint32_t port = first; port < end; port++) {
        if (fab_repair_is_living(r, port))
            ret[count++] = port;
    }
    return count;
}

/* Lists all links that are dead if the link or switch of `c` fails: links that were dead at the
 * last fab_repair_commit, and links that fail now. The caller frees *ret. */
static int list_dead(const struct fab_repair *r, const struct fab_repair_contingency *c,
                     uint32_t **ret, size_t *ret_count)
{
    uint32_t failing[256];
    size_t count = list_failing(r, c, failing);
    uint32_t *dead = fab_base_alloc_array(r->deads + count, sizeof(*dead));
    if (dead == NULL)
        return FAB_E_NOMEM;
    if (r->deads > 0)
        memcpy(dead, r->dead, r->deads * sizeof(*dead));
    memcpy(dead + r->deads, failing, count * sizeof(*dead));
    *ret = dead;
    *ret_count = r->deads + count;
    return FAB_OK;
}

/* Finds the connected component with the most endports. Counts the endports and switches of all
 * other components as lost. */
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

static int keep_plan(const struct fab_repair_contingency_maker *m, const struct fab_repair_delta *d,
                     struct fab_repair_contingency *c)
{
    int status = fab_repair_stored_plan_new(m->r, &m->lft, d, &c->plan);
    c->plan_len = c->plan != NULL ? c->plan->len : 0;
    return status;
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
    return keep ? keep_plan(m, d, c) : FAB_OK;
}

static int compute(struct fab_repair_contingency_maker *m, bool keep,
                   struct fab_repair_contingency *c)
{
    struct fab_repair_delta d = {0};
    uint32_t *dead = NULL;
    size_t count = 0;
    char why[200];
    int status = list_dead(m->r, c, &dead, &count);
    if (status == FAB_OK)
        status = fab_repair_plan(m->r, &m->lft, dead, count, &d, why, sizeof(why));
    if (status == FAB_OK)
        status = describe(m, &d, keep, c);
    if (status == FAB_E_UNSUPPORTED) {
        c->outcome = FAB_CONTINGENCY_ENGINE;
        status = FAB_OK;
    }
    fab_repair_delta_fini(&d);
    free(dead);
    return status;
}

int fab_repair_contingency_next(struct fab_repair_contingency_maker *m, bool keep,
                                struct fab_repair_contingency *ret)
{
    if (m->next >= m->queued)
        return FAB_E_NOT_FOUND;
    struct fab_repair_contingency c = case_of(m, m->queue[m->next]);
    int status = compute(m, keep, &c);
    if (status == FAB_E_BUSY)
        return status;
    m->next++;
    if (status == FAB_OK)
        *ret = c;
    return status;
}

/* ---- plans of an earlier state --------------------------------------------------------------- */

/* Fills d->dead and d->relabel for the failure that `c` describes. Encoded plans do not contain
 * them. */
static int add_dead(struct fab_repair_contingency_maker *m, const struct fab_repair_contingency *c,
                    struct fab_repair_delta *d)
{
    uint32_t *dead = NULL;
    size_t count = 0;
    int status = list_dead(m->r, c, &dead, &count);
    if (status == FAB_OK)
        status = fab_repair_list_dead(m->r->network, dead, count, d);
    if (status == FAB_OK) {
        fab_repair_apply_dead(m->r, d);
        status = fab_repair_relabel_find(m->r, d);
        fab_repair_undo_dead(m->r, &(struct fab_repair_delta){.dead = d->dead, .deads = d->deads});
    }
    free(dead);
    return status;
}

/* Decodes the stored plan for the failure that `c` describes. lft: tables from which the old values
 * of the entries are read; NULL: the old values stay 0. */
static int decode(struct fab_repair_contingency_maker *m, const struct fab_repair_contingency *c,
                  const struct fab_repair_stored_plan *plan, const struct fab_lft *lft,
                  struct fab_repair_delta *ret)
{
    struct fab_repair_delta d;
    int status = fab_repair_decode_changes(m->r, lft, plan->bytes, &d);
    if (status != FAB_OK)
        return status;
    status = add_dead(m, c, &d);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}

/* Tests whether the changes since an earlier state of the repair, in which the plan was valid,
 * touch the plan. Returns OK if they do not, so the plan is still valid; NOT_FOUND if they may
 * touch it; or NOMEM. */
static int look_whether_spared(struct fab_repair_contingency_maker *m,
                               const struct fab_repair_contingency *c,
                               const struct fab_repair_stored_plan *plan, uint64_t commits)
{
    struct fab_repair_delta d;
    int status = decode(m, c, plan, NULL, &d);
    if (status != FAB_OK)
        return status;
    fab_repair_apply_dead(m->r, &d);
    bool spared = fab_repair_touched_spares(&m->touched, m->r, &d, commits);
    fab_repair_undo_dead(m->r, &d);
    fab_repair_delta_fini(&d);
    m->untouched += spared;
    return spared ? FAB_OK : FAB_E_NOT_FOUND;
}

static int check(struct fab_repair_contingency_maker *m, const struct fab_repair_contingency *c,
                 const struct fab_repair_stored_plan *plan)
{
    struct fab_repair_delta d;
    int status = decode(m, c, plan, &m->lft, &d);
    if (status != FAB_OK)
        return status;
    status = fab_repair_stored_plan_check(m->r, &m->lft, plan, &d);
    fab_repair_delta_fini(&d);
    return status;
}

int fab_repair_contingency_recheck(struct fab_repair_contingency_maker *m,
                                   const struct fab_repair_stored_plan *plan, uint64_t commits)
{
    if (m->next >= m->queued)
        return FAB_E_NOT_FOUND;
    struct fab_repair_contingency c = case_of(m, m->queue[m->next]);
    if (!plan->lasting || m->r->relabels > 0)
        return FAB_E_NOT_FOUND;
    int status = look_whether_spared(m, &c, plan, commits);
    if (status == FAB_E_NOT_FOUND)
        status = check(m, &c, plan);
    m->next += status == FAB_OK;
    return status;
}

uint32_t fab_repair_contingency_untouched(const struct fab_repair_contingency_maker *m)
{
    return m->untouched;
}
