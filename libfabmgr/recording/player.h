/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A player takes the part of the fabric in a recording: it is asked, and answers what the recording
 * answered. Times are microseconds of the clock of the run, which should be virtual.
 *
 * A request is known by its content (class, method, attribute, modifier, directed route or LID, and
 * payload unless it is a Get), not by its TID nor its keys; the n-th of a content gets what the
 * n-th in the recording got: an answer, the same MAD as undelivered, or nothing. What comes in
 * comes in the order of the recording, as long as what it answers was asked; each after as long as
 * it took.
 */
#ifndef LIBFABMGR_RECORDING_PLAYER_H
#define LIBFABMGR_RECORDING_PLAYER_H

#include "libfabmgr/recording/recording.h"

struct fab_recording_player_stats {
    uint32_t recorded_out, recorded_in; /* MADs in the recording */
    uint32_t asked;                     /* sent now and in the recording */
    uint32_t delivered;
    uint32_t unexpected; /* sent now, but not in the recording */
    uint32_t not_judged; /* the same in the last second of the recording: not judged */
    uint32_t missing;    /* sent in the recording, but not (yet) now */
    uint32_t reordered;  /* answers that could not wait for their turn */
    uint32_t orphans;    /* answers in the recording to nothing in it; they are left out */
};
struct fab_recording_player;
/* bytes stay the caller's and must live as long. FORMAT, UNSUPPORTED, TRUNCATED: of the header;
 * LIMIT: more than 2^31 entries; NOMEM. */
int fab_recording_player_new(const uint8_t *bytes, size_t len, uint64_t now,
                             struct fab_recording_player **ret);
void fab_recording_player_free(struct fab_recording_player *p); /* NULL is fine */
const struct fab_recording_header *
fab_recording_player_header(const struct fab_recording_player *p);
/* OK: the recording has an end. TRUNCATED: it was cut short. FORMAT: from some byte on it is not a
 * recording. All before is played. */
int fab_recording_player_tail(const struct fab_recording_player *p);
enum fab_recording_player_sent {
    FAB_RECORDING_PLAYER_RECORDED,   /* as in the recording, and answered as there */
    FAB_RECORDING_PLAYER_UNEXPECTED, /* not in the recording (any more): nobody answers */
    FAB_RECORDING_PLAYER_NOT_JUDGED, /* the same, in the last second of the recording: it may have
                                      * been about to
                                      */
};
/* A MAD that is sent; FAB_MAD_SIZE bytes of it are looked at. */
enum fab_recording_player_sent fab_recording_player_send(struct fab_recording_player *p,
                                                         uint64_t now,
                                                         const struct fab_recording_entry *mad);
/* The next MAD that is due, if any. */
bool fab_recording_player_receive(struct fab_recording_player *p, uint64_t now,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);
/* After one was received: the next that came together with it, in one batch, if any. */
bool fab_recording_player_more(struct fab_recording_player *p, uint8_t mad[FAB_MAD_SIZE],
                               struct fab_recording_entry *ret);
/* When to call receive again; UINT64_MAX: the recording is used up. */
uint64_t fab_recording_player_deadline(struct fab_recording_player *p, uint64_t now);
void fab_recording_player_stats(const struct fab_recording_player *p,
                                struct fab_recording_player_stats *ret);
/* The next MAD that was sent in the recording, but not now; start with *cursor = 0. */
bool fab_recording_player_missing(const struct fab_recording_player *p, uint32_t *cursor,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret);

#endif
