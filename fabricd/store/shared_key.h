/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key files (m_key.h) that the managers of a fabric share: a row of the replicated table shared_key
 * has the wrapped text of the file m_key or cc_key.
 *
 * A manager uses a new key only after a majority has confirmed the row with the new and the
 * previous key. Each manager that takes over therefore knows both keys, and a port has one of the
 * two.
 */
#ifndef FABRICD_STORE_SHARED_KEY_H
#define FABRICD_STORE_SHARED_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/m_key.h"

struct store;
/* Maximum number of ports in a shared key file. A longer list is left out, because etcd refuses
 * requests above 1.5 MiB, and one request may have the rows of both keys. A row with a list of this
 * length takes 400 KB. During a rotation, the manager that uses the row makes the list from its own
 * leases. */
#define STORE_SHARED_PORTS 8192

struct store_sharing {
    /* the wrapping key of STORE_WRAP_KEY bytes; NULL: keys are not shared */
    const uint8_t *wrapping_key;
    uint64_t subnet_prefix;
};
/* Puts the row with the wrapped key file into the queue of the writer. Returns the errors of
 * store_wrap. */
int store_put_shared_key(struct store *s, const struct store_sharing *w,
                         const struct store_m_key *k);
/* Reads the row with the wrapped key file, and unwraps it. *ret_confirmed: true: a majority has
 * confirmed the row; also set if the row exists, but is not usable. Errors: NOT_FOUND; DENIED: the
 * row was wrapped with another key; FORMAT; NOMEM; or an error of sql_status (sql.h), if the row
 * cannot be read. If the row was read, but is not usable, why[] has the reason. */
int store_get_shared_key(struct store *s, const struct store_sharing *w, enum store_key_of of,
                         struct store_m_key *ret, bool *ret_confirmed, char *why, size_t why_len);
/* Returns true if the row with this key exists, and a majority has not confirmed it yet. */
bool store_shared_key_waits(struct store *s, enum store_key_of of);

/* Replaces the key file `was` by the shared key file `now`. If fabricd made the current key of
 * `was`, and `now` does not contain this key, some ports may still have it. In this case, first
 * keeps a copy of `was` under another name. Returns the errors of store_m_key_write. */
int store_adopt_key(const char *dir, const struct store_m_key *was, const struct store_m_key *now,
                    char *why, size_t why_len);

#endif
