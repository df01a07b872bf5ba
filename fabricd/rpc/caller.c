/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the identity of a client from its socket or its certificate.
 *
 * The functions do not use the name service, which could block the event loop for seconds while a
 * directory server does not answer. The kernel knows the supplementary groups (SO_PEERGROUPS), and
 * the name of a user is looked up only in /etc/passwd. So a user whom only a directory server knows
 * has the text "uid 5000".
 */
#include "fabricd/rpc/caller.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fabricd/base/log.h"
#include "fabricd/rpc/tls.h"
#include "libfabmgr/base/status.h"

static int caller_new(enum caller_transport transport, struct caller **ret)
{
    struct caller *c = calloc(1, sizeof *c);
    if (c == NULL)
        return FAB_E_NOMEM;
    c->refs = 1;
    c->transport = transport;
    *ret = c;
    return FAB_OK;
}

struct caller *caller_ref(struct caller *c)
{
    c->refs++;
    return c;
}

void caller_unref(struct caller *c)
{
    if (c == NULL || --c->refs > 0)
        return;
    for (size_t i = 0; i < c->san_count; i++)
        free(c->sans[i]);
    free(c->sans);
    free(c->groups);
    free(c->cn);
    free(c->subject);
    free(c->issuer);
    free(c->serial);
    free(c);
}

bool caller_is_same(const struct caller *a, const struct caller *b)
{
    if (a->transport != b->transport)
        return false;
    if (a->transport == CALLER_TLS)
        return strcmp(a->subject, b->subject) == 0 && strcmp(a->issuer, b->issuer) == 0;
    return a->transport == CALLER_OTHER || a->uid == b->uid;
}

int caller_other(struct caller **ret)
{
    int rc = caller_new(CALLER_OTHER, ret);
    if (rc == FAB_OK)
        snprintf((*ret)->text, sizeof(*ret)->text, "an unknown client");
    return rc;
}

/* ---- Unix sockets ---------------------------------------------------------------------------- */

static int read_groups(int fd, struct caller *c)
{
    socklen_t len = 0;
    gid_t none;
    /* Ask for the size first: with len 0, the call fails, and the kernel sets len to the size of
     * the list of groups. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &none, &len) == 0 || len == 0)
        return FAB_OK;
    c->groups = malloc(len);
    if (c->groups == NULL)
        return FAB_E_NOMEM;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, c->groups, &len) < 0)
        return FAB_E_IO;
    c->group_count = len / sizeof *c->groups;
    return FAB_OK;
}

static void find_user(struct caller *c)
{
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd *p = NULL;
    while (file != NULL && (p = fgetpwent(file)) != NULL && p->pw_uid != c->uid)
        ;
    if (p != NULL && strlen(p->pw_name) < sizeof c->user)
        log_clean(p->pw_name, c->user, sizeof c->user);
    if (file != NULL)
        fclose(file);
}

int caller_of_unix(int fd, struct caller **ret)
{
    struct ucred who;
    socklen_t len = sizeof who;
    struct caller *c;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return FAB_E_IO;
    int rc = caller_new(CALLER_UNIX, &c);
    if (rc < 0)
        return rc;
    c->uid = who.uid;
    c->gid = who.gid;
    c->pid = who.pid;
    rc = read_groups(fd, c);
    if (rc < 0) {
        caller_unref(c);
        return rc;
    }
    find_user(c);
    if (c->user[0] != '\0')
        snprintf(c->text, sizeof c->text, "%s (uid %u)", c->user, (unsigned)c->uid);
    else
        snprintf(c->text, sizeof c->text, "uid %u", (unsigned)c->uid);
    *ret = c;
    return FAB_OK;
}

/* ---- certificates ---------------------------------------------------------------------------- */

/* Returns a copy of the text with `prefix` before it. In the copy, log_clean has replaced control
 * characters and invalid UTF-8. NULL: memory ran out. */
static char *clean_copy(const char *prefix, const char *text)
{
    size_t used = strlen(prefix), room = used + 4 * strlen(text) + 1;
    char *copy = malloc(room);
    if (copy == NULL)
        return NULL;
    memcpy(copy, prefix, used);
    log_clean(text, copy + used, room - used);
    return copy;
}

/* Returns a copy of a text in a certificate, with `prefix` before it. Returns NULL if the text is
 * empty or not valid UTF-8, or has control characters or a NUL, because it could then look like
 * another name. Also returns NULL if memory ran out. */
static char *name_copy(const char *prefix, const ASN1_STRING *s)
{
    unsigned char *utf8 = NULL;
    char *copy = NULL;
    int len = ASN1_STRING_to_UTF8(&utf8, s);
    if (len > 0 && strlen((const char *)utf8) == (size_t)len)
        copy = clean_copy(prefix, (const char *)utf8);
    if (copy != NULL && strcmp(copy + strlen(prefix), (const char *)utf8) != 0) {
        free(copy);
        copy = NULL;
    }
    OPENSSL_free(utf8);
    return copy;
}

static char *find_cn(X509_NAME *subject)
{
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return NULL;
    return name_copy("", X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

static char *name_text(X509_NAME *name)
{
    BIO *out = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (out != NULL &&
        X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0 &&
        BIO_write(out, "", 1) == 1) {
        char *bytes;
        BIO_get_mem_data(out, &bytes);
        text = clean_copy("", bytes);
    }
    BIO_free(out);
    return text;
}

static char *serial_text(const ASN1_INTEGER *serial)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(serial, NULL);
    char *hex = number != NULL ? BN_bn2hex(number) : NULL;
    char *text = hex != NULL ? strdup(hex) : NULL;
    OPENSSL_free(hex);
    BN_free(number);
    return text;
}

static char *address_text(const ASN1_OCTET_STRING *bytes)
{
    char text[INET6_ADDRSTRLEN];
    int len = ASN1_STRING_length(bytes), family = len == 4 ? AF_INET : AF_INET6;
    if ((len != 4 && len != 16) ||
        inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof text) == NULL)
        return NULL;
    return clean_copy("IP:", text);
}

/* Returns the text of a subject alternative name. Returns NULL if the name is of an unknown kind or
 * not valid, or if memory ran out. */
static char *san_text(const GENERAL_NAME *name)
{
    switch (name->type) {
    case GEN_DNS:
        return name_copy("DNS:", name->d.dNSName);
    case GEN_EMAIL:
        return name_copy("email:", name->d.rfc822Name);
    case GEN_URI:
        return name_copy("URI:", name->d.uniformResourceIdentifier);
    case GEN_IPADD:
        return address_text(name->d.iPAddress);
    default:
        return NULL;
    }
}

static int read_sans(X509 *cert, struct caller *c)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    int count = names != NULL ? sk_GENERAL_NAME_num(names) : 0;
    c->sans = calloc((size_t)count + 1, sizeof *c->sans);
    for (int i = 0; c->sans != NULL && i < count; i++) {
        char *text = san_text(sk_GENERAL_NAME_value(names, i));
        if (text != NULL)
            c->sans[c->san_count++] = text;
    }
    GENERAL_NAMES_free(names);
    return c->sans != NULL ? FAB_OK : FAB_E_NOMEM;
}

