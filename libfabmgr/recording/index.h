/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of a recording: its MADs in order, the request of each answer, and lists of requests
 * with the same content. For this folder only. */
#ifndef LIBFABMGR_RECORDING_INDEX_H
#define LIBFABMGR_RECORDING_INDEX_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/recording/recording.h"

#define FAB_RECORDING_NONE UINT32_MAX

struct fab_recording_item {
    size_t at;     /* offset of the entry in the bytes */
    uint64_t time; /* not decreasing */
    uint32_t pair; /* OUT: the first answer to it; IN: the request that it answers; or NONE */
    uint32_t next; /* OUT: the next one with this content */
    bool out;
    /* Used by the player: */
    bool asked, done;        /* OUT; IN */
    uint32_t earlier, later; /* OUT with an expected answer: neighbours in the order of requests */
    uint64_t asked_us, tid;  /* OUT */
    uint32_t patience_us;    /* OUT: how long its answer may be held back to keep the order */
};
struct fab_recording_index {
    const uint8_t *bytes;
    size_t len;
    struct fab_recording_header header;
    struct fab_recording_item *items;
    uint32_t count, outs, ins, orphans;
    uint32_t last_in; /* index after the last IN */
    uint64_t end_us;
    uint64_t judged_us;   /* all that was sent before this time is in the recording and can be
                             compared */
    int tail;             /* OK, TRUNCATED, FORMAT */
    struct fab_map heads; /* from the hash of a content to the first OUT with it */
};
int fab_recording_index_build(struct fab_recording_index *s, const uint8_t *bytes, size_t len);
void fab_recording_index_fini(struct fab_recording_index *s);
/* Reads the entry of an item again. */
void fab_recording_index_entry(const struct fab_recording_index *s, uint32_t item,
                               uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* Removes and returns the first remaining OUT with the content of this MAD; or NONE. */
uint32_t fab_recording_index_take(struct fab_recording_index *s,
                                  const struct fab_recording_entry *mad);

#endif
