/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes and reads encrypted files (the format is in container.h).
 */
#include "fabricd/store/container.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"

#define HEADER 48
#define SALT CONTAINER_SALT
#define TAG 16
#define VERSION 1
/* parameters of scrypt */
#define BLOCK_R 8
#define PARALLEL_P 1
/* Limits for files that an attacker may have made: N of scrypt is at most 2^20, for which scrypt
 * needs 1 GiB of memory. */
#define LOG_N_MOST 20
#define MEMORY_MOST (UINT64_C(1100) << 20)

static const char magic[16] = "fabricd-backup\n";

struct container {
    FILE *file;
    EVP_CIPHER_CTX *cipher;
    uint8_t header[HEADER], key[CONTAINER_KEY];
    uint64_t chunk; /* number of the next chunk */
    bool last;      /* true: the last chunk was read */
    /* text: the text of the current chunk, not encrypted. len: its length in bytes. at: number of
     * bytes of the text that container_read has returned. */
    uint8_t text[CONTAINER_CHUNK];
    size_t len, at;
    uint8_t sealed[CONTAINER_CHUNK + TAG];
};

static void put_u32(uint8_t *to, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(n >> (24 - 8 * i));
}

static uint32_t get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static int derive_key(struct container *c, const char *passphrase)
{
    uint64_t n = UINT64_C(1) << get_u32(c->header + 20);
    if (EVP_PBE_scrypt(passphrase, strlen(passphrase), c->header + 32, SALT, n,
                       get_u32(c->header + 24), get_u32(c->header + 28), MEMORY_MOST, c->key,
                       sizeof(c->key)) != 1)
        return FAB_E_NOMEM;
    return FAB_OK;
}

