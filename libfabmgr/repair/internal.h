/* SPDX-License-Identifier: BSD-3-Clause */
/* What a repair knows that faults do not change, and its scratch space. Private to the room. */
#ifndef LIBFABMGR_REPAIR_INTERNAL_H
#define LIBFABMGR_REPAIR_INTERNAL_H

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/repair/repair.h"

#define FAB_REPAIR_DELIVERED UINT32_MAX /* above every label: packets leave the switches */

struct fab_repair_network {
    int refs; /* atomic */
    uint32_t n, ports, top, lanes;
    uint32_t max_hops;
    uint32_t *first;    /* [n + 1] port id of port 0 of a switch */
    uint32_t *hop;      /* [ports] the switch at the other end of a living cable, or FAB_NONE */
    uint8_t *back;      /* [ports] and the number of the port there */
    uint32_t *home;     /* [top + 1] switch where the LID's packets leave, or FAB_NONE */
    uint64_t *ends;     /* bitset of [top + 1]: LIDs of ends, not of switches */
    uint8_t *lane;      /* [top + 1] lane of the LID's packets; NULL: one lane */
    uint32_t *hosts;    /* [n] cables to ends */
    uint32_t *degree;   /* [n] cables to switches */
    uint32_t *order;    /* [n] labels go by this order of the switches; NULL: by chains */
    uint32_t sets;      /* of labels, each good for the baseline */
    uint32_t *label;    /* [sets][lanes][ports] 1.., of channels; 0 for others */
    const char *labels; /* how they were found */
};
/* All but label[]. */
int fab_repair_network_new(const struct fab_repair_input *in, struct fab_repair_network **ret);
struct fab_repair_network *fab_repair_network_ref(struct fab_repair_network *b);
void fab_repair_network_unref(struct fab_repair_network *b);
size_t fab_repair_network_memory(const struct fab_repair_network *b);

/* labels.c */
int fab_repair_labels_find(struct fab_repair_network *b, const struct fab_repair_input *in,
                           char *why, size_t why_len);
#define FAB_REPAIR_LABEL_GAP 16 /* between the places of an order: room for what is lifted */
/* Of a channel from a switch at place `from`. */
static inline uint32_t fab_repair_label(const struct fab_repair_network *b, uint32_t from,
                                        bool climbs)
{
    return climbs ? 1 + from : 2 * (b->n + 1) * FAB_REPAIR_LABEL_GAP - from;
}

/* The channel that entry `num` of a switch means, or FAB_NONE. */
static inline uint32_t fab_repair_channel(const struct fab_repair_network *b, uint32_t sw,
                                          uint8_t num)
{
    uint32_t port = b->first[sw] + num;
    return port < b->first[sw + 1] && b->hop[port] != FAB_NONE ? port : FAB_NONE;
}
/* The port at the other end of a channel's cable. */
static inline uint32_t fab_repair_peer_port(const struct fab_repair_network *b, uint32_t channel)
{
    return b->first[b->hop[channel]] + b->back[channel];
}

/* An entry of the tables in force that is not the baseline's. */
struct fab_repair_entry {
    uint32_t lid, sw;
    uint8_t base, now;
};

enum fab_repair_mark {
    FAB_MARK_NONE,    /* as the tables say */
    FAB_MARK_KNOWN,   /* entry[] has what the baseline says */
    FAB_MARK_PENDING, /* to be decided; entry[] still has the baseline */
    FAB_MARK_SETTLED, /* entry[] and len[] are decided */
    FAB_MARK_CUT,     /* no way left */
};
/* How packets go on at a switch. Columns are told apart by numbers that descend, in the upper half
 * of `at`: one comparison tells whether the label is above another, or not looked up yet. */
struct fab_repair_next_hop {
    uint64_t at;      /* ~now << 32 | label; 0: it is undecided, or sends nowhere; _END: home */
    uint32_t channel; /* or FAB_NONE */
    uint32_t num;     /* its port, or FAB_NONE */
};

/* One column: all switches' entries for one LID. Between columns all marks are NONE. */
struct fab_repair_column {
    const struct fab_lft *lft;
    uint32_t lid, home;
    const uint32_t *label; /* of the LID's lane */
    const uint8_t *table;  /* [n] the entries of the tables, or NULL: they are not gathered */
    uint8_t *mark;         /* [n] */
    uint8_t *entry;        /* [n] where marked */
    uint16_t *old;         /* [n] length of the way before, of pending ones */
    uint16_t *len;         /* [n] length of the way, where seen[] is `now` */
    uint32_t *seen;        /* [n] */
    uint32_t now;
    bool *stale;                        /* [n] */
    struct fab_repair_next_hop *onward; /* [n] */
    uint32_t *touched;                  /* [n] marked switches */
    uint32_t touches;
    bool raised;    /* a switch has got a greater label than it had to have */
    uint64_t *heap; /* [n] pending ones by key */
    uint32_t heaped;
};

/* Channels of a switch that have at least the label `key`: ports, ascending. */
struct fab_repair_candidates {
    uint32_t sw, key, count;
    bool equal;            /* and no greater one */
    const uint32_t *label; /* of the lane; NULL: nothing is known */
    uint8_t num[256];
};
#define FAB_REPAIR_CANDIDATES 1024 /* that are kept */

