/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a file equal to an export. fabricctl asks for the generation of the view every two seconds.
 * If the generation has changed, it exports the fabric, and compares the lines that are not
 * comments with those of the file. If the manager forgets a node that is gone, the generation does
 * not change, so fabricctl also exports once a minute.
 *
 * The manager publishes a view up to 50 ms before it records what is gone. Before fabricctl
 * replaces the file, it therefore waits one second and exports again.
 */
#include "cli/ctl/topo_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/sink.h"
#include "fabric/v1/status.pb-c.h"
#include "libfabmgr/base/text.h"

#define POLL_S 2
#define EXPORT_S 60
#define SETTLE_S 1
#define FILE_MOST (64u << 20)

struct topology {
    struct session *s;
    Fabric__V1__ExportFormat format;
    uint64_t generation; /* generation of the last export; 0: the next poll exports */
    time_t exported;     /* monotonic time of the last export */
    /* true: the last run of the hook failed, and the hook runs again EXPORT_S seconds after the
     * last export */
    bool hook_failed;
    bool lost; /* true: fabricctl has printed that the manager does not answer */
};

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* ---- the manager ----------------------------------------------------------------------------- */

static bool append(void *ctx, const ProtobufCMessage *message)
{
    struct fab_text *t = ctx;
    const Fabric__V1__ExportResponse *r = (const Fabric__V1__ExportResponse *)message;
    fab_base_text_bytes(t, r->data.data, r->data.len);
    return t->status == 0 && t->len <= FILE_MOST;
}

static enum fab_grpc_code fetch(struct topology *w, struct fab_text *t,
                                struct fab_client_error *error)
{
    Fabric__V1__ExportRequest q = FABRIC__V1__EXPORT_REQUEST__INIT;
    q.format = w->format;
    fab_client_stream(w->s->client, "fabric.v1.FabricService/Export", &q.base,
                      &fabric__v1__export_response__descriptor, append, t, error);
    if (error->code == FAB_GRPC_OK && (t->status != 0 || t->len > FILE_MOST)) {
        /* not RESOURCE_EXHAUSTED, which a manager with too many connections sends (endure) */
        error->code = FAB_GRPC_OUT_OF_RANGE;
        if (t->status != 0)
            snprintf(error->message, sizeof error->message, "out of memory");
        else
            snprintf(error->message, sizeof error->message,
                     "the export has more than %u MiB, and cannot be watched", FILE_MOST >> 20);
    }
    return error->code;
}

static enum fab_grpc_code get_generation(struct topology *w, uint64_t *ret,
                                         struct fab_client_error *error)
{
    Fabric__V1__GetStatusRequest q = FABRIC__V1__GET_STATUS_REQUEST__INIT;
    ProtobufCMessage *m = NULL;
    fab_client_call(w->s->client, "fabric.v1.FabricService/GetStatus", &q.base,
                    &fabric__v1__get_status_response__descriptor, &m, error);
    const Fabric__V1__GetStatusResponse *r = (const Fabric__V1__GetStatusResponse *)m;
    if (error->code == FAB_GRPC_OK && r->status != NULL)
        *ret = r->status->generation;
    free_reply(m);
    return error->code;
}

/* Handles the error of a request. If the manager does not answer, perhaps because it is being
 * restarted, or has no resources for the request, prints the error once, and connects again. If the
 * manager has no tables yet, only prints the error once. After any other error, prints it, and
 * returns an exit code that ends the command. */
