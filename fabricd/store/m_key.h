/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files m_key and cc_key of the state directory. m_key has the M_Key of this manager. During
 * and after a rotation it also has the previous M_Key, and the GUIDs of the ports that may still
 * have the previous key. A rotation can therefore continue even if the manager was killed at any
 * moment. cc_key has the CC_Key in the same form.
 *
 * The keys are not in the database, so that copies of the database disclose no key.
 */
#ifndef FABRICD_STORE_M_KEY_H
#define FABRICD_STORE_M_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/policy/m_keys.h"

#define STORE_M_KEY_FILE "m_key"
#define STORE_CC_KEY_FILE "cc_key"

/*
 * Which of the two key files: m_key (the keys of ports) or cc_key (the key of congestion control).
 */
enum store_key_of { STORE_KEY_OF_PORTS, STORE_KEY_OF_CONGESTION };

/* The master secret from which the M_Keys of ports are derived (derive.h). */
struct store_secret {
    bool set;
    uint8_t bytes[FAB_M_KEY_SECRET];
};
struct store_m_key {
    enum store_key_of of;
    /* number of the current key: 1 for the first key, and one more for each further key */
    uint64_t generation;
    /* Unix time in s at which the current key came into use */
    uint64_t since_s;
    /* true: fabricd made the current key; false: the key comes from the settings */
    bool generated;
    /* the current key, which all ports must have; 0: ports must have no key */
    uint64_t current;
    /* the key that was current before; 0: there is none */
    uint64_t previous;
    /* The secrets from which keys are derived. If they are set, `current` and `previous` are 0. Not
     * used for CC_Keys. */
    struct store_secret secret, previous_secret;
    /* true: the change of all ports from `previous` to `current` is not complete */
    bool rotating;
    /* GUIDs of ports that may still have the previous key, ascending */
    uint64_t *port;
    size_t count;
};
void store_m_key_fini(struct store_m_key *k);

/* Returns the contents of the key file after the key was changed to `key`. was: the contents before
 * the change. Its current key becomes the previous key, the generation is higher by one, and the
 * list of ports is empty. */
struct store_m_key store_m_key_next(const struct store_m_key *was, uint64_t key, bool generated,
                                    uint64_t since_s);
/* Sets the list of ports that may have the previous key. Takes over the list of GUIDs, which is
 * from malloc, in any order. Drops zeros and duplicates. */
void store_m_key_set_ports(struct store_m_key *k, uint64_t *list, size_t count);
/* Finds a port GUID in the list of ports that may have the previous key. Returns NULL if the
 * port is not listed. */
const uint64_t *store_m_key_find(const struct store_m_key *k, uint64_t guid);
/* Removes some ports from the list: port[i] is removed if done[i] is not 0. Returns how many ports
 * were removed. */
size_t store_m_key_strike(struct store_m_key *k, const uint8_t *done);

/* Parses the text of a key file. Returns OK, or NOMEM or FORMAT with the reason in why[]. */
int store_m_key_parse(enum store_key_of of, const char *text, size_t len, struct store_m_key *ret,
                      char *why, size_t why_len);
/* The next two functions read the file m_key or cc_key in the directory `dir`. They return
 * NOT_FOUND if there is no such file. The other errors have a sentence in why[]: IO; DENIED: other
 * users can read the file; FORMAT; NOMEM. */
int store_m_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len);
int store_cc_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len);
/* Replaces the file with mode 0600. At any moment, the file has either the old or the new text.
 * Returns OK, or IO or NOMEM with the reason in why[]. */
int store_m_key_write(const char *dir, const struct store_m_key *k, char *why, size_t why_len);
/* Makes the text of the key file, from malloc. Returns NOMEM. */
int store_m_key_text(const struct store_m_key *k, char **ret, size_t *ret_len);
/* Returns true if `a` and `b` have the same keys, generation and time, and if both or neither are
 * rotating. Ignores the lists of ports, and whether fabricd made the keys. */
bool store_m_key_same(const struct store_m_key *a, const struct store_m_key *b);
/* *ret has the secret for the setting `subnet.m_key: derived`: the secret in the key file, or a new
 * one, by the same rules as in store_m_key_generated. Also returns UNSUPPORTED if OpenSSL has no
 * HKDF. */
int store_m_key_derived(const char *dir, struct fab_m_keys *ret, char *why, size_t why_len);
/* Makes a random master secret. Returns IO if the kernel has no random numbers. */
int store_m_key_new_secret(struct fab_m_keys *ret);
/* These functions return the current and the previous M_Keys of the key file. */
struct fab_m_keys store_m_key_current(const struct store_m_key *k);
struct fab_m_keys store_m_key_previous(const struct store_m_key *k);
/*
 * Like store_m_key_next, but for M_Keys that may be derived from a secret. former: the keys before
 * the change.
 */
struct store_m_key store_m_keys_next(const struct store_m_key *was, const struct fab_m_keys *keys,
                                     const struct fab_m_keys *former, bool generated,
                                     uint64_t since_s);
/* *ret is the key for the setting `subnet.m_key: generated`: the key in the key file if fabricd
 * made it, otherwise a new random key. If there is no key file, writes the new key to this file.
 * Returns an error, with the reason in why[], if the file cannot be read or written. */
int store_m_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len);
/* Like store_m_key_generated, but for the CC_Key and the setting `congestion.cc_key: generated`. */
int store_cc_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len);

#endif
