/* SPDX-License-Identifier: BSD-3-Clause */
/* The data structures of a repair, for this folder only: the network and its labels, which faults
 * do not change; the state that belongs to the active tables; and scratch memory. */
#ifndef LIBFABMGR_REPAIR_INTERNAL_H
#define LIBFABMGR_REPAIR_INTERNAL_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/repair/repair.h"

/* Label of the delivery of packets from the destination switch to its own endport. It is greater
 * than the labels of all channels, so labels ascend to the end of a path. */
#define FAB_REPAIR_DELIVERED UINT32_MAX

/* The switches, their links and the labels of the channels. They never change, so clones of a
 * repair share them. A channel is named by the id of the port by which packets leave the switch. n:
 * number of switches. ports: number of port ids of switches. top: highest LID. max_hops: maximum
 * number of switches on a path. vl_count: number of VLs that have labels of their own. */
struct fab_repair_network {
    struct fab_arena arena; /* holds the memory of the arrays below */
    int refs;               /* atomic */
    uint32_t n, ports, top, vl_count;
    uint32_t max_hops;
    /* port id of port 0 of each switch; first[n] = ports */
    uint32_t *first;
    /* [ports] the switch at the other end of the port's link; FAB_NONE: the port had no working ISL
     * when the network was made */
    uint32_t *peer_sw;
    /* [ports] port number at the other end of the link */
    uint8_t *peer_num;
    /* [top + 1] the switch that delivers packets to the LID, or FAB_NONE */
    uint32_t *home;
    uint64_t *is_endport; /* bitset of the LIDs of endports */
    /* [top + 1] the VL of packets to the LID; NULL: one VL, or see pair_vl */
    uint8_t *vl;
    /* [switches][switches] VL of packets from one switch to another: element destination * switches
     * + source. NULL: the source does not matter. See labels/lanes.c. */
    uint8_t *pair_vl;
    /* [ports] 1 for each channel, 0 for other ports; only if pair_vl is not NULL */
    uint32_t *flat;
    /* The channel dependencies of the baseline, VL by VL; only if pair_vl is not NULL.
     * [vl_count][ports][words] next: the channels on which packets continue from a channel; bit i
     * stands for the channel that leaves the next switch by its port i. previous: the channels from
     * which packets continue on a channel; bit i stands for the channel that arrives at its switch
     * by port i. */
    uint64_t *next, *previous;
    uint32_t words;
    /* bitset [ports] of the channels towards the root of a spanning tree, by which the search for
     * an escape tree begins (labels/escape_tree.c); only if pair_vl is not NULL */
    uint64_t *preferred;
    /* [switches] number of endports attached to the switch */
    uint32_t *attached;
    uint32_t *degree; /* [switches] number of ISLs of the switch */
    /* [switches] group of each switch. Switches with endports are in one group if their first ISLs
     * lead to the same switch, as is the case in a pod. Any other switch is a group of its own. */
    uint32_t *group;
    /* [switches] position of each switch in an order of all switches (labels/labels.c). All paths
     * of the baseline first lead to greater positions (up) and then to lower ones (down), and the
     * labels follow from the positions. NULL: no order has this property, so the labels follow from
     * chains of dependencies. */
    uint32_t *order;
    /* Number of sets of labels. The labels of each set ascend along all paths of the baseline.
     * Along other paths, only the labels of some sets may ascend. So a repair tries the sets one
     * after the other. If pair_vl is not NULL, there is one set, and a repair changes its labels as
     * it needs (labels/dependencies.c). */
    uint32_t sets;
    /* [sets][vl_count][ports] label of each channel, from 1; 0: the port has no channel */
    uint32_t *label;
    /* text for the log that says where the labels come from (fab_repair_label_source) */
    const char *label_source;
};
/* Makes the network: all members except label[]. Returns INVAL if the tables or LIDs belong to
 * another fabric, or NOMEM. */
