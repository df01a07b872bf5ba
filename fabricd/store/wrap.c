/* SPDX-License-Identifier: BSD-3-Clause */
/* Wraps secrets (wrap.h). The result has the nonce, the encrypted bytes and the tag, in this order.
 * The nonces are random. NIST SP 800-38D, section 8.3, permits this for up to 2^32 uses of a
 * wrapping key. Secrets are wrapped only when a key changes, which is rare, so the number of uses
 * stays far below. */
#include "fabricd/store/wrap.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "fabricd/store/derive.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define FOR_ENCRYPTION "fabricd key wrapping 1"
#define FOR_COMPARISON "fabricd wrapping key comparison 1"

static int derive(const uint8_t key[STORE_WRAP_KEY], const char *use, uint8_t *ret, size_t len)
{
    static const uint8_t no_salt[1];
    const struct store_hkdf in = {.secret = key,
                                  .secret_len = STORE_WRAP_KEY,
                                  .salt = no_salt,
                                  .info = (const uint8_t *)use,
                                  .info_len = strlen(use)};
    return store_hkdf_sha256(&in, ret, len);
}

uint64_t store_wrap_check(const uint8_t key[STORE_WRAP_KEY])
{
    uint8_t check[8];
    return derive(key, FOR_COMPARISON, check, sizeof(check)) == FAB_OK ? fab_base_get_be64(check)
                                                                       : 0;
}

/* Sets up the cipher `c` with the derived key and the nonce. `context` becomes additional
 * authenticated data. */
static bool begin(EVP_CIPHER_CTX *c, const uint8_t key[STORE_WRAP_KEY], const char *context,
                  const uint8_t nonce[STORE_WRAP_NONCE], bool encrypts)
{
    uint8_t derived[STORE_WRAP_KEY];
    int len = 0;
    bool good = derive(key, FOR_ENCRYPTION, derived, sizeof(derived)) == FAB_OK &&
                EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, derived, nonce, encrypts) > 0 &&
                EVP_CipherUpdate(c, NULL, &len, (const uint8_t *)context, (int)strlen(context)) > 0;
    OPENSSL_cleanse(derived, sizeof(derived));
    return good;
}

int store_wrap(const uint8_t key[STORE_WRAP_KEY], const char *context, const uint8_t *in,
               size_t len, uint8_t *ret)
{
    uint8_t *body = ret + STORE_WRAP_NONCE;
    int wrote = 0, last = 0;
    if (len > INT_MAX - STORE_WRAP_MORE)
        return FAB_E_LIMIT;
    if (getrandom(ret, STORE_WRAP_NONCE, 0) != STORE_WRAP_NONCE)
        return FAB_E_IO;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    bool good = c != NULL && begin(c, key, context, ret, true) &&
                EVP_CipherUpdate(c, body, &wrote, in, (int)len) > 0 &&
                EVP_CipherFinal_ex(c, body + wrote, &last) > 0 &&
                (size_t)wrote + (size_t)last == len &&
                EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, STORE_WRAP_TAG, body + len) > 0;
    EVP_CIPHER_CTX_free(c);
    return good ? FAB_OK : FAB_E_NOMEM;
}

int store_unwrap(const uint8_t key[STORE_WRAP_KEY], const char *context, const uint8_t *in,
                 size_t len, uint8_t *ret)
{
    uint8_t tag[STORE_WRAP_TAG];
    int wrote = 0, last = 0;
    if (len < STORE_WRAP_MORE || len > INT_MAX)
        return FAB_E_DENIED;
    size_t plain = len - STORE_WRAP_MORE;
    memcpy(tag, in + STORE_WRAP_NONCE + plain, sizeof(tag));
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    bool ready = c != NULL && begin(c, key, context, in, false);
    bool good = ready && EVP_CipherUpdate(c, ret, &wrote, in + STORE_WRAP_NONCE, (int)plain) > 0 &&
                EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, STORE_WRAP_TAG, tag) > 0 &&
                EVP_CipherFinal_ex(c, ret + wrote, &last) > 0;
    EVP_CIPHER_CTX_free(c);
    if (ready && !good)
        OPENSSL_cleanse(ret, plain);
    return good ? FAB_OK : ready ? FAB_E_DENIED : FAB_E_NOMEM;
}
