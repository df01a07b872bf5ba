/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of a recording. It has the MADs in order, the request of each answer, and lists of the
 * requests whose contents have the same hash. In comments, "sent" and "received" refer to the
 * recorded manager, unless a comment names the replaying manager. For this folder only. */
#ifndef LIBFABMGR_RECORDING_INDEX_H
#define LIBFABMGR_RECORDING_INDEX_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/recording/recording.h"

#define FAB_RECORDING_NONE UINT32_MAX

struct fab_recording_item {
    /* offset in bytes of the entry in the recording */
    size_t at;
    /* time of the entry in us since the start of the recording; it is never lower than the time of
     * the entry before */
    uint64_t time;
    /* For a sent MAD, the index of the first received MAD that answers it. For a received MAD, the
     * index of the sent MAD that it answers. NONE: there is none. */
    uint32_t pair;
    /* for a sent MAD, the index of the next sent MAD with the same hash */
    uint32_t next;
    bool out;
    /* true: the MAD is of the class PerfMgt */
    bool perf;
    /* The following members are for the player (player.c); index.c only sets `done`. */
    /* asked: for a sent MAD: the replaying manager has sent the same MAD. done: for a received MAD:
     * the player has delivered it, or must never deliver it, because it answers no request of the
     * recording. */
    bool asked, done;
    /* For a sent MAD: its neighbours in the player's list of requests whose answers are due. */
    uint32_t earlier, later;
    /* Only if the replaying manager has sent this MAD, too: the time in us at which it did so
     * (asked_us), and the TID of its MAD. */
    uint64_t asked_us, tid;
    /* for a sent MAD: time in us by which the player may delay the answer, so that MADs arrive in
     * the order of the recording */
    uint32_t patience_us;
};
struct fab_recording_index {
    const uint8_t *bytes;
    size_t len;
    struct fab_recording_header header;
    struct fab_recording_item *items;
    uint32_t count, outs, ins;
    /* 1 + index in items[] of the last received MAD; 0: the recording has no received MAD */
    uint32_t last_in;
    uint64_t end_us;
    /* Time in us, one second before the end of the recording. MADs that the replaying manager sends
     * later never count as unexpected, because the recorded manager may have sent them after the
     * recording ended. */
    uint64_t judged_us;
    /* how the recording ends (fab_recording_player_tail): OK, TRUNCATED or FORMAT */
    int tail;
    /* hash of the contents of a MAD -> index of the first sent MAD with this hash */
    struct fab_map heads;
};
int fab_recording_index_build(struct fab_recording_index *s, const uint8_t *bytes, size_t len);
void fab_recording_index_fini(struct fab_recording_index *s);
/* Reads the entry of items[item] from the recording. */
void fab_recording_index_entry(const struct fab_recording_index *s, uint32_t item,
                               uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* Finds the first sent MAD that has the same content as `mad` and was not taken yet. Takes it
 * (removes it from the list of its hash), and returns its index. NONE: there is none. */
uint32_t fab_recording_index_take(struct fab_recording_index *s,
                                  const struct fab_recording_entry *mad);

#endif