int fab_repair_network_new(const struct fab_repair_input *in, struct fab_repair_network **ret);
struct fab_repair_network *fab_repair_network_ref(struct fab_repair_network *b);
void fab_repair_network_unref(struct fab_repair_network *b);
size_t fab_repair_network_memory(const struct fab_repair_network *b);
/* Returns true if the networks have the same switches, ports, order of the switches, VLs, max_hops
 * and highest LID, and if the labels of each link that exists in both networks are equal. */
bool fab_repair_networks_agree(const struct fab_repair_network *a,
                               const struct fab_repair_network *b);

/* Fills label[] (labels/labels.c). Returns UNSUPPORTED if there are no labels for these tables, or
 * NOMEM. */
int fab_repair_labels_find(struct fab_repair_network *b, const struct fab_repair_input *in,
                           char *why, size_t why_len);
/* Difference between the positions of successive switches in `order`. It leaves room for a
 * relabelling (labels/reorder.c), which can give a switch a new position between two successive
 * switches. */
#define FAB_REPAIR_LABEL_GAP 16
/* Returns the label of a channel that leaves a switch with the position `from` (network->order[]).
 * up: the channel leads to a switch with a greater position. */
static inline uint32_t fab_repair_label(const struct fab_repair_network *b, uint32_t from, bool up)
{
    return up ? 1 + from : 2 * (b->n + 1) * FAB_REPAIR_LABEL_GAP - from;
}

/* Returns the channel that leaves the switch by its port `num`; FAB_NONE: that port has no ISL. */
static inline uint32_t fab_repair_channel(const struct fab_repair_network *b, uint32_t sw,
                                          uint8_t num)
{
    uint32_t port = b->first[sw] + num;
    return port < b->first[sw + 1] && b->peer_sw[port] != FAB_NONE ? port : FAB_NONE;
}
/* Returns the port at the other end of a channel's link. */
static inline uint32_t fab_repair_peer_port(const struct fab_repair_network *b, uint32_t channel)
{
    return b->first[b->peer_sw[channel]] + b->peer_num[channel];
}

/* Returns true if the channel leads to a switch with a higher position in the order from which the
 * labels follow. Its label is then lower than that of the channel in the opposite direction. */
static inline bool fab_repair_goes_up(const struct fab_repair_network *b, const uint32_t *label,
                                      uint32_t channel)
{
    return label[channel] < label[fab_repair_peer_port(b, channel)];
}

/* Returns the switch that a channel leaves. */
static inline uint32_t fab_repair_switch_of(const struct fab_repair_network *b, uint32_t channel)
{
    return b->peer_sw[fab_repair_peer_port(b, channel)];
}

/* A heap of 64-bit numbers. fab_repair_heap_pop removes and returns the greatest one. The caller's
 * array must have room for all elements that are pushed. */
