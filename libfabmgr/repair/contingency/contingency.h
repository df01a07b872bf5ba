/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contingency plans (N-1 analysis): for the failure of each ISL and of each switch, the repair is
 * computed, proved and ordered before the failure happens. A contingency (struct
 * fab_repair_contingency) describes one such failure, and may hold the plan for it. A stored plan
 * is a compressed repair delta. To decode a plan, only the table entries that it changes are read.
 *
 * A maker (struct fab_repair_contingency_maker) computes the contingencies, on any thread and in
 * small steps. It works on a clone of the repair and on its own reference to the tables, which
 * later changes do not affect (base/pages.h). The collection (struct fab_repair_contingencies)
 * stores the contingencies. The collection has one element for each ISL and each switch of the
 * network, and only one thread uses it.
 *
 * A state of the repair is the active tables together with the set of dead links. A commit
 * (fab_repair_commit) changes the state; the number of commits so far identifies a state. A plan
 * that was made for an earlier state may still be valid: the commits since then must not have
 * changed the entries that the plan changes, the labels must be the same, and the proof of the plan
 * must succeed with the present tables (stored_plan.c). fab_repair_contingencies_find makes this
 * check. The maker first tests whether the changes since the earlier state touch the plan at all
 * (touched.c), and makes the check only if they do. The maker computes a contingency anew if its
 * plan fails the check.
 *
 *     fab_repair_contingency_begin(r, &m)             on the thread of the repair; cheap
 *     fab_repair_contingency_set_tables(m, &lft)      shares the tables
 *     while (fab_repair_contingency_prepare(m)) ..    counts paths per link, in pieces
 *     while (fab_repair_contingency_next(m, keep, &c) == FAB_OK)
 *         fab_repair_contingencies_add(&all, &c)
 *     fab_repair_contingencies_find(&all, r, &lft, dead, count, &delta)
 * After a commit:
 *     fab_repair_contingencies_follow(&all, r)        the plans become plans of an earlier state
 *     fab_repair_clone(r, &clone)
 *     fab_repair_contingency_follow(m, clone, &lft)   on any thread; then prepare as above, and
 *     fab_repair_contingency_recheck(m, ...)          before each `next`: the plan may stay valid
 * After a new repair was made for new tables, fab_repair_contingencies_adopt comes first.
 */
#ifndef LIBFABMGR_REPAIR_CONTINGENCY_CONTINGENCY_H
#define LIBFABMGR_REPAIR_CONTINGENCY_CONTINGENCY_H

#include "libfabmgr/repair/repair.h"

enum fab_repair_contingency_outcome {
    FAB_CONTINGENCY_PLAN, /* a proved plan exists */
    /* the labels leave some endports without a path, so an engine must compute new tables */
    FAB_CONTINGENCY_ENGINE,
};
/* A stored plan, which never changes. Threads share it by reference counting. */
struct fab_repair_stored_plan {
    int refs; /* atomic */
    uint32_t len;
    /* true: the plan can stay valid after further commits (fab_repair_commit). Such a plan used the
     * same set of labels as the active tables when it was made, and no switch was relabelled,
     * neither in the plan nor in the active tables. */
    bool lasting;
    /* hash of the entries that the plan changes, with their old values */
    uint64_t was;
    uint8_t bytes[]; /* [len] the encoded delta (encode.c) */
};
struct fab_repair_stored_plan *fab_repair_stored_plan_ref(struct fab_repair_stored_plan *p);
void fab_repair_stored_plan_unref(struct fab_repair_stored_plan *p); /* p may be NULL */

