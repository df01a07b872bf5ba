/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives M_Keys of ports (derive.h), and caches them; a new key may replace an older one. The
 * cache saves time: one derivation takes several microseconds, and the manager needs the key each
 * time that it checks which M_Key a port has. The cache has room for 64 Ki keys, enough for the
 * current and the previous keys of 11,664 hosts. */
#include "fabricd/store/derive.h"

#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define LABEL "fabricd M_Key 1"
#define LABEL_LEN (sizeof(LABEL) - 1)
#define OUTPUT_MOST (255 * 32)
#define BUCKETS 16384
#define WAYS 4

/* ---- HKDF ------------------------------------------------------------------------------------ */

static bool set_input(EVP_PKEY_CTX *c, const struct store_hkdf *in)
{
    return EVP_PKEY_derive_init(c) > 0 && EVP_PKEY_CTX_set_hkdf_md(c, EVP_sha256()) > 0 &&
           EVP_PKEY_CTX_set1_hkdf_salt(c, in->salt, (int)in->salt_len) > 0 &&
           EVP_PKEY_CTX_set1_hkdf_key(c, in->secret, (int)in->secret_len) > 0 &&
           EVP_PKEY_CTX_add1_hkdf_info(c, in->info, (int)in->info_len) > 0;
}

int store_hkdf_sha256(const struct store_hkdf *in, uint8_t *ret, size_t len)
{
    if (len > OUTPUT_MOST)
        return FAB_E_RANGE;
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);
    bool good = c && set_input(c, in) && EVP_PKEY_derive(c, ret, &len) > 0;
    EVP_PKEY_CTX_free(c);
    return good ? FAB_OK : FAB_E_NOMEM;
}

static uint64_t derive(const uint8_t secret[FAB_M_KEY_SECRET], uint64_t port_guid)
{
    static const uint8_t no_salt[1];
    uint8_t info[LABEL_LEN + 8], okm[32];
    memcpy(info, LABEL, LABEL_LEN);
    fab_base_put_be64(info + LABEL_LEN, port_guid);
    const struct store_hkdf in = {.secret = secret,
                                  .secret_len = FAB_M_KEY_SECRET,
                                  .salt = no_salt,
                                  .info = info,
                                  .info_len = sizeof(info)};
    uint64_t key = 0;
    if (store_hkdf_sha256(&in, okm, sizeof(okm)) != FAB_OK)
        return 0;
    for (size_t at = 0; key == 0 && at < sizeof(okm); at += 8)
        key = fab_base_get_be64(okm + at);
    return key;
}

/* ---- the cache ------------------------------------------------------------------------------- */

struct entry {
    /* key == 0: the element is not in use */
    uint64_t guid, key;
    uint8_t secret[FAB_M_KEY_SECRET];
};
static struct bucket {
    struct entry way[WAYS];
    unsigned next; /* index of the element that the next new key overwrites */
} cache[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct bucket *bucket_of(const uint8_t secret[FAB_M_KEY_SECRET], uint64_t guid)
{
    uint64_t hash = (guid ^ fab_base_get_be64(secret)) * UINT64_C(0x9e3779b97f4a7c15);
    return &cache[(hash >> 32) % BUCKETS];
}

static uint64_t find(const struct bucket *b, const uint8_t secret[FAB_M_KEY_SECRET], uint64_t guid)
{
    for (unsigned i = 0; i < WAYS; i++) {
        const struct entry *e = &b->way[i];
        if (e->key != 0 && e->guid == guid && memcmp(e->secret, secret, FAB_M_KEY_SECRET) == 0)
            return e->key;
    }
    return 0;
}

static void add(struct bucket *b, const uint8_t secret[FAB_M_KEY_SECRET], uint64_t guid,
                uint64_t key)
{
    struct entry *e = &b->way[b->next++ % WAYS];
    e->guid = guid;
    e->key = key;
    memcpy(e->secret, secret, FAB_M_KEY_SECRET);
}

uint64_t store_m_key_derive(const uint8_t secret[FAB_M_KEY_SECRET], uint64_t port_guid)
{
    struct bucket *b = bucket_of(secret, port_guid);
    pthread_mutex_lock(&lock);
    uint64_t key = find(b, secret, port_guid);
    pthread_mutex_unlock(&lock);
    if (key != 0)
        return key;
    key = derive(secret, port_guid);
    pthread_mutex_lock(&lock);
    if (key != 0 && find(b, secret, port_guid) == 0)
        add(b, secret, port_guid, key);
    pthread_mutex_unlock(&lock);
    return key;
}
