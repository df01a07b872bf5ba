/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A player replaces the fabric in a run of the manager: it answers MADs as the recorded fabric did.
 * Times are in microseconds by the clock of the run, which should be virtual.
 *
 * The content of a request identifies it: class, method, attribute, modifier, directed route or
 * LID, and the payload (except that of an SMP with the method Get). TID and M_Key do not count. If
 * several requests have the same content, the n-th one gets what the n-th one got in the recording:
 * an answer, its own MAD back as undeliverable, or no answer.
 *
 * The player delivers MADs in the order of the recording: answers with the same delay after their
 * requests as in the recording, and unsolicited MADs at their recorded times.
 */
#ifndef LIBFABMGR_RECORDING_PLAYER_H
#define LIBFABMGR_RECORDING_PLAYER_H

#include "libfabmgr/recording/recording.h"

struct fab_recording_player_stats {
    /* number of sent MADs, and of received MADs, in the recording */
    uint32_t recorded_out, recorded_in;
    /* number of MADs that both the recorded and the replaying manager sent */
    uint32_t asked;
    uint32_t delivered;
    /* number of MADs that the replaying manager sent, but not the recorded one */
    uint32_t unexpected;
    /* Number of MADs that the replaying manager sent, but not the recorded one, and that do not
     * count as unexpected: MADs of the last second, which the recorded manager may have sent after
     * the recording ended, and MADs that read counters (PerfMgt). */
    uint32_t not_judged;
    /* Number of MADs that the recorded manager sent, but not (yet) the replaying one. Does not
     * count MADs that read counters, nor MADs of the last second if the recording has no received
     * MAD after them. */
    uint32_t missing;
    /* number of answers that were not delivered in the order of the recording, because the run had
     * not sent their requests by then */
    uint32_t reordered;
};
struct fab_recording_player;
/* Creates a player for a recording, which is in bytes[len]. The caller owns the bytes, which must
 * exist as long as the player. Returns OK, FORMAT (the bytes are no recording), TRUNCATED (the
 * header is not complete), UNSUPPORTED (the recording has a later version), LIMIT (it has more than
 * 2^31 MADs) or NOMEM. */
int fab_recording_player_new(const uint8_t *bytes, size_t len, uint64_t now,
                             struct fab_recording_player **ret);
void fab_recording_player_free(struct fab_recording_player *p); /* p may be NULL */
const struct fab_recording_header *
fab_recording_player_header(const struct fab_recording_player *p);
/* Returns how the recording ends. OK: the recording is complete. TRUNCATED: its end is missing.
 * FORMAT: it has an invalid entry. In each case the player plays all entries before that point. */
int fab_recording_player_tail(const struct fab_recording_player *p);
enum fab_recording_player_sent {
    /* the recording has this MAD; the manager gets what the recorded manager got */
    FAB_RECORDING_PLAYER_RECORDED,
    /* the recording does not have the MAD, or the run has sent it more often than the recording has
     * it; the MAD gets no answer */
    FAB_RECORDING_PLAYER_UNEXPECTED,
    /* like UNEXPECTED, but the MAD does not count as unexpected (see not_judged); it gets no
     * answer, either */
    FAB_RECORDING_PLAYER_NOT_JUDGED,
};
/* Takes a MAD that the replaying manager sends at time `now`; mad->bytes must have FAB_MAD_SIZE
 * bytes. Returns what the recording has for this MAD. */
enum fab_recording_player_sent fab_recording_player_send(struct fab_recording_player *p,
                                                         uint64_t now,
                                                         const struct fab_recording_entry *mad);
/* Writes the next MAD that the replaying manager receives at or before `now` to mad[], with its
 * entry in *ret, and returns true. Returns false if no MAD is due yet. */
bool fab_recording_player_receive(struct fab_recording_player *p, uint64_t now,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* Like fab_recording_player_receive, but only for a MAD that the recorded manager received at the
 * same time as the last one that was delivered. Returns false if there is none. */
bool fab_recording_player_more(struct fab_recording_player *p, uint8_t mad[FAB_MAD_SIZE],
                               struct fab_recording_entry *ret);
/* Returns the time at which the caller must call fab_recording_player_receive again; UINT64_MAX:
 * the recording is finished. */
uint64_t fab_recording_player_deadline(struct fab_recording_player *p, uint64_t now);
void fab_recording_player_stats(const struct fab_recording_player *p,
                                struct fab_recording_player_stats *ret);
/* Writes the next MAD that counts as missing (struct fab_recording_player_stats) to mad[], with its
 * entry in *ret. The caller sets *cursor = 0 before the first call. Returns false if there are no
 * more. */
bool fab_recording_player_missing(const struct fab_recording_player *p, uint32_t *cursor,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);

#endif
