/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/keys for the other folders of fabricd/sm. This folder keeps the current
 * and the previous M_Key, and changes all ports from the previous to the current key.
 */
#ifndef FABRICD_SM_KEYS_KEYS_H
#define FABRICD_SM_KEYS_KEYS_H

#include "fabricd/sm/core/core.h"

/* Reads the key file. If the key in the settings differs from the key in the file, the key in the
 * settings becomes the current key, and the key in the file becomes the previous key. Returns OK,
 * NOMEM, IO, DENIED or FORMAT. */
int sm_keys_init(struct sm *s);
void sm_keys_fini(struct sm *s);
/* Call this function when new settings have been read. If their M_Keys differ from those of the old
 * settings, the function writes the new keys to the key file, and begins to change the keys of the
 * ports. former: the M_Keys of the old settings, which stay in use if the key file cannot be
 * written. */
void sm_keys_reload(struct sm *s, const struct fab_m_keys *former);
/* Call this function when this manager has become master, and when rows of another manager have
 * arrived. If the M_Key that the managers share differs from the one in use, the function puts the
 * shared key into use as soon as a majority has confirmed it. If they share none yet, a master
 * shares its own key. */
void sm_keys_load(struct sm *s);
/* Call this function after every round. After a sweep or a change of M_Keys that succeeded, it ends
 * the rotation if no port must be changed any more; otherwise it requests a round that changes the
 * ports. */
void sm_keys_round_ended(struct sm *s, int status);

extern const struct sm_phase sm_phase_identify_keys, sm_phase_change_keys;

#endif
