/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of a recording: its MADs in order, the request of each answer, and lists of requests
 * whose contents have the same hash. For this folder only. */
#ifndef LIBFABMGR_RECORDING_INDEX_H
#define LIBFABMGR_RECORDING_INDEX_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/recording/recording.h"

#define FAB_RECORDING_NONE UINT32_MAX

struct fab_recording_item {
    size_t at;     /* offset of the entry in the bytes */
    uint64_t time; /* not decreasing */
    uint32_t pair; /* OUT: its first answer; IN: the request that it answers; or NONE */
    uint32_t next; /* OUT: the next request in the list */
    bool out;
    /* Used by the player: */
    bool asked, done;        /* OUT: the run has sent it; IN: it was delivered or is left out */
    uint32_t earlier, later; /* OUT whose answer is due: neighbours in the list of due answers */
    uint64_t asked_us, tid;  /* OUT */
    uint32_t patience_us; /* OUT: how long the player may hold back its answer to keep the order */
};
struct fab_recording_index {
    const uint8_t *bytes;
    size_t len;
    struct fab_recording_header header;
    struct fab_recording_item *items;
    uint32_t count, outs, ins, orphans;
    uint32_t last_in; /* index of the item after the last IN */
    uint64_t end_us;
    uint64_t judged_us; /* The player compares only MADs that the run sends before this time. Later
                           ones are not judged: the recording may have ended before it held their
                           counterparts. */
    int tail;           /* OK, TRUNCATED, FORMAT */
    struct fab_map heads; /* from the hash of a content to the first OUT in its list */
};
int fab_recording_index_build(struct fab_recording_index *s, const uint8_t *bytes, size_t len);
void fab_recording_index_fini(struct fab_recording_index *s);
/* Reads the entry of an item again. */
void fab_recording_index_entry(const struct fab_recording_index *s, uint32_t item,
                               uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* Removes the first remaining OUT with the content of this MAD from its list and returns it. NONE:
 * there is no such OUT. */
uint32_t fab_recording_index_take(struct fab_recording_index *s,
                                  const struct fab_recording_entry *mad);

#endif
