/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads secret keys, such as the SM_Key, from files. The value of such a setting can name a file
 * that contains the key: `sm_key: file:/etc/fabricd/sm_key`. The value `sm_key: credential:sm_key`
 * names a credential that systemd gives to the service (LoadCredential= in systemd.exec(5)). */
#include "fabricd/config/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/config/slurp.h"
#include "libfabmgr/base/status.h"

/* maximum size in bytes of a file that contains a secret key */
#define KEY_TEXT_MAX 256
#define EXPECTED "a number of up to 64 bits, such as 0x1a2b"
#define FROM_FILE "file:"
#define FROM_CREDENTIAL "credential:"

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool secret_is_elsewhere(const char *value)
{
    return begins_with(value, FROM_FILE) || begins_with(value, FROM_CREDENTIAL);
}

/* Writes the path of the credential to path[]. systemd makes a credential readable only for the
 * user of the service. Returns OK, or FORMAT with a message in the report. */
static int find_credential(const char *key, const char *name, char *path, size_t len,
                           struct report *report)
{
    const char *dir = getenv("CREDENTIALS_DIRECTORY");
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL)
        return report_key(report, key, "%s: the credential has no name, expected credential:NAME",
                          key);
    if (dir == NULL)
        return report_key(
            report, key,
            "%s: systemd gave no credentials; add LoadCredential=%s:PATH to the unit, "
            "or use file:PATH",
            key, name);
    if ((size_t)snprintf(path, len, "%s/%s", dir, name) >= len)
        return report_key(report, key, "%s: the name of the credential is too long", key);
    return FAB_OK;
}

int secret_read(const char *key, const char *value, const char *expected, char **ret_text,
                struct report *report)
{
    char path[4096], why[300], *text = NULL;
    size_t len = 0;
    int rc;
    if (begins_with(value, FROM_FILE)) {
        rc = slurp_secret(value + strlen(FROM_FILE), KEY_TEXT_MAX, expected, &text, &len, why,
                          sizeof(why));
    } else {
        rc = find_credential(key, value + strlen(FROM_CREDENTIAL), path, sizeof(path), report);
        if (rc != FAB_OK)
            return rc;
        rc = slurp(path, KEY_TEXT_MAX, expected, &text, &len, why, sizeof(why));
    }
    if (rc != FAB_OK) {
        report_key(report, key, "%s: %s", key, why);
        return rc;
    }
    /* there is room for the NUL, because the buffer is larger than the maximum size of the file */
    text[len] = '\0';
    text[strcspn(text, " \t\r\n")] = '\0';
    *ret_text = text;
    return FAB_OK;
}

/* If the string *value names a file, replaces it by the number in this file. */
static int take_file(const char *key, char **value, struct report *report)
{
    char *text = NULL;
    uint64_t number;
    if (!secret_is_elsewhere(*value))
        return FAB_OK;
    int rc = secret_read(key, *value, EXPECTED, &text, report);
    if (rc != FAB_OK)
        return rc;
    if (setting_parse_number(text, &number) != FAB_OK) {
        rc = report_key(report, key, "%s: the content of %s is not valid, expected " EXPECTED, key,
                        *value);
        free(text);
        return rc;
    }
    free(*value);
    *value = text;
    return FAB_OK;
}

int secrets_take(struct raw *raw, struct report *report, struct config *c)
{
    /* `known`: this number and all smaller ones are well-known defaults, so they are no secrets */
    const struct {
        const char *key;
        char **value;
        uint64_t known;
    } keys[] = {
        {"subnet.sm_key", raw->subnet != NULL ? &raw->subnet->sm_key : NULL, 1},
        {"subnet.sa_key", raw->subnet != NULL ? &raw->subnet->sa_key : NULL, 1},
        {"subnet.m_key", raw->subnet != NULL ? &raw->subnet->m_key : NULL, 0},
        {"congestion.cc_key", raw->congestion != NULL ? &raw->congestion->cc_key : NULL, 0},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        uint64_t number;
        char **value = keys[i].value;
        if (value == NULL || *value == NULL)
            continue;
        if (c->key_in_file == NULL && setting_parse_number(*value, &number) == FAB_OK &&
            number > keys[i].known)
            c->key_in_file = keys[i].key;
        int rc = take_file(keys[i].key, value, report);
        if (rc != FAB_OK)
            return rc;
    }
    return FAB_OK;
}
