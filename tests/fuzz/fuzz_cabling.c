/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes the readers of cabling plans. Any input is refused with a line and column, or gives a
 * plan. The plan is compared with a small fabric. After the resulting moves, the cables must be as
 * planned. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/compare.h"
#include "libfabmgr/fabric/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fab_fabric *make_fabric(void)
{
    const struct fab_leaf_spine_spec spec = {
        .leaves = 3, .spines = 2, .hosts_per_leaf = 2, .parallel = 1, .radix = 6};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    if (fab_fabric_generate_leaf_spine(&spec, &b) == FAB_OK)
        fab_fabric_builder_seal(b, &f);
    fab_fabric_builder_free(b);
    return f;
}

static void join(uint32_t *cable, uint32_t a, uint32_t b)
{
    if (a != FAB_NONE)
        cable[a] = b;
    if (b != FAB_NONE)
        cable[b] = a;
}

static void apply(uint32_t *cable, const struct fab_cabling_move *m)
{
    uint32_t x = cable[m->a], y = cable[m->b];
    bool remove = m->step == FAB_CABLING_REMOVE, connect = m->step == FAB_CABLING_CONNECT;
    assert(!remove || x == m->b);
    cable[m->a] = cable[m->b] = FAB_NONE;
    if (connect)
        join(cable, m->a, m->b);
    if (remove || connect)
        return;
    join(cable, m->a, y);
    join(cable, m->b, x);
}

/* Checks that the moves make all cables as planned, except cables of nodes that are not in the
 * fabric. */
static void check(const struct fab_cabling_check *c)
{
    uint32_t *cable = malloc((c->port_count + 1u) * sizeof *cable);
    assert(cable != NULL);
    memcpy(cable, c->actual, c->port_count * sizeof *cable);
    for (size_t i = 0; i < c->moves.count; i++)
        apply(cable, &c->moves.moves[i]);
    for (uint32_t p = 0; p < c->port_count; p++)
        assert(cable[p] == c->planned[p] ||
               (cable[p] == FAB_NONE && c->kinds[FAB_CABLING_ABSENT] > 0));
    free(cable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    struct fab_fabric *f = make_fabric();
    struct fab_cabling_check *c = NULL;
    struct fab_text_error e = {0};
    int rc = fab_cabling_plan_read(p, (const char *)data, size, &e);
    assert(rc == FAB_OK || rc == FAB_E_NOMEM || (e.line > 0 && e.column > 0 && e.message[0]));
    if (rc == FAB_OK && f != NULL && fab_cabling_compare(p, f, &c) == FAB_OK)
        check(c);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(p);
    fab_fabric_unref(f);
    return 0;
}