/* gather.c: columns of LIDs that follow each other, brought together until the tables change;
 * without memory they are not. */
#define FAB_REPAIR_TILE_LIDS 64 /* LIDs, at most */
struct fab_repair_tile {
    uint32_t first, count; /* LIDs; 0: none */
    size_t room;           /* bytes */
    uint8_t *table;        /* [count][n] */
};

/* lift.c: a switch at another place of the order, while some cables are dead. */
struct fab_repair_relabel {
    uint32_t sw, place;
};

struct fab_repair {
    struct fab_repair_network *base;
    uint32_t *label;                 /* of the call at work; the base's, or own_label */
    uint32_t *own_label;             /* [lanes][ports]; NULL: nothing was ever lifted */
    uint32_t set;                    /* of the tables in force */
    struct fab_repair_relabel *lift; /* of the tables in force */
    size_t lifts;
    struct fab_repair_entry *entry; /* by LID */
    size_t entries;
    uint32_t *dead; /* ports, ascending */
    size_t deads;
    uint64_t commits; /* up to here */
    /* Scratch; between calls as said. */
    uint64_t *dark;   /* bitset of [ports]: dead, of the call at work; else clear */
    uint32_t *alive;  /* [n] living cables to switches; else base->degree */
    uint32_t *island; /* [n] */
    struct fab_repair_candidates *candidates; /* [FAB_REPAIR_CANDIDATES] by switch and key */
    struct fab_repair_column column;
    struct fab_repair_tile gathered;
    uint64_t raised; /* channels looked at for that, in the plan at work */
};

/* The entry of the tables in force. */
static inline uint8_t fab_repair_table_entry(const struct fab_repair_column *c, uint32_t sw)
{
    return c->table != NULL ? c->table[sw] : fab_target_lft_row(c->lft, sw)[c->lid];
}
static inline uint8_t fab_repair_column_entry(const struct fab_repair_column *c, uint32_t sw)
{
    return c->mark[sw] != FAB_MARK_NONE ? c->entry[sw] : fab_repair_table_entry(c, sw);
}

void fab_repair_tile_load(struct fab_repair *r, const struct fab_lft *lft, uint32_t first,
                          uint32_t count);
/* How many of the LIDs from `first` on have the same home. */
uint32_t fab_repair_tile_width(const struct fab_repair *r, uint32_t first);

/* column.c: decides about all that are marked PENDING by fab_repair_column_mark_pending; marks
 * stay. */
void fab_repair_column_begin(struct fab_repair *r, const struct fab_lft *lft, uint32_t lid);
void fab_repair_column_set(struct fab_repair *r, uint32_t sw, uint8_t entry); /* of the baseline */
void fab_repair_column_mark_pending(struct fab_repair *r,
                                    uint32_t sw); /* if its entry leads into the dark */
void fab_repair_column_solve(struct fab_repair *r);
void fab_repair_column_end(struct fab_repair *r);

/* raise.c: ways for those that are cut off by nothing but others' entries. NOMEM. */
int fab_repair_column_relax(struct fab_repair *r);

/* Where the first candidate leads whose turn it is, when the switch's entry is dark; or FAB_NONE.
 */
uint32_t fab_repair_likely_next(struct fab_repair *r, uint32_t sw, uint8_t entry, uint32_t lid);

/* warm.c: so many places (LID << 32 | switch) at a time, at most. */
#define FAB_REPAIR_PREFETCH_MAX 16
void fab_repair_prefetch(struct fab_repair *r, const struct fab_lft *lft, const uint64_t *place,
                         size_t count);

static inline uint32_t *fab_repair_label_set(const struct fab_repair_network *b, uint32_t set)
{
    return b->label + (size_t)set * b->lanes * b->ports;
}
static inline const uint32_t *fab_repair_labels_for(const struct fab_repair *r, uint32_t lid)
{
    const struct fab_repair_network *b = r->base;
    return r->label + (b->lane != NULL ? (size_t)b->lane[lid] * b->ports : 0);
}

/* Dark cables, and labels as they are then: for the time of a call. */
void fab_repair_apply_dead(struct fab_repair *r, const struct fab_repair_delta *d);
void fab_repair_undo_dead(struct fab_repair *r, const struct fab_repair_delta *d);

/* Which switches are lifted when the delta's cables are dead, which are dark: into d->lift. NOMEM.
 */
int fab_repair_relabel_find(struct fab_repair *r, struct fab_repair_delta *d);
void fab_repair_relabel_apply(struct fab_repair *r, const struct fab_repair_delta *d);
void fab_repair_relabel_undo(struct fab_repair *r, const struct fab_repair_delta *d);
/* True when the labels are not those of the tables in force. */
bool fab_repair_labels_differ(const struct fab_repair *r, const struct fab_repair_delta *d);
/* True when each turn between living cables that ascends in the base ascends after the lifts. */
bool fab_repair_relabel_sound(const struct fab_repair *r, const struct fab_repair_delta *d);
/* island[s]: the lowest switch that living cables lead to. */
void fab_repair_find_components(struct fab_repair *r);

/* Stable sort of 64-bit keys by bits [shift, shift + bits). room: as many. Returns where the result
 * is: keys or room. */
uint64_t *fab_repair_radix_sort(uint64_t *keys, uint64_t *room, size_t count, unsigned shift,
                                unsigned bits);

#endif
