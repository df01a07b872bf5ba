/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A player replaces the fabric in a run of the manager: it answers MADs as the recording does.
 * Times are in microseconds by the clock of the run, which should be virtual.
 *
 * A request is identified by its content (class, method, attribute, modifier, directed route or
 * LID, and the payload unless it is a Get), not by its TID or keys. The n-th request with a content
 * gets what the n-th such request got in the recording: an answer, the same MAD as undeliverable,
 * or nothing. Incoming MADs arrive in the order of the recording once their requests were sent,
 * each after the recorded time.
 */
#ifndef LIBFABMGR_RECORDING_PLAYER_H
#define LIBFABMGR_RECORDING_PLAYER_H

#include "libfabmgr/recording/recording.h"

struct fab_recording_player_stats {
    uint32_t recorded_out, recorded_in; /* MADs in the recording */
    uint32_t asked;                     /* sent in the run and in the recording */
    uint32_t delivered;
    uint32_t unexpected; /* sent in the run, but not in the recording */
    uint32_t not_judged; /* the same in the last second of the recording, which is not judged */
    uint32_t missing;    /* sent in the recording, but not (yet) in the run */
    uint32_t reordered;  /* answers that could not be held back to keep the order */
    uint32_t orphans;    /* answers without a request in the recording, which are left out */
};
struct fab_recording_player;
/* The caller keeps the bytes, which must live as long. FORMAT, UNSUPPORTED, TRUNCATED: from the
 * header; LIMIT: more than 2^31 entries; NOMEM. */
int fab_recording_player_new(const uint8_t *bytes, size_t len, uint64_t now,
                             struct fab_recording_player **ret);
void fab_recording_player_free(struct fab_recording_player *p); /* NULL is fine */
const struct fab_recording_header *
fab_recording_player_header(const struct fab_recording_player *p);
/* OK: the recording is complete. TRUNCATED: its end is missing. FORMAT: an invalid entry.
 * Everything before is played. */
int fab_recording_player_tail(const struct fab_recording_player *p);
enum fab_recording_player_sent {
    FAB_RECORDING_PLAYER_RECORDED,   /* in the recording, and answered as there */
    FAB_RECORDING_PLAYER_UNEXPECTED, /* not (or no longer) in the recording: it gets no answer */
    FAB_RECORDING_PLAYER_NOT_JUDGED, /* the same in the last second of the recording, so it may
                                        be correct */
};
/* Sends a MAD; mad->bytes must have FAB_MAD_SIZE bytes. */
enum fab_recording_player_sent fab_recording_player_send(struct fab_recording_player *p,
                                                         uint64_t now,
                                                         const struct fab_recording_entry *mad);
/* Receives the next MAD that is due. False: none is. */
bool fab_recording_player_receive(struct fab_recording_player *p, uint64_t now,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* After a MAD was received: receives the next one of the same batch. False: none. */
bool fab_recording_player_more(struct fab_recording_player *p, uint8_t mad[FAB_MAD_SIZE],
                               struct fab_recording_entry *ret);
/* When to call receive again; UINT64_MAX: the recording is finished. */
uint64_t fab_recording_player_deadline(struct fab_recording_player *p, uint64_t now);
void fab_recording_player_stats(const struct fab_recording_player *p,
                                struct fab_recording_player_stats *ret);
/* Lists the MADs that were sent in the recording, but not in the run; start with *cursor = 0. */
bool fab_recording_player_missing(const struct fab_recording_player *p, uint32_t *cursor,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);

#endif