static int endure(struct topology *w, const struct fab_client_error *error)
{
    struct fab_client_error again;
    if (error->code != FAB_GRPC_UNAVAILABLE && error->code != FAB_GRPC_DEADLINE_EXCEEDED &&
        error->code != FAB_GRPC_FAILED_PRECONDITION && error->code != FAB_GRPC_RESOURCE_EXHAUSTED)
        return say_error(error);
    if (!w->lost)
        (void)say_error(error);
    w->lost = true;
    w->generation = 0;
    if (error->code == FAB_GRPC_FAILED_PRECONDITION)
        return EXIT_OK;
    fab_client_close(w->s->client);
    w->s->client = NULL;
    while (fab_client_open(w->s->connection, &w->s->client, &again) != FAB_GRPC_OK)
        sleep(POLL_S);
    return EXIT_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Returns the next line that is no comment and not empty, or NULL. */
static const char *next_line(const char *text, size_t *ret_len)
{
    for (; *text != '\0'; text += strspn(text, "\n")) {
        *ret_len = strcspn(text, "\n");
        if (*ret_len > 0 && *text != '#')
            return text;
        text += *ret_len;
    }
    return NULL;
}

static bool same_shape(const char *a, const char *b)
{
    size_t len[2] = {0, 0};
    for (;; a += len[0], b += len[1]) {
        a = next_line(a, &len[0]);
        b = next_line(b, &len[1]);
        if (a == NULL || b == NULL)
            return a == b;
        if (len[0] != len[1] || memcmp(a, b, len[0]) != 0)
            return false;
    }
}

/* Reads the file; a file that does not exist counts as empty. */
static int load(const char *path, struct fab_text *t)
{
    char piece[4096];
    FILE *f = fopen(path, "r");
    if (f == NULL && errno == ENOENT)
        return EXIT_OK;
    if (f == NULL)
        return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    for (size_t n; t->len <= FILE_MOST && (n = fread(piece, 1, sizeof piece, f)) > 0;)
        fab_base_text_bytes(t, piece, n);
    int failed = ferror(f) ? errno : 0;
    fclose(f);
    return failed == 0 ? EXIT_OK : complain(EXIT_FAILED, "%s: %s", path, strerror(failed));
}

static int save(const char *path, const struct fab_text *t)
{
    struct sink sink;
    int rc = sink_open(&sink, path);
    if (rc != EXIT_OK)
        return rc;
    if (t->len > 0 && fwrite(t->s, 1, t->len, sink.to) != t->len)
        sink.error = errno;
    if (sink.error == 0 && (fflush(sink.to) != 0 || fsync(fileno(sink.to)) < 0))
        sink.error = errno;
    return sink_close(&sink, path, EXIT_OK);
}

static int differs(const struct topology *w, const struct fab_text *t, bool *ret)
{
    struct fab_text old = {0};
    int rc = load(w->s->file, &old);
    *ret = !same_shape(fab_base_text_get(&old), fab_base_text_get(t));
    fab_base_text_fini(&old);
    return rc;
}

static void run_hook(struct topology *w)
{
    if (w->s->hook == NULL)
        return;
    int status = system(w->s->hook);
    w->hook_failed = status != 0;
    if (status < 0)
        complain(EXIT_FAILED, "the hook cannot run: %s", strerror(errno));
    else if (WIFSIGNALED(status))
        complain(EXIT_FAILED, "the hook was ended by signal %d; it runs again in %d s",
                 WTERMSIG(status), EXPORT_S);
    else if (status != 0)
        complain(EXIT_FAILED, "the hook failed with exit status %d; it runs again in %d s",
                 WEXITSTATUS(status), EXPORT_S);
}

/* ---- loop ------------------------------------------------------------------------------------ */

static int replace(struct topology *w, const struct fab_text *t)
{
    int rc = save(w->s->file, t);
    if (rc != EXIT_OK)
        return rc;
    out_note(w->s->out, OUT_PLAIN, "%s is new", w->s->file);
    fflush(stdout);
    run_hook(w);
    return EXIT_OK;
}

/* Exports the topology, and compares the export with the file. If they differ, waits for one second
 * and calls itself with `again` = true. This second call replaces the file if its own export
 * differs from the file as well. */
static int update(struct topology *w, bool again)
{
    struct fab_client_error error;
    struct fab_text t = {0};
    bool differ = false;
    int rc = EXIT_OK;
    if (fetch(w, &t, &error) != FAB_GRPC_OK)
        rc = endure(w, &error);
    else
        rc = differs(w, &t, &differ);
    if (rc == EXIT_OK && differ && again)
        rc = replace(w, &t);
    fab_base_text_fini(&t);
    if (rc != EXIT_OK || !differ || again)
        return rc;
    sleep(SETTLE_S);
    return update(w, true);
}

static int poll_once(struct topology *w)
{
    struct fab_client_error error;
    uint64_t generation = 0;
    if (get_generation(w, &generation, &error) != FAB_GRPC_OK)
        return endure(w, &error);
    bool due = now_s() - w->exported >= EXPORT_S;
    if (generation == 0 || (generation == w->generation && !due))
        return EXIT_OK;
    if (w->hook_failed && due)
        run_hook(w);
    w->lost = false;
    w->generation = generation;
    w->exported = now_s();
    return update(w, false);
}

int watch_topology(struct session *s, Fabric__V1__ExportFormat format)
{
    struct topology w = {.s = s, .format = format};
    if (s->file == NULL || strcmp(s->file, "-") == 0)
        return complain(EXIT_USAGE, "--watch needs --file FILE");
    w.exported = now_s();
    for (;;) {
        int rc = poll_once(&w);
        if (rc != EXIT_OK)
            return rc;
        sleep(POLL_S);
    }
}
