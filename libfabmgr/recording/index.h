/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of a recording. It has the MADs in order, the request of each answer, and lists of the
 * requests whose contents have the same hash. "Sent" and "received" mean: by the recorded manager.
 * If a comment speaks of the manager that replays the recording, it says so. For this folder
 * only. */
#ifndef LIBFABMGR_RECORDING_INDEX_H
#define LIBFABMGR_RECORDING_INDEX_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/recording/recording.h"

#define FAB_RECORDING_NONE UINT32_MAX

struct fab_recording_item {
    /* offset of the entry in the recording, in bytes */
    size_t at;
    /* time in us since the start of the recording; never less than the time of the entry before */
    uint64_t time;
    /* For a sent MAD, index of the first received MAD that answers it. For a received MAD, index of
     * the sent MAD that it answers. NONE: there is no such MAD. */
    uint32_t pair;
    /* index of the next sent MAD in the list of requests with the same hash */
    uint32_t next;
    bool out;
    /* true: the MAD is of the class PerfMgt */
    bool perf;
    /* Only the player (player.c) uses the following members. */
    /* asked: the replaying manager has sent the same MAD as this sent MAD. done: the player has
     * delivered this received MAD, or has left it out. */
    bool asked, done;
    /* Neighbours of a sent MAD in the player's list of requests whose answers are due. */
    uint32_t earlier, later;
    /* Valid if the replaying manager has sent this MAD, too. asked_us: time in us at which it was
     * sent in the run. tid: the TID that it had in the run. */
    uint64_t asked_us, tid;
    /* time in us for which the player may delay the answer to this sent MAD, so that MADs arrive in
     * the order of the recording */
    uint32_t patience_us;
};
struct fab_recording_index {
    const uint8_t *bytes;
    size_t len;
    struct fab_recording_header header;
    struct fab_recording_item *items;
    uint32_t count, outs, ins;
    /* index in items[] of the last received MAD, plus 1; 0: there is none */
    uint32_t last_in;
    uint64_t end_us;
    /* Time in us, one second before the end of the recording. If the replaying manager sends a MAD
     * after this time, the player does not count the MAD as unexpected, because the recorded
     * manager may have sent it after the recording ended. */
    uint64_t judged_us;
    /* how the recording ends: OK, TRUNCATED or FORMAT */
    int tail;
    /* maps the hash of contents to the index of the first sent MAD in the list of requests with
     * this hash */
    struct fab_map heads;
};
int fab_recording_index_build(struct fab_recording_index *s, const uint8_t *bytes, size_t len);
void fab_recording_index_fini(struct fab_recording_index *s);
/* Reads the entry of items[item] from the recording. */
void fab_recording_index_entry(const struct fab_recording_index *s, uint32_t item,
                               uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* Finds the first sent MAD with the same content as `mad` that is still in the list of its hash.
 * Removes this MAD from the list, and returns its index. NONE: there is no such MAD. */
uint32_t fab_recording_index_take(struct fab_recording_index *s,
                                  const struct fab_recording_entry *mad);

#endif
