/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the paths of a job over failed links. For each destination, the search follows the path
 * from each switch that has sources, until it reaches the destination or a switch whose fate (enum
 * fate) is already known. Then the fates of all switches on the path follow. So the search visits
 * each switch once for each destination.
 */
#include "libfabmgr/study/job_paths.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

/* What happens to packets on the path from a switch to the destination. NEAR: the path passes a
 * switch of in->near. HIT: the path uses a failed link, or does not arrive. CLEAN: neither. A
 * greater value takes precedence. */
enum fate { UNKNOWN, CLEAN, NEAR, HIT };

/* A switch to which endports of the job (sources) are attached. whole: number of these endports
 * whose own link works. cut: number of these endports whose own link fails. */
struct source {
    uint32_t sw, whole, cut;
};
struct search {
    const struct fab_job_paths_input *in;
    uint8_t *fate;   /* [switches] enum fate, for the present destination */
    uint32_t *known; /* [switches] 1 + index of the destination for which fate[] is set */
    uint32_t *path;  /* [switches] the switches of the present path */
    struct source *sources;
    uint32_t source_count;
    /* [switches] index of each switch in sources[]; FAB_NONE: the switch has no sources */
    uint32_t *source_of;
};

static bool is_cut(const struct fab_job_paths_input *in, uint32_t end)
{
    return fab_base_bits_get(in->failed, end);
}

static void count_sources(struct search *s)
{
    const struct fab_fabric *f = s->in->fabric;
    memset(s->source_of, 0xff, f->switch_count * sizeof *s->source_of);
    for (uint32_t i = 0; i < s->in->end_count; i++) {
        uint32_t sw = fab_fabric_peer_node(f, s->in->ends[i]);
        if (sw >= f->switch_count)
            continue;
        if (s->source_of[sw] == FAB_NONE) {
            s->source_of[sw] = s->source_count;
            s->sources[s->source_count++] = (struct source){.sw = sw};
        }
        struct source *from = &s->sources[s->source_of[sw]];
        *(is_cut(s->in, s->in->ends[i]) ? &from->cut : &from->whole) += 1;
    }
}

/* Returns the id of the port by which switch `sw` forwards packets to the LID; FAB_NONE: it drops
 * them, or delivers them to its port 0. */
static uint32_t next_port(const struct fab_job_paths_input *in, uint32_t sw, uint32_t lid)
{
    const struct fab_node *n = &in->fabric->nodes[sw];
    uint8_t port = fab_target_lft_at(in->lft, sw, lid);
    return port >= 1 && port <= n->num_ports ? n->first_port + port : FAB_NONE;
}

/* Follows the path from switch `sw` to endport number `index` of in->ends[]. Returns the fate of
 * `sw`. */
static enum fate follow(struct search *s, uint32_t sw, uint32_t index)
{
    const struct fab_job_paths_input *in = s->in;
    uint32_t end = in->ends[index], lid = in->lids->base[end], count = 0;
    enum fate fate = UNKNOWN;
    while (fate == UNKNOWN) {
        if (s->known[sw] == index + 1) {
            /* an UNKNOWN fate here means that this path has visited the switch before: the path is
             * a loop */
            fate = s->fate[sw] != UNKNOWN ? (enum fate)s->fate[sw] : HIT;
            break;
        }
        s->known[sw] = index + 1;
        s->fate[sw] = UNKNOWN;
        s->path[count++] = sw;
        uint32_t port = next_port(in, sw, lid),
                 to = port != FAB_NONE ? fab_fabric_port(in->fabric, port)->peer : FAB_NONE;
        if (to == FAB_NONE || fab_base_bits_get(in->failed, port))
            fate = HIT;
        else if (to == end)
            fate = CLEAN;
        else if ((sw = fab_fabric_port(in->fabric, to)->node) >= in->fabric->switch_count)
            fate = HIT;
    }
    while (count-- > 0) {
        uint32_t at = s->path[count];
        if (fate == CLEAN && fab_base_bits_get(in->near, at))
            fate = NEAR;
        s->fate[at] = (uint8_t)fate;
    }
    return fate;
}

static void count_pairs(struct search *s, uint32_t index, struct fab_job_paths *ret)
{
    const struct fab_job_paths_input *in = s->in;
    uint32_t end = in->ends[index], own = fab_fabric_peer_node(in->fabric, end);
    for (uint32_t i = 0; i < s->source_count; i++) {
        const struct source *from = &s->sources[i];
        uint32_t whole = from->whole, cut = from->cut;
        if (from->sw == own) /* the endport does not send to itself */
            *(is_cut(in, end) ? &cut : &whole) -= 1;
        if (whole + cut == 0)
            continue;
        enum fate fate = is_cut(in, end) ? HIT : follow(s, from->sw, index);
        ret->pairs += whole + cut;
        ret->hit += cut + (fate == HIT ? whole : 0);
        ret->near += fate == NEAR ? whole : 0;
    }
}

int fab_study_job_paths(const struct fab_job_paths_input *in, struct fab_job_paths *ret)
{
    struct fab_arena arena = {0};
    struct fab_job_paths sum = {0};
    struct search s = {.in = in};
    uint32_t n = in->fabric->switch_count;
    s.fate = fab_base_arena_alloc(&arena, n, sizeof *s.fate);
    s.known = fab_base_arena_alloc(&arena, n, sizeof *s.known);
    s.path = fab_base_arena_alloc(&arena, n, sizeof *s.path);
    s.sources = fab_base_arena_alloc(&arena, n, sizeof *s.sources);
    s.source_of = fab_base_arena_alloc(&arena, n, sizeof *s.source_of);
    int rc = arena.failed ? FAB_E_NOMEM : FAB_OK;
    if (rc == FAB_OK)
        count_sources(&s);
    for (uint32_t i = 0; i < in->end_count && rc == FAB_OK; i++) {
        if (fab_fabric_peer_node(in->fabric, in->ends[i]) < n)
            count_pairs(&s, i, &sum);
        if (i % 64 == 0 && in->stopped != NULL && in->stopped(in->stopped_ctx))
            rc = FAB_E_BUSY;
    }
    fab_base_arena_fini(&arena);
    if (rc == FAB_OK)
        *ret = sum;
    return rc;
}
