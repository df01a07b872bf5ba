/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes recordings. The player plays the recording to a client. The client sends most MADs of the
 * recording once, some twice, and some not at all. The player must end, and must deliver each MAD
 * at most once.
 */
#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/recording/player.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The client takes the MADs that the player delivers now, and advances the time a little. */
static void receive(struct fab_recording_player *p, uint64_t *now)
{
    uint8_t mad[FAB_MAD_SIZE];
    char text[200];
    struct fab_recording_entry e;
    for (int i = 0; i < 3; i++) {
        uint64_t due = fab_recording_player_deadline(p, *now);
        if (due != UINT64_MAX && due > *now)
            *now = due;
        if (fab_recording_player_receive(p, *now, mad, &e))
            do
                fab_recording_describe(e.bytes, e.addr.slid, text, sizeof(text));
            while (i == 1 && fab_recording_player_more(p, mad, &e));
    }
}

static void ask(struct fab_recording_player *p, const uint8_t *data, size_t size, uint64_t *now)
{
    struct fab_base_reader r = fab_base_reader(data, size);
    struct fab_recording_header header;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry e;
    if (fab_recording_unpack_header(&r, &header) != FAB_OK)
        abort();
    for (unsigned n = 0; fab_recording_unpack(&r, mad, &e) == FAB_OK; n++) {
        if (e.kind != FAB_RECORDING_OUT || n % 7 == 3)
            continue;
        (void)fab_recording_player_send(p, *now, &e);
        if (n % 5 == 0)
            (void)fab_recording_player_send(p, *now, &e);
        receive(p, now);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_recording_player *p;
    struct fab_recording_player_stats s;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry e;
    uint64_t now = 1000000, due;
    if (fab_recording_player_new(data, size, now, &p) != FAB_OK)
        return 0;
    ask(p, data, size, &now);
    while ((due = fab_recording_player_deadline(p, now)) != UINT64_MAX) {
        now = due > now ? due : now;
        (void)fab_recording_player_receive(p, now, mad, &e);
    }
    fab_recording_player_stats(p, &s);
    if (s.delivered > s.recorded_in || s.asked > s.recorded_out)
        abort();
    uint32_t cursor = 0, missing = 0;
    while (fab_recording_player_missing(p, &cursor, mad, &e))
        missing++;
    if (missing != s.missing)
        abort();
    fab_recording_player_free(p);
    return 0;
}