static struct container *container_new(FILE *file)
{
    struct container *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->file = file;
    c->cipher = EVP_CIPHER_CTX_new();
    if (c->cipher == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

void container_free(struct container *c)
{
    if (c == NULL)
        return;
    EVP_CIPHER_CTX_free(c->cipher);
    OPENSSL_cleanse(c, sizeof(*c));
    free(c);
}

static void make_nonce(const struct container *c, bool last, uint8_t nonce[12])
{
    memset(nonce, 0, 12);
    for (int i = 0; i < 8; i++)
        nonce[i] = (uint8_t)(c->chunk >> (56 - 8 * i));
    nonce[11] = last;
}

/* ---- writing ---- */

/* Returns a new container whose header has no salt yet; NULL: memory ran out. */
static struct container *writer_new(FILE *file, unsigned log_n)
{
    struct container *c = container_new(file);
    if (c == NULL)
        return NULL;
    memcpy(c->header, magic, sizeof(magic));
    put_u32(c->header + 16, VERSION);
    put_u32(c->header + 20, log_n);
    put_u32(c->header + 24, BLOCK_R);
    put_u32(c->header + 28, PARALLEL_P);
    return c;
}

/* Writes the header, and returns the container in *ret. If the write fails, or if `status` is
 * already an error, frees the container and returns the error. */
static int begin(struct container *c, int status, struct container **ret)
{
    if (status == FAB_OK && fwrite(c->header, HEADER, 1, c->file) != 1)
        status = FAB_E_IO;
    if (status == FAB_OK)
        *ret = c;
    else
        container_free(c);
    return status;
}

int container_create(FILE *file, const char *passphrase, unsigned log_n, struct container **ret)
{
    struct container *c = writer_new(file, log_n);
    if (c == NULL)
        return FAB_E_NOMEM;
    int status = RAND_bytes(c->header + 32, SALT) == 1 ? FAB_OK : FAB_E_IO;
    if (status == FAB_OK)
        status = derive_key(c, passphrase);
    return begin(c, status, ret);
}

int container_create_keyed(FILE *file, const uint8_t salt[CONTAINER_SALT],
                           const uint8_t key[CONTAINER_KEY], struct container **ret)
{
    struct container *c = writer_new(file, CONTAINER_LOG_N);
    if (c == NULL)
        return FAB_E_NOMEM;
    memcpy(c->header + 32, salt, SALT);
    memcpy(c->key, key, CONTAINER_KEY);
    return begin(c, FAB_OK, ret);
}

static int write_chunk(struct container *c, bool last)
{
    uint8_t nonce[12], length[4];
    int n = 0;
    make_nonce(c, last, nonce);
    put_u32(length, (uint32_t)c->len);
    if (EVP_EncryptInit_ex(c->cipher, EVP_aes_256_gcm(), NULL, c->key, nonce) != 1 ||
        EVP_EncryptUpdate(c->cipher, NULL, &n, c->header, HEADER) != 1 ||
        EVP_EncryptUpdate(c->cipher, c->sealed, &n, c->text, (int)c->len) != 1 ||
        EVP_EncryptFinal_ex(c->cipher, c->sealed + c->len, &n) != 1 ||
        EVP_CIPHER_CTX_ctrl(c->cipher, EVP_CTRL_GCM_GET_TAG, TAG, c->sealed + c->len) != 1)
        return FAB_E_NOMEM;
    if (fwrite(length, sizeof(length), 1, c->file) != 1 ||
        fwrite(c->sealed, c->len + TAG, 1, c->file) != 1)
        return FAB_E_IO;
    c->chunk++;
    c->len = 0;
    return FAB_OK;
}

int container_write(struct container *c, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    int status = FAB_OK;
    while (len > 0 && status == FAB_OK) {
        size_t n = len < CONTAINER_CHUNK - c->len ? len : CONTAINER_CHUNK - c->len;
        memcpy(c->text + c->len, from, n);
        c->len += n;
        from += n;
        len -= n;
        if (c->len == CONTAINER_CHUNK)
            status = write_chunk(c, false);
    }
    return status;
}

int container_finish(struct container *c)
{
    int status = write_chunk(c, true);
    if (status == FAB_OK && (fflush(c->file) != 0 || fsync(fileno(c->file)) != 0))
        status = FAB_E_IO;
    return status;
}

/* ---- reading ---- */

static int fail(int status, char *why, size_t why_len, const char *what)
{
    snprintf(why, why_len, "%s", what);
    return status;
}

static int check_header(const struct container *c, char *why, size_t why_len)
{
    uint32_t version = get_u32(c->header + 16);
    if (memcmp(c->header, magic, sizeof(magic)) != 0)
        return fail(FAB_E_FORMAT, why, why_len, "this file is no backup of fabricd");
    if (version != VERSION) {
        snprintf(why, why_len,
                 "the format of this backup has version %u, and this fabricd reads version %d; "
                 "restore it with the fabricd that made it, or a newer one",
                 version, VERSION);
        return FAB_E_UNSUPPORTED;
    }
    uint32_t log_n = get_u32(c->header + 20);
    if (log_n < 1 || log_n > LOG_N_MOST || get_u32(c->header + 24) != BLOCK_R ||
        get_u32(c->header + 28) != PARALLEL_P)
        return fail(FAB_E_FORMAT, why, why_len,
                    "the backup is damaged: its header has other parameters than fabricd writes");
    return FAB_OK;
}

int container_open(FILE *file, const char *passphrase, struct container **ret, char *why,
                   size_t why_len)
{
    struct container *c = container_new(file);
    if (c == NULL)
        return fail(FAB_E_NOMEM, why, why_len, "out of memory");
    int status = FAB_OK;
    if (fread(c->header, HEADER, 1, file) != 1)
        status = fail(FAB_E_FORMAT, why, why_len,
                      "this file is no backup of fabricd: it is shorter than the header of one");
    if (status == FAB_OK)
        status = check_header(c, why, why_len);
    if (status == FAB_OK && (status = derive_key(c, passphrase)) != FAB_OK)
        fail(status, why, why_len, "out of memory for the key of the backup");
    if (status == FAB_OK)
        *ret = c;
    else
        container_free(c);
    return status;
}

static bool decrypt(struct container *c, size_t len)
{
    uint8_t nonce[12];
    int n = 0;
    make_nonce(c, c->last, nonce);
    return EVP_DecryptInit_ex(c->cipher, EVP_aes_256_gcm(), NULL, c->key, nonce) == 1 &&
           EVP_DecryptUpdate(c->cipher, NULL, &n, c->header, HEADER) == 1 &&
           EVP_DecryptUpdate(c->cipher, c->text, &n, c->sealed, (int)len) == 1 &&
           EVP_CIPHER_CTX_ctrl(c->cipher, EVP_CTRL_GCM_SET_TAG, TAG, c->sealed + len) == 1 &&
           EVP_DecryptFinal_ex(c->cipher, c->text + len, &n) == 1;
}

static int read_chunk(struct container *c, char *why, size_t why_len)
{
    uint8_t length[4];
    c->len = c->at = 0;
    if (fread(length, sizeof(length), 1, c->file) != 1)
        return fail(FAB_E_TRUNCATED, why, why_len, "the backup is incomplete: its end is missing");
    size_t len = get_u32(length);
    if (len > CONTAINER_CHUNK)
        return fail(FAB_E_FORMAT, why, why_len, "the backup is damaged");
    if (fread(c->sealed, len + TAG, 1, c->file) != 1)
        return fail(FAB_E_TRUNCATED, why, why_len, "the backup is incomplete: its end is missing");
    c->last = len < CONTAINER_CHUNK;
    if (!decrypt(c, len)) {
        OPENSSL_cleanse(c->text, sizeof(c->text));
        return c->chunk == 0
                   ? fail(FAB_E_DENIED, why, why_len,
                          "the passphrase is not the one of this backup, or the file was changed")
                   : fail(FAB_E_FORMAT, why, why_len, "the backup was changed or is damaged");
    }
    c->chunk++;
    c->len = len;
    return FAB_OK;
}

int container_read(struct container *c, void *bytes, size_t len, char *why, size_t why_len)
{
    uint8_t *to = bytes;
    while (len > 0) {
        if (c->at == c->len) {
            int status = c->last ? fail(FAB_E_FORMAT, why, why_len, "the backup is damaged")
                                 : read_chunk(c, why, why_len);
            if (status != FAB_OK)
                return status;
            continue;
        }
        size_t n = len < c->len - c->at ? len : c->len - c->at;
        memcpy(to, c->text + c->at, n);
        c->at += n;
        to += n;
        len -= n;
    }
    return FAB_OK;
}

int container_end(struct container *c, char *why, size_t why_len)
{
    int status = c->at == c->len && !c->last ? read_chunk(c, why, why_len) : FAB_OK;
    if (status == FAB_OK && (c->at != c->len || !c->last || fgetc(c->file) != EOF))
        status =
            fail(FAB_E_FORMAT, why, why_len, "the backup is damaged: it has more than its files");
    return status;
}
