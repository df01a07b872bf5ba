/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared key files (shared_key.h). The value of a row is {"sealed": hexadecimal digits}. */
#include "fabricd/store/shared_key.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabricd/base/log.h"
#include "fabricd/store/key.h"
#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"
#include "fabricd/store/state.h"
#include "fabricd/store/wrap.h"
#include "libfabmgr/base/status.h"

static const char *const names[] = {
    [STORE_KEY_OF_PORTS] = STORE_M_KEY_FILE, [STORE_KEY_OF_CONGESTION] = STORE_CC_KEY_FILE};

static void name_context(const struct store_sharing *w, enum store_key_of of, char *ret, size_t len)
{
    snprintf(ret, len, "fabricd shared key 1 %s 0x%016" PRIx64, names[of], w->subnet_prefix);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns the value of the row, from malloc; NULL: no memory. */
static char *value_of(const uint8_t *sealed, size_t len)
{
    static const char digits[] = "0123456789ABCDEF", head[] = "{\"sealed\":\"";
    size_t at = sizeof(head) - 1;
    char *value = malloc(at + 2 * len + sizeof("\"}"));
    if (value == NULL)
        return NULL;
    memcpy(value, head, at);
    for (size_t i = 0; i < len; i++) {
        value[at++] = digits[sealed[i] >> 4];
        value[at++] = digits[sealed[i] & 15];
    }
    memcpy(value + at, "\"}", sizeof("\"}"));
    return value;
}

/* Encrypts a text (wrap.h), and makes from the result the value of a row. *ret_value is from
 * malloc. */
static int wrap_text(const struct store_sharing *w, enum store_key_of of, const char *text,
                     size_t len, char **ret_value)
{
    char context[80];
    uint8_t *sealed = malloc(len + STORE_WRAP_MORE);
    name_context(w, of, context, sizeof(context));
    int r = sealed != NULL
                ? store_wrap(w->wrapping_key, context, (const uint8_t *)text, len, sealed)
                : FAB_E_NOMEM;
    if (r == FAB_OK) {
        *ret_value = value_of(sealed, len + STORE_WRAP_MORE);
        r = *ret_value != NULL ? FAB_OK : FAB_E_NOMEM;
    }
    free(sealed);
    return r;
}

static int put_row(struct store *s, enum store_key_of of, const char *value)
{
    char key[24];
    struct record_replica request = {.kind = REPLICA_PUT};
    snprintf(key, sizeof(key), "[\"%s\"]", names[of]);
    int r = store_rows_add(&request.received.rows, "shared_key", key, value, 0);
    struct record *record = r == FAB_OK ? record_of_replica(&request) : NULL;
    if (record == NULL) {
        store_rows_fini(&request.received.rows);
        return FAB_E_NOMEM;
    }
    writer_put_urgent(s->writer, record);
    return FAB_OK;
}

int store_put_shared_key(struct store *s, const struct store_sharing *w,
                         const struct store_m_key *k)
{
    struct store_m_key shared = *k; /* a shallow copy; only k owns the list of ports */
    char *text = NULL, *value = NULL;
    size_t len = 0;
    if (shared.count > STORE_SHARED_PORTS)
        shared.count = 0;
    int r = store_m_key_text(&shared, &text, &len);
    if (r == FAB_OK)
        r = wrap_text(w, k->of, text, len, &value);
    if (text != NULL)
        OPENSSL_cleanse(text, len);
    free(text);
    if (r == FAB_OK)
        r = put_row(s, k->of, value);
    free(value);
    return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int unwrap_row(const struct store_sharing *w, enum store_key_of of, const uint8_t *sealed,
                      size_t len, struct store_m_key *ret, char *why, size_t why_len)
{
    char context[80], *text = malloc(len + 1);
    if (text == NULL)
        return FAB_E_NOMEM;
    name_context(w, of, context, sizeof(context));
    int r = store_unwrap(w->wrapping_key, context, sealed, len, (uint8_t *)text);
    if (r == FAB_E_DENIED)
        snprintf(why, why_len,
                 "the %s that the managers share cannot be decrypted; set the same "
                 "replication.wrapping_key for all managers of the fabric",
                 of == STORE_KEY_OF_PORTS ? "M_Key" : "CC_Key");
    if (r == FAB_OK)
        r = store_m_key_parse(of, text, len - STORE_WRAP_MORE, ret, why, why_len);
    OPENSSL_cleanse(text, len);
    free(text);
    return r;
}

int store_get_shared_key(struct store *s, const struct store_sharing *w, enum store_key_of of,
                         struct store_m_key *ret, bool *ret_confirmed, char *why, size_t why_len)
{
    sqlite3_stmt *stmt = NULL;
    int r = sql_status(
        sqlite3_prepare_v2(s->reader,
                           "SELECT sealed, NOT EXISTS (SELECT 1 FROM replica_pending WHERE tbl = "
                           "'shared_key' AND key = json_array(name)) FROM shared_key WHERE name = "
                           "?1",
                           -1, &stmt, NULL));
    if (r == FAB_OK)
        r = sql_status(sqlite3_bind_text(stmt, 1, names[of], -1, SQLITE_STATIC));
    int code = r == FAB_OK ? sqlite3_step(stmt) : SQLITE_DONE;
    if (r == FAB_OK && code != SQLITE_ROW)
        r = code == SQLITE_DONE ? FAB_E_NOT_FOUND : sql_status(code);
    if (r == FAB_OK) {
        const void *sealed = sqlite3_column_blob(stmt, 0);
        *ret_confirmed = sqlite3_column_int(stmt, 1) != 0;
        r = sealed != NULL ? unwrap_row(w, of, sealed, (size_t)sqlite3_column_bytes(stmt, 0), ret,
                                        why, why_len)
                           : FAB_E_NOT_FOUND;
    }
    sqlite3_finalize(stmt);
    return r;
}

bool store_shared_key_waits(struct store *s, enum store_key_of of)
{
    sqlite3_stmt *stmt = NULL;
    bool waits = false;
    if (sqlite3_prepare_v2(s->reader,
                           "SELECT 1 FROM replica_pending WHERE tbl = 'shared_key' AND key = "
                           "json_array(?1)",
                           -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_bind_text(stmt, 1, names[of], -1, SQLITE_STATIC) == SQLITE_OK)
        waits = sqlite3_step(stmt) == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return waits;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool has_current(const struct store_m_key *k, const struct store_m_key *of)
{
    struct fab_m_keys key = store_m_key_current(of), current = store_m_key_current(k),
                      previous = store_m_key_previous(k);
    return fab_policy_m_keys_same(&key, &current) || fab_policy_m_keys_same(&key, &previous);
}

static int keep_aside(const char *dir, const struct store_m_key *was, char *why, size_t why_len)
{
    char name[60], *text = NULL;
    size_t len = 0;
    int r = store_m_key_text(was, &text, &len);
    snprintf(name, sizeof(name), "%s.replaced-%lld", names[was->of], (long long)time(NULL));
    if (r == FAB_OK)
        r = store_key_file_write(dir, name, text, len, why, why_len);
    else
        snprintf(why, why_len, "the key file %s cannot be written: out of memory", name);
    if (text != NULL)
        OPENSSL_cleanse(text, len);
    free(text);
    if (r == FAB_OK)
        log_warning("store",
                    "the managers share another %s than this manager had; its former key file is "
                    "now %s/%s: keep it while some port may have the key in it",
                    was->of == STORE_KEY_OF_PORTS ? "M_Key" : "CC_Key", dir, name);
    return r;
}

int store_adopt_key(const char *dir, const struct store_m_key *was, const struct store_m_key *now,
                    char *why, size_t why_len)
{
    int r = was->generated && !has_current(now, was) ? keep_aside(dir, was, why, why_len) : FAB_OK;
    return r == FAB_OK ? store_m_key_write(dir, now, why, why_len) : r;
}