struct fab_repair_contingency {
    bool is_switch;
    /* true: this contingency was computed; false: all other members except `id` are 0 */
    bool known;
    /* enum fab_repair_contingency_outcome; if it is FAB_CONTINGENCY_ENGINE, all members from
     * `lost_ends` on are 0, except `commits` */
    uint8_t outcome;
    /* for a link: the ids of its two ports, the lower one first; for a switch: its id, and FAB_NONE
     */
    uint32_t id, peer;
    uint32_t row; /* index of this contingency in fab_repair_contingencies.row[] */
    /* numbers of endports and of switches that are outside the connected component with the most
     * endports after the failure */
    uint32_t lost_ends, lost_switches;
    /* Size of the plan. entries: number of table entries that change. blocks, switches: numbers of
     * LFT blocks and of switches to write. steps: number of steps of the writes. */
    uint32_t entries, blocks, switches, steps;
    /* load: number of paths over the channel with the most paths after the repair. Each pair of an
     * endport and a LID of another endport counts as one path. busiest: id of the port at which
     * this channel begins. Paths of endports that the failure cuts off count as if the dead links
     * still worked. A recheck does not update `load` and `busiest`, so they may describe earlier
     * tables. */
    uint64_t load;
    uint32_t busiest;
    struct fab_repair_stored_plan *plan; /* NULL: not kept */
    uint32_t plan_len;
    /* number of commits, which identifies the state of the repair for which the contingency was
     * computed or last rechecked */
    uint64_t commits;
};

struct fab_repair_contingency_maker;
/* Creates a maker, which works on a clone of the repair `r`. Returns OK or NOMEM. */
int fab_repair_contingency_begin(const struct fab_repair *r,
                                 struct fab_repair_contingency_maker **ret);
void fab_repair_contingency_end(struct fab_repair_contingency_maker *m);
/* Returns the number of possible failures that the maker examines: one for each living link, and
 * one for each switch that has links. */
uint32_t fab_repair_contingency_cases(const struct fab_repair_contingency_maker *m);
/* Returns the size of the memory that the maker holds, in bytes. */
size_t fab_repair_contingency_memory(const struct fab_repair_contingency_maker *m);
void fab_repair_contingency_set_tables(struct fab_repair_contingency_maker *m,
                                       const struct fab_lft *lft);
/* Brings the maker to a later state of the repair, and begins with the first contingency again. If
 * `later` is a clone of the same repair, the time is proportional to the change between both
 * states. Takes ownership of `later` and of *tables, the tables of that state
 * (fab_target_lft_share), even if it fails. Returns OK, NOMEM, or INVAL if the networks of both
 * states do not agree (fab_repair_contingencies_adopt). After an error, the maker can only be
 * freed. */
int fab_repair_contingency_follow(struct fab_repair_contingency_maker *m, struct fab_repair *later,
                                  struct fab_lft *tables);
/* Names links that are more likely to fail than others, by the id of either port, the likeliest
 * first. Their contingencies are computed first. The list takes effect when the maker begins, or
 * with the next call of fab_repair_contingency_follow. Returns OK or NOMEM. */
int fab_repair_contingency_set_likely(struct fab_repair_contingency_maker *m, const uint32_t *port,
                                      size_t count);
/* Lets another thread interrupt the maker. When *stop is not 0, fab_repair_contingency_next returns
 * BUSY; before it returns, it may still compute the entries for about one LID. The other thread
 * sets *stop with __atomic_store_n. If `stop` is NULL, the maker cannot be interrupted. */
void fab_repair_contingency_stop_at(struct fab_repair_contingency_maker *m, const int *stop);
/* Does the next part of the work that must precede the first contingency: counts the paths to the
 * next block of LIDs, or sorts the contingencies by priority. Returns true if the caller must call
 * again. */
bool fab_repair_contingency_prepare(struct fab_repair_contingency_maker *m);
/* Returns the number of paths over the channel with the most paths, in the active tables. */
uint64_t fab_repair_contingency_load(const struct fab_repair_contingency_maker *m);
/* Returns the index (in fab_repair_contingencies.row[]) of a contingency that has not been computed
 * yet. ahead: 0 selects the contingency that is computed next, 1 the one after it, and so on.
 * FAB_NONE: fewer contingencies are left. Call this function only after
 * fab_repair_contingency_prepare has returned false. */
