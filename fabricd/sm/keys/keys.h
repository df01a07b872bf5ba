/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/keys for the other folders of fabricd/sm: the M_Key in use, the one
 * before it, and the change of all ports from one to the other.
 */
#ifndef FABRICD_SM_KEYS_KEYS_H
#define FABRICD_SM_KEYS_KEYS_H

#include "fabricd/sm/core/core.h"

/* Reads the key file. If it has another key than the settings, that one becomes the previous key.
 * NOMEM, IO, DENIED, FORMAT. */
int sm_keys_init(struct sm *s);
void sm_keys_fini(struct sm *s);
/* Call it after the settings changed the M_Key; `former` is the key before. If the file cannot be
 * written, the former key stays in use. */
void sm_keys_reload(struct sm *s, uint64_t former);
void sm_keys_round_ended(struct sm *s, int status); /* call it after every round */

extern const struct sm_phase sm_phase_identify_keys, sm_phase_change_keys;

#endif
