/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key files (m_key.h) that the managers of a fabric share: a row of the replicated table shared_key
 * has the wrapped text of the file m_key or cc_key.
 *
 * A manager uses a new key only after a majority has confirmed the row with the new and the
 * previous key. So each manager that takes over knows both keys, and a port has one of the two.
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
    const uint8_t *wrapping_key; /* STORE_WRAP_KEY bytes; NULL: keys are not shared */
    uint64_t subnet_prefix;
};
/* Puts the row into the queue of the writer. Returns the errors of store_wrap. */
int store_put_shared_key(struct store *s, const struct store_sharing *w,
                         const struct store_m_key *k);
/* Reads the row. *ret_confirmed: a majority has confirmed this row. Errors: NOT_FOUND; DENIED: the
 * row was wrapped with another key; FORMAT, NOMEM and IO. DENIED and FORMAT have a sentence in
 * why[]. */
int store_get_shared_key(struct store *s, const struct store_sharing *w, enum store_key_of of,
                         struct store_m_key *ret, bool *ret_confirmed, char *why, size_t why_len);
/* Returns whether the row of the key waits for the confirmation by a majority. */
bool store_shared_key_waits(struct store *s, enum store_key_of of);

/* Replaces the key file by a shared key file. Before that, it may keep the replaced file under
 * another name, because some ports may still have its current key. It does so if fabricd made this
 * key, and the shared file has the key neither as its current nor as its previous key. Returns the
 * errors of store_m_key_write. */
int store_adopt_key(const char *dir, const struct store_m_key *was, const struct store_m_key *now,
                    char *why, size_t why_len);

#endif