uint32_t fab_repair_contingency_peek(const struct fab_repair_contingency_maker *m, size_t ahead);
/* Returns the number of contingencies that fab_repair_contingency_next has not computed yet. */
size_t fab_repair_contingency_left(const struct fab_repair_contingency_maker *m);
/* Checks whether `plan` is still valid. The plan must be for the failure that
 * fab_repair_contingency_next would compute next, and must have been valid after `commits` commits.
 * Returns OK if the plan is still valid; the maker then skips this failure. Returns NOT_FOUND if
 * the plan is no longer valid or nothing is left to compute, NOMEM, or BUSY. */
int fab_repair_contingency_recheck(struct fab_repair_contingency_maker *m,
                                   const struct fab_repair_stored_plan *plan, uint64_t commits);
/* Returns the number of plans that needed no new proof for the present state, because the changes
 * of the tables do not touch them. */
uint32_t fab_repair_contingency_untouched(const struct fab_repair_contingency_maker *m);
/* Computes the contingency of the next failure, in the order of order.c. If `keep` is true, stores
 * the plan in ret->plan, which the caller unrefs. Returns OK, or NOT_FOUND if nothing is left to
 * compute. Returns BUSY if another thread interrupted it (fab_repair_contingency_stop_at); a later
 * call computes this contingency. Also returns NOMEM, or the error of a proof that failed
 * (fab_repair_prove); the next call then skips this contingency. */
int fab_repair_contingency_next(struct fab_repair_contingency_maker *m, bool keep,
                                struct fab_repair_contingency *ret);

struct fab_repair_contingencies {
    /* [rows] the contingencies of links by port id, then the contingencies of switches by switch
     * id. The member `known` of an element is false if the link is dead, or if the contingency is
     * not yet computed. */
    struct fab_repair_contingency *row;
    /* rows: number of elements of row[]. links: number of elements for links, which come first. */
    size_t rows, links;
    /* number of elements of row[] for links that are not dead, and for switches */
    size_t cases;
    /* number of elements of row[] whose contingency is computed (member `known`) */
    size_t count;
    /* number of elements of row[] that were computed or rechecked for the state that `commits`
     * below identifies */
    size_t current;
    /* number of elements of row[] that have a stored plan */
    size_t plans;
    /* size of the collection in memory, in bytes */
    size_t memory;
    /* the network of the links and switches of row[]; NULL: the collection is empty */
    struct fab_repair_network *network;
    /* The number of commits that identifies the state of the repair to which the collection was
     * last brought (fab_repair_contingencies_follow). Elements with another number were computed
     * for an earlier state. */
    uint64_t commits;
};
int fab_repair_contingencies_init(struct fab_repair_contingencies *c,
                                  const struct fab_repair *r); /* returns OK or NOMEM */
void fab_repair_contingencies_fini(struct fab_repair_contingencies *c);
/* Returns true if the collection and the repair `r` have the same network: the same switches, ISLs
 * and labels. Otherwise fab_repair_contingencies_adopt may bring the collection to the network of
 * `r`. */
bool fab_repair_contingencies_valid(const struct fab_repair_contingencies *c,
                                    const struct fab_repair *r);
/* Returns true if the collection was last brought to the present state of the repair `r`
 * (fab_repair_contingencies_follow). */
bool fab_repair_contingencies_follows(const struct fab_repair_contingencies *c,
                                      const struct fab_repair *r);
/* Brings the collection to the present state of the repair. Its contingencies then belong to an
 * earlier state and need a recheck. Forgets the contingencies of dead links. */
void fab_repair_contingencies_follow(struct fab_repair_contingencies *c,
                                     const struct fab_repair *r);
