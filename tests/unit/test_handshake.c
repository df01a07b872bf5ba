/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS handshakes, which run in their own thread: complete, refused, stalled and cancelled ones. The
 * thread may be stopped at any moment. The clients are in this process, each at the other end of a
 * socket pair.
 */
#include "fabricd/rpc/handshake.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/rpc/tls.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#define PATIENCE_US 60000000u

static char folder[] = "/tmp/test-handshake-XXXXXX";
static struct loop *loop;
static struct loop_timer *tick;
static struct handshakes *handshakes;
static SSL_CTX *server, *alice, *mallory;
/* counts the results of all clients, so that each client knows the order of its result */
static int turns;

struct identity {
    EVP_PKEY *key;
    X509 *cert;
};

/* A client, and what the server's handshake with it has resulted in. */
struct client {
    SSL *ssl;
    int fd, server_fd;
    struct handshake *handshake;
    int results, turn;
    bool complete;
    char text[CALLER_TEXT_LEN];
    long verified;
    unsigned long error;
    SSL_CTX *context;
};

/* ---- certificates ---------------------------------------------------------------------------- */

static struct identity make_identity(const char *name)
{
    struct identity i = {EVP_EC_gen("P-256"), X509_new()};
    X509_NAME *subject = X509_get_subject_name(i.cert);
    X509_set_version(i.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(i.cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(i.cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(i.cert), 3600);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
                               0);
    X509_set_issuer_name(i.cert, subject);
    X509_set_pubkey(i.cert, i.key);
    ck_assert_int_gt(X509_sign(i.cert, i.key, EVP_sha256()), 0);
    return i;
}

static void free_identity(struct identity *i)
{
    EVP_PKEY_free(i->key);
    X509_free(i->cert);
}

static SSL_CTX *client_context(const struct identity *i)
{
    static const unsigned char h2[] = "\2h2";
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    ck_assert_int_eq(SSL_CTX_use_certificate(c, i->cert), 1);
    ck_assert_int_eq(SSL_CTX_use_PrivateKey(c, i->key), 1);
    ck_assert_int_eq(SSL_CTX_set_alpn_protos(c, h2, 3), 0);
    return c;
}

/* Makes the TLS context of a manager that trusts this client. */
static SSL_CTX *server_context(const struct identity *self, const struct identity *trusted)
{
    const struct tls_files files = {"cert.pem", "key.pem", "ca.pem", NULL};
    SSL_CTX *ctx = NULL;
    char why[200] = "";
    FILE *cert = fopen("cert.pem", "w"), *key = fopen("key.pem", "w"), *ca = fopen("ca.pem", "w");
    ck_assert_int_eq(fchmod(fileno(key), 0600), 0);
    ck_assert_int_eq(PEM_write_X509(cert, self->cert), 1);
    ck_assert_int_eq(PEM_write_PrivateKey(key, self->key, NULL, NULL, 0, NULL, NULL), 1);
    ck_assert_int_eq(PEM_write_X509(ca, trusted->cert), 1);
    fclose(cert);
    fclose(key);
    fclose(ca);
    ck_assert_msg(tls_context_new(&files, &ctx, why, sizeof why) == FAB_OK, "%s", why);
    return ctx;
}

/* ---- fixture --------------------------------------------------------------------------------- */

static void on_tick(void *ctx)
{
    (void)ctx;
    loop_stop(loop);
}

static void begin(void)
{
    struct identity manager = make_identity("manager"), a = make_identity("alice"),
                    m = make_identity("mallory");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    loop = loop_new();
    tick = loop_timer_new(loop, on_tick, NULL);
    server = server_context(&manager, &a);
    alice = client_context(&a);
    mallory = client_context(&m);
    free_identity(&manager);
    free_identity(&a);
    free_identity(&m);
    ck_assert_int_eq(handshakes_new(loop, &handshakes), FAB_OK);
}

static void end(void)
{
    char command[64];
    handshakes_free(handshakes);
    SSL_CTX_free(server);
    SSL_CTX_free(alice);
    SSL_CTX_free(mallory);
    loop_timer_free(tick);
    loop_free(loop);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void on_done(void *ctx, const struct handshake_result *r)
{
    struct client *c = ctx;
    c->handshake = NULL;
    c->results++;
    c->turn = ++turns;
    c->complete = r->complete;
    c->error = r->error;
    c->verified = SSL_get_verify_result(r->ssl);
    c->context = SSL_get_SSL_CTX(r->ssl);
    ck_assert_int_eq(r->fd, c->server_fd);
    snprintf(c->text, sizeof c->text, "%s", r->caller != NULL ? r->caller->text : "");
    if (!r->complete)
        return;
    SSL_free(r->ssl);
    close(r->fd);
}

static void connect_client_as(struct client *c, SSL_CTX *context, bool urgent)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    *c = (struct client){.ssl = SSL_new(context), .fd = pair[0], .server_fd = pair[1]};
    SSL_set_fd(c->ssl, c->fd);
    SSL_set_connect_state(c->ssl);
    const struct handshake_input in = {pair[1], server, urgent, on_done, c};
    ck_assert_int_eq(handshake_begin(handshakes, &in, &c->handshake), FAB_OK);
}

static void connect_client(struct client *c, SSL_CTX *context)
{
    connect_client_as(c, context, false);
}

static void free_client(struct client *c)
{
    SSL_free(c->ssl);
    close(c->fd);
    ERR_clear_error();
}

static void turn(void)
{
    loop_timer_set(tick, 1000);
    ck_assert_int_eq(loop_run(loop), FAB_OK);
}

/* Runs the client and the server's loop in turn until the server has a result for this client. */
static void finish(struct client *c)
{
    uint64_t until = clock_now_us() + PATIENCE_US;
    while (c->results == 0) {
        (void)SSL_do_handshake(c->ssl);
        turn();
        ck_assert_uint_lt(clock_now_us(), until);
    }
    ERR_clear_error();
}

/* Returns when the server has closed the connection. */
static void expect_close(const struct client *c)
{
    struct pollfd p = {.fd = c->fd};
    ck_assert_int_eq(poll(&p, 1, PATIENCE_US / 1000), 1);
    ck_assert_int_eq(p.revents & POLLHUP, POLLHUP);
}

/* ---- results --------------------------------------------------------------------------------- */

START_TEST(a_client_with_a_certificate_is_handed_over)
{
    struct client c;
    connect_client(&c, alice);
    finish(&c);
    ck_assert(c.complete);
    ck_assert_int_eq(c.results, 1);
    ck_assert_str_eq(c.text, "certificate of alice");
    free_client(&c);
}
END_TEST

START_TEST(a_refused_certificate_is_handed_over_with_its_names)
{
    struct client c;
    connect_client(&c, mallory);
    finish(&c);
    ck_assert(!c.complete);
    ck_assert_str_eq(c.text, "refused certificate of mallory");
    ck_assert_int_eq(c.verified, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
    expect_close(&c);
    free_client(&c);
}
END_TEST

START_TEST(other_failures_have_a_reason)
{
    struct client c;
    connect_client(&c, alice);
    ck_assert_int_eq(write(c.fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    while (c.results == 0)
        turn();
    ck_assert(!c.complete);
    ck_assert_uint_ne(c.error, 0);
    ck_assert_str_eq(c.text, "");
    free_client(&c);

    connect_client(&c, alice);
    shutdown(c.fd, SHUT_RDWR);
    while (c.results == 0)
        turn();
    ck_assert(!c.complete);
    free_client(&c);
}
END_TEST

/* During a handshake, the settings are reloaded. The handshake must go on with the TLS context with
 * which it began. */
START_TEST(a_handshake_keeps_its_context)
{
    struct client c;
    connect_client(&c, alice);
    SSL_CTX *old = server;
    server = SSL_CTX_new(TLS_server_method());
    SSL_CTX_free(old);
    finish(&c);
    ck_assert(c.complete);
    ck_assert_ptr_eq(c.context, old);
    free_client(&c);
}
END_TEST

/* ---- the thread ------------------------------------------------------------------------------ */

static pthread_t main_thread;
static atomic_uint off_the_loop, on_the_loop, renamed;
static sem_t entered, leave;
static atomic_bool blocks;

/* OpenSSL calls this function several times during a handshake. If `blocks` is set, the function
 * waits until the test lets it go on. */
static void on_info(const SSL *ssl, int where, int ret)
{
    char name[16] = "";
    (void)ssl, (void)where, (void)ret;
    atomic_fetch_add(pthread_equal(pthread_self(), main_thread) ? &on_the_loop : &off_the_loop, 1);
    pthread_getname_np(pthread_self(), name, sizeof name);
    atomic_fetch_add(&renamed, strcmp(name, "fabricd-tls") == 0);
    if (!atomic_exchange(&blocks, false))
        return;
    sem_post(&entered);
    while (sem_wait(&leave) != 0)
        ;
}

/* Connects a client, and returns while the thread waits in the middle of this client's
 * handshake. */
static void block_thread(struct client *c)
{
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    main_thread = pthread_self();
    SSL_CTX_set_info_callback(server, on_info);
    atomic_store(&blocks, true);
    connect_client(c, alice);
    (void)SSL_do_handshake(c->ssl);
    ck_assert_int_eq(sem_wait(&entered), 0);
}

START_TEST(the_loop_runs_while_a_handshake_is_computed)
{
    struct client c;
    block_thread(&c);
    for (int i = 0; i < 20; i++)
        turn();
    ck_assert_int_eq(c.results, 0);
    sem_post(&leave);
    finish(&c);
    ck_assert(c.complete);
    ck_assert_uint_eq(on_the_loop, 0);
    ck_assert_uint_gt(off_the_loop, 0);
    ck_assert_uint_eq(renamed, off_the_loop);
    free_client(&c);
}
END_TEST

START_TEST(a_stalled_handshake_delays_no_other)
{
    unsigned char hello[4096];
    struct client slow, fast;
    BIO *out = BIO_new(BIO_s_mem()), *in = BIO_new(BIO_s_mem());
    connect_client(&slow, alice);
    SSL_set_bio(slow.ssl, in, out);
    (void)SSL_do_handshake(slow.ssl);
    int len = BIO_read(out, hello, sizeof hello);
    ck_assert_int_gt(len, 100);
    ck_assert_int_eq(write(slow.fd, hello, 100), 100);
    for (int i = 0; i < 3; i++) {
        connect_client(&fast, alice);
        finish(&fast);
        ck_assert(fast.complete);
        free_client(&fast);
    }
    ck_assert_int_eq(slow.results, 0);
    ck_assert_int_eq(write(slow.fd, hello + 100, (size_t)len - 100), len - 100);
    SSL_set_fd(slow.ssl, slow.fd);
    finish(&slow);
    ck_assert(slow.complete);
    free_client(&slow);
}
END_TEST

/* An urgent handshake overtakes handshakes that were ready earlier. */
START_TEST(urgent_handshakes_go_first)
{
    struct client blocking, c[6];
    block_thread(&blocking);
    for (int i = 0; i < 6; i++) {
        connect_client_as(&c[i], alice, i >= 4);
        ck_assert_int_eq(write(c[i].fd, "no TLS", 6), 6);
    }
    sem_post(&leave);
    for (int i = 0; i < 6; i++) {
        while (c[i].results == 0)
            turn();
        ck_assert_int_eq(c[i].turn, i < 4 ? i + 3 : i - 3);
        free_client(&c[i]);
    }
    finish(&blocking);
    ck_assert(blocking.complete);
    free_client(&blocking);
}
END_TEST

/* ---- cancelling and stopping ----------------------------------------------------------------- */

START_TEST(a_pending_handshake_is_cancelled)
{
    struct client c;
    connect_client(&c, alice);
    handshake_cancel(c.handshake);
    /* the file descriptor of a cancelled handshake is closed at once */
    ck_assert_int_eq(fcntl(c.server_fd, F_GETFD), -1);
    expect_close(&c);
    handshake_cancel(NULL);
    turn();
    ck_assert_int_eq(c.results, 0);
    free_client(&c);
}
END_TEST

START_TEST(a_handshake_is_cancelled_while_it_is_computed)
{
    struct client c;
    block_thread(&c);
    handshake_cancel(c.handshake);
    sem_post(&leave);
    expect_close(&c);
    turn();
    ck_assert_int_eq(c.results, 0);
    free_client(&c);
}
END_TEST

/* Starts twenty handshakes, and cancels them one after the other. Meanwhile, the thread computes
 * some of them, so some end before they are cancelled. */
static void cancel_some(struct fab_prng *random, bool stops)
{
    struct client c[20];
    for (int i = 0; i < 20; i++) {
        connect_client_as(&c[i], i % 4 == 0 ? mallory : alice, i % 3 == 0);
        (void)SSL_do_handshake(c[i].ssl);
    }
    for (uint64_t i = fab_base_prng_below(random, 200); i > 0; i--)
        (void)SSL_do_handshake(c[i % 20].ssl);
    usleep((useconds_t)fab_base_prng_below(random, 4000));
    if (stops) {
        handshakes_free(handshakes);
        handshakes = NULL;
    }
    for (int i = 0; i < 20; i++) {
        if (!stops)
            handshake_cancel(c[i].handshake);
        expect_close(&c[i]);
        ck_assert_int_eq(c[i].results, 0);
        free_client(&c[i]);
    }
    turn();
    if (stops)
        ck_assert_int_eq(handshakes_new(loop, &handshakes), FAB_OK);
}

START_TEST(handshakes_end_at_any_moment)
{
    struct fab_prng random;
    fab_base_prng_init(&random, test_seed("handshakes", 1));
    for (unsigned i = 0; i < test_rounds(40); i++)
        cancel_some(&random, i % 2 == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshakes");
    TCase *tcase = tcase_create("handshakes");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_client_with_a_certificate_is_handed_over);
    tcase_add_test(tcase, a_refused_certificate_is_handed_over_with_its_names);
    tcase_add_test(tcase, other_failures_have_a_reason);
    tcase_add_test(tcase, a_handshake_keeps_its_context);
    tcase_add_test(tcase, the_loop_runs_while_a_handshake_is_computed);
    tcase_add_test(tcase, a_stalled_handshake_delays_no_other);
    tcase_add_test(tcase, urgent_handshakes_go_first);
    tcase_add_test(tcase, a_pending_handshake_is_cancelled);
    tcase_add_test(tcase, a_handshake_is_cancelled_while_it_is_computed);
    tcase_add_test(tcase, handshakes_end_at_any_moment);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
