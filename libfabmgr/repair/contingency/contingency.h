/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contingency plans (N-1 analysis): for the failure of each ISL and each switch, the repair is
 * computed, proved and ordered before the failure happens. A stored plan is a compressed repair
 * delta. To decode it, only the table entries that it changes are read.
 *
 * A maker works on a clone of the repair and a version of the tables, on any thread, in small
 * steps. The collection belongs to one thread. Plans are valid only for the state from which they
 * were computed: after a commit, or with another baseline, the collection returns none of them.
 *
 *     fab_repair_contingency_begin(r, &m)             on the thread of the repair; cheap
 *     fab_repair_contingency_set_tables(m, &lft)      shares the tables
 *     while (fab_repair_contingency_prepare(m)) ..    counts paths per link, in pieces
 *     while (fab_repair_contingency_next(m, keep, &c) == FAB_OK)
 *         fab_repair_contingencies_add(&all, &c)
 *     fab_repair_contingencies_find(&all, r, &lft, dead, count, &delta)
 */
#ifndef LIBFABMGR_REPAIR_CONTINGENCY_CONTINGENCY_H
#define LIBFABMGR_REPAIR_CONTINGENCY_CONTINGENCY_H

#include "libfabmgr/repair/repair.h"

enum fab_repair_contingency_outcome {
    FAB_CONTINGENCY_PLAN,   /* a proved plan exists */
    FAB_CONTINGENCY_ENGINE, /* the labels leave some endports without a path: an engine must
                               compute new tables */
};
struct fab_repair_contingency {
    bool is_switch;
    uint8_t outcome; /* enum fab_repair_contingency_outcome; with FAB_CONTINGENCY_ENGINE, all
                        members from `entries` on are 0 */
    /* for a link: the ids of its two ports, the lower one first; for a switch: its id, and FAB_NONE
     */
    uint32_t id, peer;
    /* numbers of endports and switches that the failure cuts off from the component with the most
     * endports */
    uint32_t lost_ends, lost_switches;
    /* size of the plan: table entries that change, LFT blocks to write, switches to write, and
     * steps of the writes */
    uint32_t entries, blocks, switches, steps;
    /* load: number of paths on the most loaded channel after the repair. Each pair of an endport
     * and a LID of another endport counts as one path. busiest: port id of that channel. Paths of
     * lost endports count as if the dead links still worked. */
    uint64_t load;
    uint32_t busiest;
    uint8_t *plan; /* the encoded delta (encode.c); NULL: not kept */
    uint32_t plan_len;
};

struct fab_repair_contingency_maker;
int fab_repair_contingency_begin(const struct fab_repair *r,
                                 struct fab_repair_contingency_maker **ret); /*NOMEM*/
void fab_repair_contingency_end(struct fab_repair_contingency_maker *m);
/* Returns the number of cases, which are all living links and all switches that have links. */
uint32_t fab_repair_contingency_cases(const struct fab_repair_contingency_maker *m);
/* Returns the size of the memory that the maker holds, in bytes. */
size_t fab_repair_contingency_memory(const struct fab_repair_contingency_maker *m);
void fab_repair_contingency_set_tables(struct fab_repair_contingency_maker *m,
                                       const struct fab_lft *lft);
/* Counts the paths to the next block of LIDs. Returns true if the caller must call again. */
bool fab_repair_contingency_prepare(struct fab_repair_contingency_maker *m);
/* Returns the number of paths on the most loaded channel, with the active tables. */
uint64_t fab_repair_contingency_load(const struct fab_repair_contingency_maker *m);
/* Computes the next case. The cases are all living links by port id, then all switches by id. With
 * `keep`, stores the plan in ret->plan, which the caller frees. Returns NOT_FOUND (there are no
 * more cases), NOMEM, or the error of a proof that failed (fab_repair_prove). */
int fab_repair_contingency_next(struct fab_repair_contingency_maker *m, bool keep,
                                struct fab_repair_contingency *ret);

struct fab_repair_contingencies {
    /* [count] contingencies in the order of the maker's cases */
    struct fab_repair_contingency *row;
    /* count: number of rows; the last `switches` rows are those of switches */
    size_t count, room, switches;
    size_t plans;                       /* number of rows whose plan is stored */
    size_t memory;                      /* size of the collection in memory, in bytes */
    struct fab_repair_network *network; /* the plans are valid only for this network, and only while
                                           the repair has made this number of commits */
    uint64_t commits;
};
void fab_repair_contingencies_init(struct fab_repair_contingencies *c, const struct fab_repair *r);
void fab_repair_contingencies_fini(struct fab_repair_contingencies *c);
/* Returns true as long as the repair is in the state for which the plans were made. */
bool fab_repair_contingencies_valid(const struct fab_repair_contingencies *c,
                                    const struct fab_repair *r);