static void find_address(int fd, char *ret, size_t len)
{
    struct sockaddr_storage at = {0};
    socklen_t at_len = sizeof at;
    if (getpeername(fd, (struct sockaddr *)&at, &at_len) < 0 ||
        getnameinfo((struct sockaddr *)&at, at_len, ret, (socklen_t)len, NULL, 0, NI_NUMERICHOST) !=
            0)
        ret[0] = '\0';
}

static int read_certificate(X509 *cert, struct caller *c)
{
    c->cn = find_cn(X509_get_subject_name(cert));
    c->subject = name_text(X509_get_subject_name(cert));
    c->issuer = name_text(X509_get_issuer_name(cert));
    c->serial = serial_text(X509_get0_serialNumber(cert));
    int rc = read_sans(cert, c);
    return c->subject == NULL || c->issuer == NULL || c->serial == NULL ? FAB_E_NOMEM : rc;
}

/* Creates the caller with this certificate. The member `text` of the caller begins with `title`. */
static int caller_of_certificate(X509 *cert, const char *title, int fd, struct caller **ret)
{
    struct caller *c;
    if (cert == NULL)
        return FAB_E_IO;
    int rc = caller_new(CALLER_TLS, &c);
    if (rc < 0)
        return rc;
    rc = read_certificate(cert, c);
    if (rc < 0) {
        caller_unref(c);
        return rc;
    }
    find_address(fd, c->address, sizeof c->address);
    const char *name = c->cn != NULL ? c->cn : c->san_count > 0 ? c->sans[0] : c->serial;
    size_t used = (size_t)snprintf(c->text, sizeof c->text, "%s ", title);
    log_clean(name, c->text + used, sizeof c->text - used);
    *ret = c;
    return FAB_OK;
}

int caller_of_tls(SSL *ssl, int fd, struct caller **ret)
{
    return caller_of_certificate(SSL_get0_peer_certificate(ssl), "certificate of", fd, ret);
}

int caller_refused(SSL *ssl, int fd, struct caller **ret)
{
    return caller_of_certificate(tls_refused(ssl), "refused certificate of", fd, ret);
}
