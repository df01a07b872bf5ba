/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of a recording: its MADs in order, which answer which, and those of one content. */
#ifndef LIBFABMGR_RECORDING_INDEX_H
#define LIBFABMGR_RECORDING_INDEX_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/recording/recording.h"

#define FAB_RECORDING_NONE UINT32_MAX

struct fab_recording_item {
    size_t at;     /* of the entry, in the bytes */
    uint64_t time; /* never falling */
    uint32_t pair; /* OUT: the first answer to it; IN: what it answers; or NONE */
    uint32_t next; /* OUT: the next one of this content */
    bool out;
    /* The player's: */
    bool asked, done;        /* OUT; IN */
    uint32_t earlier, later; /* OUT, while an answer is due: neighbours in the order of asking */
    uint64_t asked_us, tid;  /* OUT */
    uint32_t patience_us;    /* OUT: how long its answer may wait for its turn */
};
struct fab_recording_index {
    const uint8_t *bytes;
    size_t len;
    struct fab_recording_header header;
    struct fab_recording_item *items;
    uint32_t count, outs, ins, orphans;
    uint32_t last_in; /* index after the last IN */
    uint64_t end_us;
    uint64_t judged_us;   /* what was sent until then is all there, and can be compared */
    int tail;             /* OK, TRUNCATED, FORMAT */
    struct fab_map heads; /* from hash of content to the first OUT with it */
};
int fab_recording_index_build(struct fab_recording_index *s, const uint8_t *bytes, size_t len);
void fab_recording_index_fini(struct fab_recording_index *s);
/* The entry of an item, which could be read before. */
void fab_recording_index_entry(const struct fab_recording_index *s, uint32_t item,
                               uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* The first OUT left with the content of this one, which is taken away; or NONE. */
uint32_t fab_recording_index_take(struct fab_recording_index *s,
                                  const struct fab_recording_entry *mad);

#endif