/* Adds a contingency. The collection becomes the owner of c->plan, even if the function fails.
 * Returns NOMEM. */
int fab_repair_contingencies_add(struct fab_repair_contingencies *all,
                                 const struct fab_repair_contingency *c);
/* fab_repair_contingencies_link returns the row of the link of port id `port`, which may be either
 * port of the link; fab_repair_contingencies_switch returns the row of a switch. NULL: there is no
 * such row. */
const struct fab_repair_contingency *
fab_repair_contingencies_link(const struct fab_repair_contingencies *c, uint32_t port);
const struct fab_repair_contingency *
fab_repair_contingencies_switch(const struct fab_repair_contingencies *c, uint32_t sw);
/* Returns the stored plan for exactly these dead links. It is the delta that fab_repair_plan,
 * fab_repair_prove and fab_repair_order would compute, except that change[] is in the order of the
 * writes. Returns NOT_FOUND (there is no such plan, or it is not valid any more) or NOMEM. */
int fab_repair_contingencies_find(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                  const struct fab_lft *lft, const uint32_t *dead, size_t count,
                                  struct fab_repair_delta *ret);

/* ---- for this folder only -------------------------------------------------------------------- */

/* These functions write and read a number of variable length: 7 bits per byte, the lowest first.
 * The top bit of a byte is set if another byte follows. */
static inline uint8_t *fab_repair_put_number(uint8_t *at, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        *at++ = (uint8_t)(n | 0x80);
    *at++ = (uint8_t)n;
    return at;
}
static inline uint64_t fab_repair_get_number(const uint8_t **at)
{
    uint64_t n = 0;
    unsigned shift = 0;
    for (; **at & 0x80; shift += 7)
        n |= (uint64_t)(*(*at)++ & 0x7f) << shift;
    return n | (uint64_t) * (*at)++ << shift;
}
/* Compresses `len` bytes. The caller frees *ret. Returns NOMEM. */
int fab_repair_compress(const uint8_t *raw, uint32_t len, uint8_t **ret, uint32_t *ret_len);
/* Decompresses the result of fab_repair_compress. Returns the original bytes in a new buffer, which
 * the caller frees; NULL: no memory. */
uint8_t *fab_repair_decompress(const uint8_t *compressed);

/* Encodes and compresses a delta. The caller frees *ret. Returns NOMEM. */
int fab_repair_encode(const struct fab_repair_delta *d, uint8_t **ret, uint32_t *ret_len);
/* Fills all members of *ret except dead[] and relabel[]. `packed` is trusted data of
 * fab_repair_encode and is not checked. Returns NOMEM. */
int fab_repair_decode(struct fab_repair *r, const struct fab_lft *lft, const uint8_t *packed,
                      struct fab_repair_delta *ret);

/* The number of paths on each channel, and by how much the current case changes this number. */
struct fab_repair_load {
    uint64_t *load;   /* [ports] number of paths over each channel with the active tables */
    uint64_t *change; /* [ports] paths that the current case adds; if it removes paths, the negative
                         number modulo 2^64 */
    uint32_t *order;  /* [channels] port ids of all channels, those with the most paths first */
    uint32_t *marked; /* [marks] channels whose `change` was modified; a channel may occur several
                         times */
    size_t marks, mark_room, channels;
    uint32_t *index; /* [n] index of each switch's change for the current LID, or FAB_NONE */
    uint32_t *stack; /* [n] scratch memory of link_load.c */
    uint32_t next;   /* the first LID to which paths are not counted yet; the blocks of LIDs are
                        counted in turn */
};
/* Allocates the arrays; fab_repair_load_count fills them. Returns NOMEM. */
int fab_repair_load_init(struct fab_repair_load *l, const struct fab_repair *r);
void fab_repair_load_fini(struct fab_repair_load *l);
/* Counts the paths to the next block of LIDs. Returns true if the caller must call again. */
bool fab_repair_load_count(struct fab_repair_load *l, const struct fab_repair *r,
                           const struct fab_lft *lft);
/* Applies a delta to the numbers of paths, and finds the channel with the most paths. Returns
 * NOMEM. */
int fab_repair_load_after(struct fab_repair_load *l, struct fab_repair *r,
                          const struct fab_lft *lft, const struct fab_repair_delta *d,
                          uint64_t *ret_load, uint32_t *ret_channel);

#endif
