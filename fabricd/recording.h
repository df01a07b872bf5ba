/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording and replay of runs: what main.c does for --record and --replay. */
#ifndef FABRICD_RECORDING_H
#define FABRICD_RECORDING_H

#include "fabricd/store/store.h"
#include "fabricd/transport/replay.h"

/* After a recorder was opened: what the store remembers, and the settings file, if any. */
int recording_tell_state(struct transport *recorder, struct store *store,
                         const char *settings_file);

struct recording {
    const uint8_t *bytes; /* the file, mapped */
    size_t len;
    const char *settings; /* in bytes, not NUL-terminated; or NULL */
    size_t settings_len;
    char state_dir[64]; /* a folder of its own for the run, until recording_close */
};
int recording_open(struct recording *r, const char *path, char *why, size_t why_len);
void recording_close(struct recording *r); /* all zeros is fine */
/* Puts into the store what it remembered then. */
int recording_restore(const struct recording *r, struct store *store);
/* Says on stdout how the run went; true: as recorded. */
bool recording_report(struct transport *replay);

#endif
