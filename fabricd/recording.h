/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions with which main.c implements --record and --replay. */
#ifndef FABRICD_RECORDING_H
#define FABRICD_RECORDING_H

#include "fabricd/store/store.h"
#include "fabricd/transport/replay.h"

/* Writes the state of the manager to the recording: the LID leases, the disabled ports and the
 * pinned names in the store, and the text of the settings file (settings_file NULL: no text). Call
 * this function when the recorder is open. Returns the errors of store_load_leases. */
int recording_tell_state(struct transport *recorder, struct store *store,
                         const char *settings_file);

struct recording {
    const uint8_t *bytes; /* the mapped file */
    size_t len;
    /* text of the settings file; points into `bytes`, and is not NUL-terminated; NULL: the
     * recording has no settings */
    const char *settings;
    size_t settings_len;
    /* temporary state directory of the replay; recording_close removes it */
    char state_dir[64];
};
/* Maps the file and makes the temporary directory. Returns IO; why[] then has a sentence. */
int recording_open(struct recording *r, const char *path, char *why, size_t why_len);
void recording_close(struct recording *r); /* does nothing if all bytes of *r are 0 */
/* Writes the recorded leases, disabled ports and pinned names to the store. Returns NOMEM. */
int recording_restore(const struct recording *r, struct store *store);
/* Prints on stdout in how many MADs the replay differs from the recording. Returns true if there is
 * no difference. */
bool recording_report(struct transport *replay);

#endif