/* Attaches the collection to another repair `r`, which was made for new tables of the fabric. The
 * networks of the old repair and of `r` must agree: the switches, the ports and the highest LID are
 * equal, and so are the labels of each link that exists in both networks. The contingencies of
 * these links and of all switches stay, but need a recheck. The function increases the number of
 * commits of `r`, so that these contingencies count as made for an earlier state. Returns OK,
 * NOMEM, or NOT_FOUND if the networks do not agree. An error leaves the collection unchanged. */
int fab_repair_contingencies_adopt(struct fab_repair_contingencies *c, struct fab_repair *r);
/* Stores a computed contingency in its element of row[], in place of the previous one. Takes
 * ownership of c->plan. */
void fab_repair_contingencies_add(struct fab_repair_contingencies *all,
                                  const struct fab_repair_contingency *c);
/* Records that the stored plan of element c->row[row] was rechecked, and is valid for the state
 * `c->commits`. */
void fab_repair_contingencies_confirm(struct fab_repair_contingencies *c, uint32_t row);
/* Frees the stored plan of element c->row[row], and keeps the other members of this element. */
void fab_repair_contingencies_evict(struct fab_repair_contingencies *c, uint32_t row);
/* fab_repair_contingencies_link returns the contingency of the failure of a link, which is named by
 * the id of either port. fab_repair_contingencies_switch returns the contingency of the failure of
 * a switch. NULL: the collection does not have the contingency, or the contingency is not yet
 * computed. */
const struct fab_repair_contingency *
fab_repair_contingencies_link(const struct fab_repair_contingencies *c, uint32_t port);
const struct fab_repair_contingency *
fab_repair_contingencies_switch(const struct fab_repair_contingencies *c, uint32_t sw);
/* Returns the stored plan for exactly these dead links. The result is a delta that is planned,
 * proved and ordered (fab_repair_order), but its array change[] is in the order of the writes. A
 * plan that was made for an earlier state is first checked and proved; some of its paths may then
 * be longer than the paths of a repair computed now. Returns OK, NOMEM, UNSUPPORTED as
 * fab_repair_permit_detours says, or NOT_FOUND if there is no such plan or the plan is no longer
 * valid. */
int fab_repair_contingencies_find(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                  const struct fab_lft *lft, const uint32_t *dead, size_t count,
                                  struct fab_repair_delta *ret);
/* fab_repair_contingencies_lookup and fab_repair_stored_plan_take are the two parts of
 * fab_repair_contingencies_find. fab_repair_contingencies_lookup returns a reference to the stored
 * plan for exactly these dead links; the caller unrefs it. NULL: there is none. *ret_commits: the
 * state for which the plan was made or last rechecked. fab_repair_stored_plan_take decodes this
 * plan and, if necessary, checks it. This takes most of the time, and can run on another thread;
 * `r` is then a clone of the repair. */
struct fab_repair_stored_plan *
fab_repair_contingencies_lookup(const struct fab_repair_contingencies *c, struct fab_repair *r,
                                const uint32_t *dead, size_t count, uint64_t *ret_commits);
int fab_repair_stored_plan_take(const struct fab_repair_stored_plan *p, uint64_t commits,
                                struct fab_repair *r, const struct fab_lft *lft,
                                const uint32_t *dead, size_t count, struct fab_repair_delta *ret);

/* ---- for this folder only -------------------------------------------------------------------- */

/* These functions encode and decode a number in a variable number of bytes: 7 bits per byte, the
 * lowest bits first. The top bit of a byte is set if another byte follows. */
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
/* Compresses `len` bytes. The caller frees *ret. Returns OK or NOMEM. */
int fab_repair_compress(const uint8_t *raw, uint32_t len, uint8_t **ret, uint32_t *ret_len);
/* Decompresses the result of fab_repair_compress. Returns the original bytes in a new buffer, which
 * the caller frees; NULL: no memory. */
uint8_t *fab_repair_decompress(const uint8_t *compressed);

/* functions of stored_plan.c */
/* Encodes a delta that was made for the present state of `r`, with its active tables `lft`. Returns
 * OK or NOMEM. */