static inline void fab_repair_heap_push(uint64_t *heap, uint32_t *count, uint64_t key)
{
    uint32_t i = (*count)++;
    for (; i > 0 && heap[(i - 1) / 2] < key; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = key;
}
static inline uint64_t fab_repair_heap_pop(uint64_t *heap, uint32_t *count)
{
    uint64_t top = heap[0], last = heap[--*count];
    uint32_t i = 0;
    for (uint32_t child = 1; child < *count; child = 2 * i + 1) {
        child += child + 1 < *count && heap[child + 1] > heap[child];
        if (heap[child] <= last)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

/* An entry of the active tables that differs from the baseline. All such entries form the
 * overlay. */
struct fab_repair_entry {
    uint32_t lid, sw;
    uint8_t baseline, now;
};

enum fab_repair_mark {
    FAB_MARK_NONE, /* the entry in the active tables applies */
    /* the switch's entry is in entry[] of the column, not in the active tables
     * (fab_repair_column_set) */
    FAB_MARK_KNOWN,
    /* the switch's entry must be decided; entry[] of the column still has the value of the
     * baseline */
    FAB_MARK_PENDING,
    /* the switch's entry was decided: entry[] and len[] of the column have the result */
    FAB_MARK_SETTLED,
    /* no path with ascending labels was found, though living links may connect the switch with the
     * destination (comments call this a CUT switch) */
    FAB_MARK_CUT,
};
/* The channel by which a switch forwards packets to the current LID. The array still has values
 * that were computed for earlier LIDs, which must not be used. Therefore the upper half of `at`
 * names the column by ~epoch, which is greater for earlier columns than for the current one. So one
 * comparison, `at` <= (~epoch << 32 | label), tests two conditions: the value belongs to the
 * current column, and its label is at most `label`. */
struct fab_repair_next_hop {
    /* Upper 32 bits: ~epoch of the column for which the channel was computed. Lower 32 bits: the
     * label, which is FAB_REPAIR_DELIVERED at the destination switch, and 0 if the switch is
     * undecided or sends nothing. */
    uint64_t at;
    uint32_t channel; /* the channel, or FAB_NONE */
    uint32_t num;     /* port number of the channel, or FAB_NONE */
};

/* Path length of a switch that has no usable path; other path lengths are in hops. A path is not
 * usable if it has max_hops hops or more, uses a dead link, or passes a switch whose entry is not
 * yet decided. */
#define FAB_REPAIR_FAR UINT16_MAX

/* A column that is being decided: the entries of all switches for one LID, which comments call the
 * current LID. While no column is being decided, mark[] of every switch is FAB_MARK_NONE. */
struct fab_repair_column {
    const struct fab_lft *lft;
    uint32_t lid, home;
    /* [ports] labels of the channels on the VL of packets to this LID. If the VL depends on the
     * source, too (network->pair_vl), all labels are 1, and labels/lanes.c has the rules. */
    const uint32_t *label;
    /* the active entries of this LID, in a tile (column/tile.c); NULL: read them from the tables */
    const uint8_t *table;
    uint8_t *mark; /* [switches] enum fab_repair_mark */
    /* [switches] LFT entry (out port) of each switch; valid where mark[] is not FAB_MARK_NONE */
    uint8_t *entry;
    /* [switches] number of hops of each switch's path in the baseline; valid where mark[] is
     * FAB_MARK_PENDING */
    uint16_t *old;
    /* [switches] number of hops of each switch's path to the LID; valid where seen[] is `epoch` */
    uint16_t *len;
    /* [switches] the epoch in which len[] was computed */
    uint32_t *seen;
    /* number of the column that is being decided; it increases by one from column to column */
    uint32_t epoch;
    /* [switches] whether the switch's entry is stale (struct fab_repair_change) */
    bool *stale;
    struct fab_repair_next_hop *next_hop; /* [switches] */
    uint32_t *touched;                    /* the switches whose mark is not FAB_MARK_NONE */
    uint32_t touches;
    /* true: in this column, some switch got a channel whose label is above the key (minimum label)
     * that the switch had */
    bool label_rose;
    /* heap of the pending switches; the switch with the greatest key comes first */
    uint64_t *heap;
    uint32_t heap_count;
    /* scratch memory of column/detour.c: [switches] the channel over which the search reached each
     * switch; [switches] the switches that it reached; a bitset of them */
    uint32_t *via, *queue;
    uint64_t *reached;
    uint32_t detour_work; /* number of channels that these searches have read in this column */
};

/* A list of the channels of switch `sw` whose labels are at least `key`, as ascending port numbers.
 * A cache keeps such lists for later columns. */
struct fab_repair_candidates {
    uint32_t sw, key, count;
    /* true: the list has only the channels whose label is exactly `key` */
    bool equal;
    /* the labels for which num[] was made; NULL: this list is not in use */
    const uint32_t *label;
    uint8_t num[256];
};
/* number of lists of candidates that are cached */
#define FAB_REPAIR_CANDIDATES 1024

#define FAB_REPAIR_TILE_LIDS 64 /* maximum number of LIDs in a tile */
/* A tile (column/tile.c) is a copy of the columns of consecutive LIDs, in which the entries of a
 * column are adjacent in memory. It is valid until the tables change. If there is no memory for a
 * tile, the columns are read from the tables. */
struct fab_repair_tile {
    /* the tile has the entries for the LIDs first to first + count - 1; count 0: it is empty */
    uint32_t first, count;
    size_t room;    /* allocated size of table[] in bytes */
    uint8_t *table; /* [count][switches] the copied entries */
};

/* The link loads by which a rebalance chooses among equally long paths (balance.c). */
struct fab_repair_balance {
    /* true: load[] has the loads of the active tables as they were before the changes in moved[] */
    bool exact;
    int64_t *load; /* [ports] */
    /* [moves] the entries that the last commit has changed */
    struct fab_repair_change *moved;
    size_t moves, move_room;
    /* bitset [ports] of the channels whose load the running call has changed; empty between two
     * calls */
    uint64_t *touched;
    int64_t *former; /* [ports] loads of the channels in touched[] before the running call */
    /* true: the column that is being decided is rebalanced (struct fab_repair_window) */
    bool improving;
};

/* A relabelled switch: a switch that, while certain links are dead, has the position `place` in the
 * order instead of its position in network->order[] (labels/reorder.c). */
struct fab_repair_relabel {
    uint32_t sw, place;
};

/* The graphs of channel dependencies of the running call, one for each VL, and their labels
 * (labels/dependencies.c). Between two calls they may have more dependencies than the baseline;
 * each call begins with fab_repair_dependencies_reset. */
struct fab_repair_dependencies {
    /* like the members of fab_repair_network; NULL: not allocated yet */
    uint64_t *next, *previous;
    uint32_t *label; /* [vl_count][ports] */
    /* [undos] what the running call has changed, in the order of the changes */
    struct fab_repair_undo *undo;
    size_t undos, undo_room;
    bool failed;   /* true: memory ran out */
    uint64_t work; /* number of channels that searches have visited since the reset */
    /* scratch memory for one addition: [ports] lists of label << 32 | channel, and a bitset
     * [ports], which is empty between two additions */
    uint64_t *ahead, *behind, *seen;
};

struct fab_repair {
    struct fab_repair_network *network;
    /* the labels that the running call uses: one set of network->label, own_label, or graph.label
     */
    uint32_t *label;
    /* [vl_count][ports] the labels while switches are relabelled; NULL: no switch was relabelled
     * yet */
    uint32_t *own_label;
    /* The members from here to `commits` are the state of the repair. Only fab_repair_commit
     * changes them; fab_repair_contingencies_adopt may also increase `commits`. */
    uint32_t label_set;
    struct fab_repair_relabel *relabel;
    size_t relabels;
    struct fab_repair_entry *entry; /* the overlay, in the order of LIDs */
    size_t entries;
    /* ids of the ports of dead links, ascending */
    uint32_t *dead;
    size_t deads;
    uint64_t commits; /* number of commits that changed the state */
    struct fab_repair_balance balance;
    /* While *stop is not 0, fab_repair_plan and fab_repair_prove return BUSY soon. Another thread
     * may set it. NULL: they cannot be stopped. */
    const int *stop;
    /* the following members are scratch memory, which functions use only while they run */
    /* bitset [ports] of the ports whose links are dead for the running call; no bit is set between
     * calls */
    uint64_t *is_dead;
    /* [switches] number of living ISLs of each switch; between calls equal to network->degree */
    uint32_t *alive;
    /* [switches] lowest id of the switches in the same connected component
     * (fab_repair_find_components); undefined between calls */
    uint32_t *component;
    /* [switches] set of the maxima that each switch reaches by going up (labels/maxima.c), for the
     * labels and dead links of the running call; valid if maxima_known is true */
    uint64_t *maxima;
    bool maxima_known;
    /* true: paths to switches may lead over detours (column/detour.c), because the last
     * fab_repair_relabel_find connected maxima with the root over a switch two links away */
    bool detours;
    /* detoured: `detours` of the active tables. no_detours: see fab_repair_permit_detours. */
    bool detoured, no_detours;
    /* [FAB_REPAIR_CANDIDATES] cached lists of candidates, indexed by a hash of switch and key */
    struct fab_repair_candidates *candidates;
    struct fab_repair_column column;
    struct fab_repair_tile tile;
    struct fab_repair_dependencies graph; /* only if network->pair_vl is not NULL */
    /* bitset [ports] of the ports whose links are in the escape tree of the running attempt
     * (labels/escape_tree.c); NULL: not allocated yet */
    uint64_t *tree;
    bool has_tree; /* false: the running attempt has no escape tree */
    /* number of channels that the searches of column/relax.c have read so far for the repair that
     * is being computed */
    uint64_t relax_work;
};

/* Returns the switch at the other end of the port's link; FAB_NONE: the link is dead, or leads to
 * no switch. */
static inline uint32_t fab_repair_neighbour(const struct fab_repair *r, uint32_t port)
{
    return fab_base_bits_get(r->is_dead, port) ? FAB_NONE : r->network->peer_sw[port];
}

static inline bool fab_repair_must_stop(const struct fab_repair *r)
{
    return r->stop != NULL && __atomic_load_n(r->stop, __ATOMIC_RELAXED) != 0;
}

/* Returns the switch's entry for the current LID in the active tables. */
static inline uint8_t fab_repair_table_entry(const struct fab_repair_column *c, uint32_t sw)
{
    return c->table != NULL ? c->table[sw] : fab_target_lft_at(c->lft, sw, c->lid);
}
/* Returns the switch's entry for the current LID: entry[] if the switch has a mark, otherwise the
 * value in the active tables. */
static inline uint8_t fab_repair_column_entry(const struct fab_repair_column *c, uint32_t sw)
{
    return c->mark[sw] != FAB_MARK_NONE ? c->entry[sw] : fab_repair_table_entry(c, sw);
}

/* functions of column/tile.c */
/* Copies the columns of the LIDs first to first + count - 1 into the tile. If memory runs out, the
 * tile is empty afterwards. */
void fab_repair_tile_load(struct fab_repair *r, const struct fab_lft *lft, uint32_t first,
                          uint32_t count);
/* Returns how many consecutive LIDs, from `first` on, the same switch delivers. Counts at most as
 * many LIDs as fit into a tile, and only LIDs in the same page of the tables as `first`. */
uint32_t fab_repair_tile_width(const struct fab_repair *r, uint32_t first);

/* functions of column/column.c */
void fab_repair_column_begin(struct fab_repair *r, const struct fab_lft *lft, uint32_t lid);
/* Makes `entry` the entry of the switch in this column, in place of its entry in the active
 * tables. */
void fab_repair_column_set(struct fab_repair *r, uint32_t sw, uint8_t entry);
/* Marks the switch PENDING if its entry for the current LID leads into a dead link. Its entry must
 * then be decided again. */
void fab_repair_column_mark_pending(struct fab_repair *r, uint32_t sw);
/* Decides the entries of all switches that are marked PENDING. The marks stay until
 * fab_repair_column_end. */
void fab_repair_column_solve(struct fab_repair *r);
void fab_repair_column_end(struct fab_repair *r);
/* Marks the switch PENDING if its entry for the current LID leads to a channel, but its path does
 * not work. Returns true if it marked the switch. Called for switches with a link that led up
 * before a relabelling and now leads down: beyond this link, packets may find no path, although the
 * link is alive. */
bool fab_repair_column_reopen(struct fab_repair *r, uint32_t sw);
/* Returns true if the switch has a usable path to the current LID. */
bool fab_repair_column_works(struct fab_repair *r, uint32_t sw);
/* Returns the number of hops of the path that begins with `channel`, a channel of a living link.
 * Returns FAB_REPAIR_FAR if the path does not continue to the destination, if it is too long
 * (max_hops), or if its labels do not ascend. */
uint16_t fab_repair_column_length(struct fab_repair *r, uint32_t channel);
/* Marks the switch SETTLED: it forwards to `channel`, and its path has `length` hops. */
void fab_repair_column_settle(struct fab_repair *r, uint32_t sw, uint32_t channel, uint16_t length);
/* Guesses to which neighbour `sw` will forward the LID once its entry is decided; only for
 * prefetches. The guess is the first candidate that the decision tries, if the minimum label is
 * that of the channel of `entry`, the present LFT entry of `sw`. Returns FAB_NONE if this entry is
 * not the port of an ISL. */
uint32_t fab_repair_likely_next(struct fab_repair *r, uint32_t sw, uint8_t entry, uint32_t lid);

/* Finds paths for CUT switches (FAB_MARK_CUT) that living links connect with the destination. Such
 * a switch found no path because the labels do not ascend where its path would meet the entries of
 * other switches (column/relax.c). Does nothing if earlier searches of the same repair have taken
 * too long (relax_work). Returns NOMEM. */
int fab_repair_column_relax(struct fab_repair *r);

/* function of column/detour.c */
/* Finds a path for a pending switch that found none, over channels whose label is the key or
 * greater. Changes the entries of other switches on this path, if they have no path either. Returns
 * false if there is no such path, or if the searches of this column have read all channels once. */
bool fab_repair_column_detour(struct fab_repair *r, uint32_t sw, uint32_t key);

/* function of column/lane_search.c */
/* Like fab_repair_column_relax, if network->pair_vl is not NULL. */
int fab_repair_column_search_lanes(struct fab_repair *r);

/* function of column/escape.c */
/* Decides the entries for the current LID along the escape tree (r->tree), as far as this is needed
 * to give each switch a path. Returns NOMEM. */
int fab_repair_column_escape(struct fab_repair *r);

#define FAB_REPAIR_PREFETCH_MAX 16 /* maximum number of entries in one call */
/* Brings into the processor's cache the table entries that the decisions about affected[count] will
 * probably read (column/prefetch.c). Each element of affected[] is LID << 32 | switch. */
void fab_repair_prefetch(struct fab_repair *r, const struct fab_lft *lft, const uint64_t *affected,
                         size_t count);

static inline uint32_t *fab_repair_label_set(const struct fab_repair_network *b, uint32_t set)
{
    return b->label + (size_t)set * b->vl_count * b->ports;
}
/* Returns the labels [ports] of the VL that packets to the LID take. If this VL depends on the
 * source, too, returns network->flat. */
static inline const uint32_t *fab_repair_labels_for(const struct fab_repair *r, uint32_t lid)
{
    const struct fab_repair_network *b = r->network;
    if (b->pair_vl != NULL)
        return b->flat;
    return r->label + (b->vl != NULL ? (size_t)b->vl[lid] * b->ports : 0);
}

/* balance.c */
/* Allocates the arrays of the link loads *l. Returns NOMEM. */
int fab_repair_balance_init(struct fab_repair_balance *l, const struct fab_repair_network *b);
void fab_repair_balance_fini(struct fab_repair_balance *l);
/* If from->exact is set, copies load[] and moved[] to *to, and sets to->exact. Otherwise leaves *to
 * unchanged. *to must be initialised. Returns NOMEM. */
int fab_repair_balance_copy(const struct fab_repair_balance *from,
                            const struct fab_repair_network *b, struct fab_repair_balance *to);
size_t fab_repair_balance_memory(const struct fab_repair_network *b);
/* Counts the paths of the active tables `lft` in balance.load[]: one path for each pair of an
 * endport and the LID of another endport. A path over a link that is marked as dead is counted only
 * up to this link. If balance.exact is true, counts only the paths to LIDs whose entries have
 * changed. Returns OK or NOMEM. */
int fab_repair_balance_count(struct fab_repair *r, const struct fab_lft *lft);
/* Records the changes of a delta in moved[], unless the next count must count all paths anyway.
 * `lft` holds the tables before the change. */
void fab_repair_balance_record(struct fab_repair *r, const struct fab_lft *lft,
                               const struct fab_repair_delta *d);
/* Adds paths to the load of a channel. fab_repair_balance_undo removes them again. */
void fab_repair_balance_add(struct fab_repair *r, uint32_t channel, int64_t paths);
/* Undoes all calls of fab_repair_balance_add, and allocates memory for the commit of the delta.
 * Returns NOMEM. */
int fab_repair_balance_undo(struct fab_repair *r, const struct fab_repair_delta *d);

/* functions of dead_links.c */
/* Fills d->dead with the ids of both ports of each ISL that dead[count] names, in ascending order
 * and without duplicates. Returns NOMEM. */
int fab_repair_list_dead(const struct fab_repair_network *b, const uint32_t *dead, size_t count,
                         struct fab_repair_delta *d);
/* Marks the links of d->dead as dead, and uses the labels of the delta, until fab_repair_undo_dead
 * is called. */
void fab_repair_apply_dead(struct fab_repair *r, const struct fab_repair_delta *d);
void fab_repair_undo_dead(struct fab_repair *r, const struct fab_repair_delta *d);
/* Returns true if the port's link was dead at the last fab_repair_commit. Links that only the
 * running call marks as dead do not count. */
bool fab_repair_was_dead(const struct fab_repair *r, uint32_t port);
/* Finds the connected components of living links. Sets component[sw] to the lowest id of the
 * switches in the component of `sw`. */
void fab_repair_find_components(struct fab_repair *r);

/* Number of channels (graph.work) after which a repair looks for no further paths. This takes about
 * 20 ms. */
#define FAB_REPAIR_WORK_MAX 2000000

/* functions of labels/dependencies.c, only if network->pair_vl is not NULL */
/* Begins with the dependencies and labels of the baseline. Returns NOMEM. */
int fab_repair_dependencies_reset(struct fab_repair *r);
void fab_repair_dependencies_fini(struct fab_repair_dependencies *g);
size_t fab_repair_dependencies_memory(const struct fab_repair *r);
/* Adds the dependency of the channel `from` on the channel `to` on a VL. Returns false if it would
 * close a cycle of living channels, or if memory runs out (graph.failed). */
bool fab_repair_dependencies_add(struct fab_repair *r, uint32_t vl, uint32_t from, uint32_t to);
/* Takes back all changes after the first `mark` records of graph.undo[]. */
void fab_repair_dependencies_undo(struct fab_repair *r, size_t mark);
/* Returns true if the labels ascend along all dependencies between living channels. */
bool fab_repair_dependencies_ascend(const struct fab_repair *r);

/* function of labels/escape_tree.c, only if network->pair_vl is not NULL */
/* Finds an escape tree of living links, and adds the dependencies of all paths along it to the
 * graphs of all VLs. The graphs must have the dependencies of the active tables. Sets r->has_tree
 * to false, and adds no dependency, if it finds no tree that connects all switches that living
 * links connect. Returns NOMEM. */
int fab_repair_tree_find(struct fab_repair *r);

/* functions of labels/lanes.c, only if network->pair_vl is not NULL */
/* The next two functions examine two kinds of packets for the current LID: all packets that pass
 * switch `sw` (FAB_NONE: there are none), and further packets that begin with `channel`, on the VLs
 * of the set `lanes`. Packets of both kinds leave by `channel`. They continue on the channels
 * next[channel], next[next[channel]] and so on, up to FAB_NONE; if next is NULL, by the entries of
 * the column. Packets from switches that are PENDING or CUT do not count.
 *
 * fab_repair_lanes_add adds the dependencies of their paths. It returns false, and adds none, if
 * they would close a cycle on some VL, if the path has a loop, or if memory runs out
 * (graph.failed). fab_repair_lanes_allow returns the same, and adds none. */
bool fab_repair_lanes_add(struct fab_repair *r, uint32_t sw, uint32_t channel, unsigned lanes,
                          const uint32_t *next);
bool fab_repair_lanes_allow(struct fab_repair *r, uint32_t sw, uint32_t channel, unsigned lanes,
                            const uint32_t *next);
/* Returns true if the labels r->label ascend along the paths of all packets for the current LID
 * that pass switch `sw`, which forwards them by `channel`. */
bool fab_repair_lanes_ascend(struct fab_repair *r, uint32_t sw, uint32_t channel);

/* Adds the dependencies of all packets for a LID that pass an entry of the overlay, entry[entries],
 * or a change, change[changes]. The changes replace entries of the overlay. Returns false, and adds
 * none, in the same cases as fab_repair_lanes_add. */
bool fab_repair_lanes_add_column(struct fab_repair *r, const struct fab_lft *lft, uint32_t lid,
                                 const struct fab_repair_entry *entry, size_t entries,
                                 const struct fab_repair_change *change, size_t changes);
/* Makes the graphs of dependencies: those of the baseline, and those of the tables after the
 * changes d->change[], which must be sorted by LID. If d is NULL, there are no changes. Returns
 * CYCLE if there is a cycle, or NOMEM. */
int fab_repair_lanes_collect(struct fab_repair *r, const struct fab_lft *lft,
                             const struct fab_repair_delta *d);
/* Returns true if labels ascend from the channel `from` to the channel `to`. Only if
 * network->pair_vl is NULL. */
static inline bool fab_repair_turn_ascends(const struct fab_repair *r, uint32_t from, uint32_t to)
{
    return r->column.label[from] < r->column.label[to];
}

/* function of labels/reorder.c */
/* Fills d->relabel with the switches that need another position in the order (network->order) while
 * the delta's links are dead. The caller has marked these links (fab_repair_apply_dead). Returns
 * UNSUPPORTED if detours are forbidden and the active tables have some (fab_repair_permit_detours),
 * or NOMEM. */
int fab_repair_relabel_find(struct fab_repair *r, struct fab_repair_delta *d);

/* function of proof.c */
/* Like fab_repair_prove. *ret_lost: the number of entries that were excused because no endport
 * sends to an endport through them, at most d->lost. */
int fab_repair_prove_losses(struct fab_repair *r, const struct fab_lft *lft,
                            const struct fab_repair_delta *d, struct fab_repair_change *ret_at,
                            size_t *ret_lost);

/* functions of labels/relabel.c */
void fab_repair_relabel_apply(struct fab_repair *r, const struct fab_repair_delta *d);
void fab_repair_relabel_undo(struct fab_repair *r, const struct fab_repair_delta *d);
/* Returns true if the delta's labels permit all turns that the baseline's labels permit. Whenever
 * the baseline's labels ascend from one living channel to another, the delta's labels must ascend,
 * too. */
bool fab_repair_relabel_sound(const struct fab_repair *r, const struct fab_repair_delta *d);

/* functions of labels/maxima.c */
/* Fills r->maxima. Does nothing if it is already filled, or if the labels do not follow from an
 * order. Returns NOMEM. */
int fab_repair_maxima_find(struct fab_repair *r);
/* Returns false if the labels certainly allow no path from `sw` to the switch `home`; true: there
 * may be a path. */
static inline bool fab_repair_may_reach(const struct fab_repair *r, uint32_t sw, uint32_t home)
{
    return !r->maxima_known || (r->maxima[sw] & r->maxima[home]) != 0;
}

/* functions of affected.c */
/* Finds the entries of the active tables that lead into links of d->dead. Omits the entries of
 * switches without a living link. *ret_key is an array with LID << 32 | switch for each entry
 * found, ascending; the caller frees it. Returns NOMEM. */
int fab_repair_find_affected(const struct fab_repair *r, const struct fab_lft *lft,
                             const struct fab_repair_delta *d, uint64_t **ret_key,
                             size_t *ret_count);
/* Sorts 64-bit numbers by a part of their bits: `bits` bits, of which the lowest has the number
 * `shift`. Numbers that are equal in these bits keep their order. `room` is scratch memory of the
 * same length. Returns the sorted array, which is either `keys` or `room`. */
uint64_t *fab_repair_radix_sort(uint64_t *keys, uint64_t *room, size_t count, unsigned shift,
                                unsigned bits);

/* The LIDs whose displaced entries fab_repair_rebalance decides again. The first of these LIDs is
 * the one after `after`. The last one is the LID at which the number of changed entries reaches
 * `most`. last: the last of these LIDs. more: true if LIDs remain after `last`. */
struct fab_repair_window {
    uint32_t after, last;
    size_t most;
    bool more;
};
/* Computes a delta (delta.c) with the set of labels number `label_set`. window: the LIDs to
 * rebalance; NULL: no rebalance. Returns UNSUPPORTED (fab_repair_plan), BUSY if *r->stop is not 0,
 * or NOMEM. */
int fab_repair_delta_make(struct fab_repair *r, uint32_t label_set, const struct fab_lft *lft,
                          const uint32_t *dead, size_t count, struct fab_repair_window *window,
                          struct fab_repair_delta *ret, char *why, size_t why_len);

#endif
