/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/keys for the other folders of fabricd/sm. This folder keeps the current
 * and the previous M_Key, and changes all ports from the previous to the current key.
 */
#ifndef FABRICD_SM_KEYS_KEYS_H
#define FABRICD_SM_KEYS_KEYS_H

#include "fabricd/sm/core/core.h"

/* Reads the key file. If the key in the file differs from the key in the settings, the key in the
 * file becomes the previous key. Returns OK, NOMEM, IO, DENIED or FORMAT. */
int sm_keys_init(struct sm *s);
void sm_keys_fini(struct sm *s);
/* Call this function after new settings were read. If they changed the M_Keys, writes the new keys
 * to the key file, and changes the ports to them. former: the M_Keys before the change, which stay
 * in use if the key file cannot be written. */
void sm_keys_reload(struct sm *s, const struct fab_m_keys *former);
/* Call this function when this manager became master, and when rows of another manager came: uses
 * the M_Key that the managers share. */
void sm_keys_load(struct sm *s);
/* Ends the rotation when no port of the fabric must be changed any more; otherwise requests a round
 * that changes keys. Call this function after every round. */
void sm_keys_round_ended(struct sm *s, int status);

extern const struct sm_phase sm_phase_identify_keys, sm_phase_change_keys;

#endif