int fab_repair_stored_plan_new(const struct fab_repair *r, const struct fab_lft *lft,
                               const struct fab_repair_delta *d,
                               struct fab_repair_stored_plan **ret);
/* Checks whether a plan that was made for an earlier state of `r` is valid for the present state,
 * and proves it. d: the decoded plan; its dead[] has all links that are dead after the failure.
 * Returns OK, NOMEM, BUSY, or NOT_FOUND if the plan is not valid. */
int fab_repair_stored_plan_check(struct fab_repair *r, const struct fab_lft *lft,
                                 const struct fab_repair_stored_plan *p,
                                 const struct fab_repair_delta *d);

/* Encodes and compresses a delta. The caller frees *ret. Returns OK or NOMEM. */
int fab_repair_encode(const struct fab_repair_delta *d, uint8_t **ret, uint32_t *ret_len);
/* Decodes a delta that fab_repair_encode made. Fills *ret, except dead[], relabel[], `detours` and
 * `paused`. The old values of all changes are those in lft, except for stale changes (struct
 * fab_repair_change). Trusts `packed`, and does not check its bytes. Returns OK or NOMEM. */
int fab_repair_decode(struct fab_repair *r, const struct fab_lft *lft, const uint8_t *packed,
                      struct fab_repair_delta *ret);
/* Decodes a delta as fab_repair_decode does, but leaves out the array entry[] of *ret, and marks no
 * change as stale. The old values of all changes are those in lft; if lft is NULL, they are 0. */
int fab_repair_decode_changes(const struct fab_repair *r, const struct fab_lft *lft,
                              const uint8_t *packed, struct fab_repair_delta *ret);

/* The number of paths over each channel, and the change of this number by the failure under
 * examination. The functions are in link_load.c. */
struct fab_repair_load {
    /* [ports] number of paths over each channel with the active tables */
    uint64_t *load;
    /* [ports] number of paths that the failure adds to each channel, modulo 2^64 (UINT64_MAX is a
     * decrease by 1) */
    uint64_t *change;
    /* [channels] port ids of all channels, by descending number of paths */
    uint32_t *order;
    /* [marks] channels whose `change` was modified; a channel may occur several times */
    uint32_t *marked;
    size_t marks, mark_room, channels;
    /* [switches] index of the change of each switch's entry, among the delta's changes for the
     * current LID; FAB_NONE: the entry does not change */
    uint32_t *index;
    uint32_t *stack; /* [switches] scratch memory of link_load.c */
    /* first LID whose paths are not yet counted; fab_repair_load_count counts one block of LIDs
     * after the other */
    uint32_t next;
};
/* Allocates the arrays; fab_repair_load_count fills them. Returns OK or NOMEM. */
int fab_repair_load_init(struct fab_repair_load *l, const struct fab_repair *r);
void fab_repair_load_fini(struct fab_repair_load *l);
/* Counts the paths to the next block of LIDs. Returns true if the caller must call again. */
bool fab_repair_load_count(struct fab_repair_load *l, const struct fab_repair *r,
                           const struct fab_lft *lft);
/* Updates the numbers of paths (l->load[]) for a delta. The delta's change[] is sorted by LID, and
 * `lft` are the tables before the delta. Returns OK, or NOMEM; after NOMEM, the numbers are
 * unusable. */
int fab_repair_load_commit(struct fab_repair_load *l, const struct fab_repair *r,
                           const struct fab_lft *lft, const struct fab_repair_delta *d);
/* Finds the channel that will have the most paths after a delta. Does not change the stored numbers
 * of paths (l->load[]). Returns OK or NOMEM. */
int fab_repair_load_after(struct fab_repair_load *l, struct fab_repair *r,
                          const struct fab_lft *lft, const struct fab_repair_delta *d,
                          uint64_t *ret_load, uint32_t *ret_channel);

#endif
