/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses listen addresses: "unix:PATH" and "tls:HOST:PORT". Plain TCP is not supported. The error
 * message for an address says so, because users often try plain TCP first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "libfabmgr/base/status.h"

#define HOST_MAX 255

static int refuse(char *expected, size_t len, const char *what)
{
    snprintf(expected, len, "%s", what);
    return FAB_E_INVAL;
}

static int parse_unix(const char *path, struct config_listen *l, char *expected, size_t len)
{
    struct sockaddr_un address;
    if (path[0] != '/')
        return refuse(expected, len, "unix:PATH with a path that starts with /");
    if (strlen(path) >= sizeof(address.sun_path)) {
        snprintf(expected, len,
                 "a path of at most %zu bytes after unix:", sizeof(address.sun_path) - 1);
        return FAB_E_INVAL;
    }
    l->kind = CONFIG_LISTEN_UNIX;
    l->host = strdup(path);
    return l->host != NULL ? FAB_OK : FAB_E_NOMEM;
}

static int parse_port(const char *text, uint16_t *ret)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long port = digits <= 5 ? strtoul(text, NULL, 10) : 0;
    if (digits == 0 || text[digits] != '\0' || port == 0 || port > 65535)
        return FAB_E_INVAL;
    *ret = (uint16_t)port;
    return FAB_OK;
}

/* Parses HOST:PORT. An IPv6 address must be in brackets, so that its colons cannot be mistaken for
 * the colon before the port. */
static int parse_host(const char *where, const char *form, struct config_listen *l, char *expected,
                      size_t len)
{
    bool brackets = where[0] == '[';
    const char *host = where + brackets;
    size_t host_len = strcspn(host, brackets ? "]" : ":");
    const char *colon = host + host_len + (brackets && host[host_len] == ']');
    if (host_len == 0 || host_len > HOST_MAX || *colon != ':')
        return refuse(expected, len, form);
    if (parse_port(colon + 1, &l->port) != FAB_OK)
        return refuse(expected, len, "a port from 1 to 65535 at its end");
    l->kind = CONFIG_LISTEN_TLS;
    l->host = strndup(host, host_len);
    return l->host != NULL ? FAB_OK : FAB_E_NOMEM;
}

static int parse_tls(const char *where, struct config_listen *l, char *expected, size_t len)
{
    return parse_host(where,
                      "tls:HOST:PORT, where HOST is a name, an address, an IPv6 address in "
                      "brackets, or * for every address",
                      l, expected, len);
}

/* Finishes the parsing of the address `l`. `rc` is the result of the parsing so far. If it is
 * FAB_OK, copies the text into `l`, and moves `l` to *ret; otherwise frees `l`. Returns `rc` or
 * NOMEM. */
static int conclude(int rc, const char *text, struct config_listen *l, struct config_listen *ret)
{
    if (rc == FAB_OK && (l->text = strdup(text)) == NULL)
        rc = FAB_E_NOMEM;
    if (rc == FAB_OK)
        *ret = *l;
    else
        listen_fini(l);
    return rc;
}

int listen_parse_metrics(const char *text, struct config_listen *ret, char *expected, size_t len)
{
    struct config_listen l = {0};
    int rc = parse_host(text, "HOST:PORT, such as 127.0.0.1:9471", &l, expected, len);
    return conclude(rc, text, &l, ret);
}

int listen_parse(const char *text, struct config_listen *ret, char *expected, size_t len)
{
    struct config_listen l = {0};
    int rc;
    if (strncmp(text, "unix:", 5) == 0)
        rc = parse_unix(text + 5, &l, expected, len);
    else if (strncmp(text, "tls:", 4) == 0)
        rc = parse_tls(text + 4, &l, expected, len);
    else if (text[0] == '/')
        rc = refuse(expected, len, "unix: before the path");
    else if (strchr(text, ':') != NULL)
        rc = refuse(expected, len,
                    "unix:PATH or tls:HOST:PORT (plain TCP is never served: whoever reaches the "
                    "port would command the fabric)");
    else
        rc = refuse(expected, len, "unix:PATH or tls:HOST:PORT");
    return conclude(rc, text, &l, ret);
}

void listen_fini(struct config_listen *l)
{
    free(l->text);
    free(l->host);
    *l = (struct config_listen){0};
}
