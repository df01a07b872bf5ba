/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contingencies: what happens if this cable between switches, or this switch, fails next (N-1
 * analysis), each computed, proved and put in order before it does. A plan at hand is a repair
 * delta in few bytes; to take it back costs a look at what it changes and nothing else.
 *
 * A maker works with a twin of the repair and a copy of the tables, on any thread, in small pieces;
 * the collection is of one thread. Plans hold as long as the state that they were made from: a
 * commit, or another baseline, and none is given out any more.
 *
 *     fab_repair_contingency_begin(r, &m)             cheap: where the repair is
 *     fab_repair_contingency_set_tables(m, &lft)          copies them
 *     while (fab_repair_contingency_prepare(m)) ..    where the traffic is now, in pieces
 *     while (fab_repair_contingency_next(m, keep, &c) == FAB_OK)
 *         fab_repair_contingencies_add(&all, &c)
 *     fab_repair_contingencies_find(&all, r, &lft, dead, count, &delta)
 */
#ifndef LIBFABMGR_REPAIR_CONTINGENCY_CONTINGENCY_H
#define LIBFABMGR_REPAIR_CONTINGENCY_CONTINGENCY_H

#include "libfabmgr/repair/repair.h"

enum fab_repair_contingency_outcome {
    FAB_CONTINGENCY_PLAN,   /* proved */
    FAB_CONTINGENCY_ENGINE, /* the labels have no way for all that is left: an engine routes anew */
};
struct fab_repair_contingency {
    bool is_switch;
    uint8_t outcome;   /* enum fab_repair_contingency_outcome; the figures below are 0 for ENGINE */
    uint32_t id, peer; /* ports of the cable, the lesser first; or the switch, and FAB_NONE */
    uint32_t lost_ends, lost_switches; /* out of reach of the part with the most ends */
    uint32_t entries, blocks, switches, steps;
    /* Paths (of each end to each LID of another) on the cable that has most of them, in its busier
     * direction: its port. Paths of lost ends are counted as if they went on. */
    uint64_t load;
    uint32_t busiest;
    uint8_t *plan; /* packed; NULL: not kept */
    uint32_t plan_len;
};

struct fab_repair_contingency_maker;
int fab_repair_contingency_begin(const struct fab_repair *r,
                                 struct fab_repair_contingency_maker **ret); /*NOMEM*/
void fab_repair_contingency_end(struct fab_repair_contingency_maker *m);
uint32_t fab_repair_contingency_cases(const struct fab_repair_contingency_maker *m);
/* Bytes that it holds while it works. */
size_t fab_repair_contingency_memory(const struct fab_repair_contingency_maker *m);
int fab_repair_contingency_set_tables(struct fab_repair_contingency_maker *m,
                                      const struct fab_lft *lft); /* NOMEM */
bool fab_repair_contingency_prepare(
    struct fab_repair_contingency_maker *m); /* true: there is more to do */
uint64_t fab_repair_contingency_load(
    const struct fab_repair_contingency_maker *m); /* the worst, as it is now */
/* The next case: all living cables by port, then all switches by id. keep: with its plan. The
 * caller owns ret->plan. NOT_FOUND: that was all. NOMEM. Others: a repair that failed its proof. */
int fab_repair_contingency_next(struct fab_repair_contingency_maker *m, bool keep,
                                struct fab_repair_contingency *ret);

struct fab_repair_contingencies {
    struct fab_repair_contingency *row; /* [count] in the order of the maker */
    size_t count, room, switches;       /* the last `switches` of them are of switches */
    size_t plans;                       /* that are at hand */
    size_t memory;                      /* bytes of all this */
    struct fab_repair_network *base;    /* and the state of it that they hold for */
    uint64_t commits;
};
void fab_repair_contingencies_init(struct fab_repair_contingencies *c, const struct fab_repair *r);
void fab_repair_contingencies_fini(struct fab_repair_contingencies *c);
/* True as long as that is its state. */
bool fab_repair_contingencies_valid(const struct fab_repair_contingencies *c,
                                    const struct fab_repair *r);
/* Takes over c->plan, also on failure. */
int fab_repair_contingencies_add(struct fab_repair_contingencies *all,
                                 const struct fab_repair_contingency *c);
/* The row of a cable (any port of it) or of a switch, or NULL. */
const struct fab_repair_contingency *
fab_repair_contingencies_link(const struct fab_repair_contingencies *c, uint32_t port);
const struct fab_repair_contingency *
fab_repair_contingencies_switch(const struct fab_repair_contingencies *c, uint32_t sw);
/* As fab_repair_plan, proved and ordered, where it is at hand: change[] is then as the writes have
 * it. NOT_FOUND: it is not, or what it was made for is no more. NOMEM. */
int fab_repair_contingencies_find(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                  const struct fab_lft *lft, const uint32_t *dead, size_t count,
                                  struct fab_repair_delta *ret);

/* ---- private to the room: pack.c, squeeze.c, load.c
 * -------------------------------------------------------
 */

/* Numbers of 7 bits a byte. */
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
int fab_repair_compress(const uint8_t *raw, uint32_t len, uint8_t **ret, uint32_t *ret_len);
uint8_t *fab_repair_decompress(const uint8_t *squeezed); /* the caller's; NULL: no memory */

int fab_repair_encode(const struct fab_repair_delta *d, uint8_t **ret, uint32_t *ret_len);
/* All but dead[] and the figures of the cut. r: for weights and entries. Packed bytes are ours. */
int fab_repair_decode(struct fab_repair *r, const struct fab_lft *lft, const uint8_t *packed,
                      struct fab_repair_delta *ret);

/* Paths by channel. */
struct fab_repair_load {
    uint64_t *load;   /* [ports] */
    uint64_t *change; /* [ports] of the case at hand, as a difference */
    uint32_t *order;  /* [ports] channels, the busiest first */
    uint32_t *marked; /* [ports] channels with a change, some twice */
    size_t marks, mark_room, channels;
    uint32_t *index; /* [n] */
    uint32_t *stack; /* [n] */
    uint32_t next;   /* LID to count next */
};
int fab_repair_load_init(struct fab_repair_load *l, const struct fab_repair *r);
void fab_repair_load_fini(struct fab_repair_load *l);
bool fab_repair_load_count(struct fab_repair_load *l, const struct fab_repair *r,
                           const struct fab_lft *lft);
/* The busiest channel after a delta. NOMEM. */
int fab_repair_load_after(struct fab_repair_load *l, struct fab_repair *r,
                          const struct fab_lft *lft, const struct fab_repair_delta *d,
                          uint64_t *ret_load, uint32_t *ret_channel);

#endif
