/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file m_key of the state directory: the M_Key of this manager and, so that a rotation survives
 * a kill at any moment, the one before it and the ports that may still have that one. The file is
 * outside the database, so that copies of the database disclose no key. The file cc_key has the
 * CC_Key in the same form.
 */
#ifndef FABRICD_STORE_M_KEY_H
#define FABRICD_STORE_M_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_M_KEY_FILE "m_key"
#define STORE_CC_KEY_FILE "cc_key"

enum store_key_of { STORE_KEY_OF_PORTS, STORE_KEY_OF_CONGESTION }; /* M_Key, CC_Key */

struct store_m_key {
    enum store_key_of of;
    uint64_t generation; /* 1 for the first key; each further key has the next number */
    uint64_t since_s;    /* when the current key was made or first used: Unix time, seconds */
    bool generated;      /* fabricd made the current key. False: it came from the settings */
    uint64_t current;    /* 0: ports are to have no key */
    uint64_t previous;   /* the key before it; 0: none */
    bool rotating;       /* the change from `previous` to `current` is not complete */
    uint64_t *port;      /* GUIDs of ports that may still have `previous`, ascending */
    size_t count;
};
void store_m_key_fini(struct store_m_key *k);

/* Returns the key that follows `was`, with the next number, and without ports. */
struct store_m_key store_m_key_next(const struct store_m_key *was, uint64_t key, bool generated,
                                    uint64_t since_s);
/* Takes over a malloc'd list of GUIDs in any order; zeros and repetitions are dropped. */
void store_m_key_set_ports(struct store_m_key *k, uint64_t *list, size_t count);
/* Finds a GUID in the list; NULL: the port is not listed. */
const uint64_t *store_m_key_find(const struct store_m_key *k, uint64_t guid);
/* Removes port[i] for each done[i] that is not 0. Returns how many were removed. */
size_t store_m_key_strike(struct store_m_key *k, const uint8_t *done);

/* Parses the text of a file. FORMAT, with a sentence in why[]; NOMEM. */
int store_m_key_parse(enum store_key_of of, const char *text, size_t len, struct store_m_key *ret,
                      char *why, size_t why_len);
/* Reads the file m_key. NOT_FOUND: there is none. Other errors have a sentence in why[]: IO;
 * DENIED: other users can read the file; FORMAT; NOMEM. */
int store_m_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len);
int store_cc_key_read(const char *dir, struct store_m_key *ret, char *why, size_t why_len);
/* Replaces the file at once, with mode 0600. IO, NOMEM, with a sentence in why[]. */
int store_m_key_write(const char *dir, const struct store_m_key *k, char *why, size_t why_len);
/* Returns the key to use with `subnet.m_key: generated`: that of the file if fabricd made it, else
 * a new random key, which is written if there is no file. The errors of read and write. */
int store_m_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len);
/* The same for `congestion.cc_key: generated`. */
int store_cc_key_generated(const char *dir, uint64_t *ret, char *why, size_t why_len);

#endif
