/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs the clients whose TLS handshake failed, and records refused certificates in the audit log.
 */
#include "fabricd/rpc/turned_away.h"

#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <sys/socket.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/grpc/grpc.h"

/* Records a client whose certificate was refused. */
static void record(struct audit *audit, const struct handshake_result *r)
{
    char source[64], message[1024];
    snprintf(source, sizeof source, "tls, %s", r->caller->address);
    snprintf(message, sizeof message,
             "the certificate is not accepted: %s; subject %.300s, issuer %.300s, serial %.60s",
             X509_verify_cert_error_string(SSL_get_verify_result(r->ssl)), r->caller->subject,
             r->caller->issuer, r->caller->serial);
    struct audit_row row = {.result = FAB_GRPC_UNAUTHENTICATED,
                            .text = {[AUDIT_ACCOUNT] = r->caller->text,
                                     [AUDIT_SOURCE] = source,
                                     [AUDIT_METHOD] = "connect",
                                     [AUDIT_MESSAGE] = message}};
    audit_refused(audit, &row);
}

static void log_error_of(struct turned_away *t, const struct handshake_result *r)
{
    static const struct fab_bucket_rate rate = {RPC_TURNED_AWAY_US, RPC_TURNED_AWAY_BURST};
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;
    char host[INET6_ADDRSTRLEN] = "", more[64] = "";
    const char *why = ERR_reason_error_string(r->error);
    if (!fab_base_bucket_take(&t->log_bucket, clock_now_us(), &rate)) {
        t->unlogged++;
        return;
    }
    if (getpeername(r->fd, (struct sockaddr *)&at, &len) < 0 ||
        getnameinfo((struct sockaddr *)&at, len, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0)
        host[0] = '\0';
    if (t->unlogged > 0)
        snprintf(more, sizeof more, "; %" PRIu64 " more since the last such message", t->unlogged);
    t->unlogged = 0;
    log_info("rpc", "a TLS client%s%s was turned away: %s%s", host[0] != '\0' ? " at " : "", host,
             why != NULL ? why : "the handshake failed", more);
}

void turned_away_note(struct turned_away *t, struct audit *audit, const struct handshake_result *r)
{
    if (r->caller != NULL)
        record(audit, r);
    else if (r->error != 0)
        log_error_of(t, r);
}
