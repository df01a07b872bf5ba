/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the order of the endports for shift permutations: in the shift by k, endport i of this
 * order sends to endport i + k. The order depends on links and LIDs alone, because measurements of
 * different tables of a fabric are comparable only if the order is the same. The leaves of a pod
 * are adjacent in this order, and so are the pods of a larger group. Within a group, the leaf with
 * the lowest LID comes first, because the manager assigns LIDs in topological order where it can.
 * If all LIDs are in topological order, the result is the order of the LIDs.
 *
 * The leaves are sorted by their lowest LID, and then split into groups by a distance of d hops.
 * The first leaf, and all leaves at most d hops from it, form the first group. Of the remaining
 * leaves, the first one, and all leaves at most d hops from it, form the second group, and so on.
 * Then each group is split in the same way with a smaller d.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/study/measurement.h"

/* the distance between two leaves that are not connected; real distances above 254 hops are stored
 * as 254 */
#define FAR 0xff

struct sorting {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_measurement *f;
    /* [leaf_count] sort key of each leaf. Upper 32 bits: lowest LID of the measured endports at the
     * leaf. Lower 32 bits: index of the leaf in leaves[]. */
    uint64_t *key;
    /* [leaf_count][leaf_count] number of hops between two leaves */
    uint8_t *leaf_distance;
    /* [leaf_count] the order of the leaves that is being made, as indices in leaves[] */
    uint32_t *sequence;
    /* [switches] scratch memory: a queue of switches, or a list of leaves */
    uint32_t *scratch;
    /* [switches] number of hops to each switch from the leaf that measure() visits */
    uint8_t *distance;
};

static void measure(struct sorting *s, uint32_t leaf)
{
    const struct fab_measurement *f = s->f;
    uint8_t *row = s->leaf_distance + (size_t)leaf * f->leaf_count;
    uint32_t done = 0, count = 1;
    memset(s->distance, FAR, f->switches);
    s->scratch[0] = f->leaves[leaf].sw;
    s->distance[f->leaves[leaf].sw] = 0;
    while (done < count) {
        uint32_t sw = s->scratch[done++], end = sw + 1 < f->switches ? f->first[sw + 1] : f->ports;
        uint8_t next = (uint8_t)(s->distance[sw] + (s->distance[sw] < FAR - 1));
        for (uint32_t port = f->first[sw]; port < end; port++) {
            uint32_t to = f->to[port];
            if (to == FAB_NONE || s->distance[to] != FAR)
                continue;
            s->distance[to] = next;
            s->scratch[count++] = to;
        }
    }
    for (uint32_t i = 0; i < f->leaf_count; i++)
        row[i] = s->distance[f->leaves[i].sw];
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_leaves(struct sorting *s)
{
    const struct fab_measurement *f = s->f;
    for (uint32_t i = 0; i < f->leaf_count; i++)
        s->key[i] = UINT64_MAX << 32 | i;
    for (uint32_t i = 0; i < f->end_count; i++) {
        uint64_t *key = &s->key[f->ends[i].leaf];
        uint64_t mine = (uint64_t)f->ends[i].lid << 32 | f->ends[i].leaf;
        *key = mine < *key ? mine : *key;
    }
    qsort(s->key, f->leaf_count, sizeof *s->key, by_key);
    for (uint32_t i = 0; i < f->leaf_count; i++)
        s->sequence[i] = (uint32_t)s->key[i];
}

/* Splits the leaves sequence[from] to sequence[to - 1] into groups, and reorders them so that the
 * members of a group are adjacent. Each member of a group is at most `radius` hops from the first
 * member. Then splits each group again, with a smaller radius. */
static void group(struct sorting *s, uint32_t from, uint32_t to, int radius)
{
    while (radius > 0 && from < to) {
        const uint8_t *distances = s->leaf_distance + (size_t)s->sequence[from] * s->f->leaf_count;
        uint32_t in = from, out = 0;
        for (uint32_t i = from; i < to; i++) {
            if (i == from || distances[s->sequence[i]] <= radius)
                s->sequence[in++] = s->sequence[i];
            else
                s->scratch[out++] = s->sequence[i];
        }
        memcpy(s->sequence + in, s->scratch, out * sizeof *s->sequence);
        if (in - from > 2)
            group(s, from, in, radius - 1);
        from = in;
    }
}

static int greatest(const struct sorting *s)
{
    uint8_t most = 0;
    for (size_t i = 0; i < (size_t)s->f->leaf_count * s->f->leaf_count; i++)
        most =
            s->leaf_distance[i] != FAR && s->leaf_distance[i] > most ? s->leaf_distance[i] : most;
    return most;
}

static int by_leaf_and_port(const void *a, const void *b)
{
    const struct fab_measured_endport *x = a, *y = b;
    if (x->leaf != y->leaf)
        return (x->leaf > y->leaf) - (x->leaf < y->leaf);
    return (x->num > y->num) - (x->num < y->num);
}

/* Puts leaves[] into the order of sequence[], and sorts the endports by the new index of their
 * leaf, and then by the number of the leaf's port. */
static int renumber(struct fab_measurement *f, const uint32_t *sequence)
{
    struct fab_measured_leaf *leaves = fab_base_alloc_array(f->leaf_count, sizeof *leaves);
    if (leaves == NULL)
        return FAB_E_NOMEM;
    memcpy(leaves, f->leaves, f->leaf_count * sizeof *leaves);
    for (uint32_t i = 0; i < f->leaf_count; i++) {
        f->leaves[i] = leaves[sequence[i]];
        f->leaf_at[f->leaves[i].sw] = i;
    }
    for (uint32_t i = 0; i < f->end_count; i++)
        f->ends[i].leaf = f->leaf_at[leaves[f->ends[i].leaf].sw];
    qsort(f->ends, f->end_count, sizeof *f->ends, by_leaf_and_port);
    free(leaves);
    return FAB_OK;
}

int fab_study_measurement_order(struct fab_measurement *f)
{
    struct sorting s = {.f = f};
    int rc = FAB_E_NOMEM;
    s.key = fab_base_arena_alloc(&s.arena, f->leaf_count, sizeof *s.key);
    s.sequence = fab_base_arena_alloc(&s.arena, f->leaf_count, sizeof *s.sequence);
    s.scratch = fab_base_arena_alloc(&s.arena, f->switches, sizeof *s.scratch);
    s.distance = fab_base_arena_alloc(&s.arena, f->switches, 1);
    s.leaf_distance = fab_base_arena_alloc(&s.arena, f->leaf_count, f->leaf_count);
    if (s.arena.failed)
        goto out;
    for (uint32_t i = 0; i < f->leaf_count; i++)
        measure(&s, i);
    sort_leaves(&s);
    group(&s, 0, f->leaf_count, greatest(&s) - 1);
    rc = renumber(f, s.sequence);
out:
    fab_base_arena_fini(&s.arena);
    return rc;
}
