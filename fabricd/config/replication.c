/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the mapping `replication`: the etcd servers, and the files for TLS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/config/config.h"
#include "fabricd/config/place.h"
#include "fabricd/config/raw.h"
#include "fabricd/config/secret.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

void replication_fini(struct config_replication *r)
{
    for (unsigned i = 0; i < r->endpoints; i++)
        free(r->endpoint[i]);
    free(r->ca);
    free(r->cert);
    free(r->key);
    free(r->server_name);
    free(r->prefix);
    explicit_bzero(r->wrapping_key, sizeof(r->wrapping_key));
    *r = (struct config_replication){.endpoints = 0};
}

static bool is_tls(const char *address)
{
    struct config_listen l;
    char expected[300];
    if (strncmp(address, "tls:", 4) != 0 ||
        listen_parse(address, &l, expected, sizeof(expected)) != FAB_OK)
        return false;
    bool good = strcmp(l.host, "*") != 0;
    listen_fini(&l);
    return good;
}

static int take_endpoints(const struct raw_replication *raw, struct report *report,
                          struct config_replication *r)
{
    char path[40];
    for (unsigned i = 0; i < raw->endpoints_count; i++) {
        snprintf(path, sizeof(path), "replication.endpoints[%u]", i);
        if (!is_tls(raw->endpoints[i]))
            return report_value(report, path,
                                "an etcd server, tls:HOST:PORT, such as tls:node-1:2379 (etcd "
                                "holds the decisions of operators, so it is used only with TLS)");
        r->endpoint[i] = strdup(raw->endpoints[i]);
        if (r->endpoint[i] == NULL)
            return FAB_E_NOMEM;
        r->endpoints = i + 1;
    }
    return FAB_OK;
}

#define WRAPPING_KEY "replication.wrapping_key"
#define DIGITS "64 hexadecimal digits, such as 'openssl rand -hex 32' prints"

static bool parse_digits(const char *text, uint8_t *ret, size_t bytes)
{
    bool good = strlen(text) == 2 * bytes;
    for (size_t i = 0; good && i < bytes; i++) {
        uint64_t byte = 0;
        good = fab_base_digits_parse(text + 2 * i, 2, 16, 255, &byte);
        ret[i] = (uint8_t)byte;
    }
    return good;
}

/* Reads the setting replication.wrapping_key. If its value is neither file:PATH nor
 * credential:NAME, the message does not show the value, because the value may be the key itself. */
static int take_wrapping_key(const char *value, struct report *report, struct config_replication *r)
{
    char *text = NULL;
    if (value == NULL || value[0] == '\0')
        return FAB_OK;
    if (!secret_is_elsewhere(value))
        return report_sentence(report, WRAPPING_KEY,
                               "must be file:PATH or credential:NAME: the key must not be in this "
                               "file");
    int rc = secret_read(WRAPPING_KEY, value, DIGITS, &text, report);
    if (rc != FAB_OK)
        return rc;
    r->wraps = parse_digits(text, r->wrapping_key, sizeof(r->wrapping_key));
    explicit_bzero(text, strlen(text));
    free(text);
    return r->wraps ? FAB_OK
                    : report_key(report, WRAPPING_KEY,
                                 "%s: the content of %s is not valid, expected " DIGITS,
                                 WRAPPING_KEY, value);
}

int replication_take(const struct raw_replication *raw, struct report *report, struct config *c)
{
    struct config_replication *r = &c->replication;
    if (raw == NULL)
        return FAB_OK;
    int rc = take_endpoints(raw, report, r);
    if (rc != FAB_OK || r->endpoints == 0)
        return rc;
    if (r->ca == NULL || r->cert == NULL || r->key == NULL) {
        report_key(report, "replication",
                   "replication.%s is not set, expected replication.ca, replication.cert and "
                   "replication.key for TLS with etcd",
                   r->ca == NULL     ? "ca"
                   : r->cert == NULL ? "cert"
                                     : "key");
        return FAB_E_INVAL;
    }
    rc = take_wrapping_key(raw->wrapping_key, report, r);
    if (rc != FAB_OK)
        return rc;
    if (r->prefix == NULL || r->prefix[0] == '\0') {
        free(r->prefix);
        r->prefix = strdup("fabricd");
    }
    return r->prefix != NULL ? FAB_OK : FAB_E_NOMEM;
}
