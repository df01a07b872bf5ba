/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetDiagnostics: texts for a report about a fault. The loop thread writes the parts
 * that show its own state, which takes as long as one request for the metrics. A study writes the
 * other parts, which come from files. No part contains a secret, and the call changes nothing. */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/diagnostics.pb-c.h"
#include "fabricd/base/process.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/base/status.h"

enum part { PART_SETTINGS, PART_METRICS, PART_DATABASE, PART_PROCESS };
static const char *const names[] = {"settings", "metrics", "database", "process"};
#define PARTS (sizeof names / sizeof names[0])

struct diagnostics {
    struct study study;
    const struct store *store;
    bool wanted[PARTS];
    struct fab_text text[PARTS];
};

/* ---- on the loop thread ---------------------------------------------------------------------- */

/* Names the sections of the settings that are not in force, because the applied policy replaces
 * them. */
static void write_policy(const struct policy *p, struct fab_text *to)
{
    struct policy_status s;
    if (p == NULL)
        return;
    policy_get_status(p, &s);
    for (int i = 0; i < FAB_DECLARED_SECTIONS; i++)
        if (s.has[i])
            fab_base_text_addf(to, "# %s: from the applied policy, version %" PRIu64 "\n",
                               fab_policy_declared_section_name[i], s.version);
}

static void write_settings(const struct rpc_input *in, struct fab_text *to)
{
    fab_base_text_add(
        to, "# Settings of the configuration file; those of the command line are not listed.\n");
    write_policy(in->policy, to);
    config_show(in->config, to);
}

static void write_first(struct diagnostics *d, const struct rpc_input *in)
{
    if (d->wanted[PART_SETTINGS])
        write_settings(in, &d->text[PART_SETTINGS]);
    if (d->wanted[PART_METRICS] && in->write_metrics != NULL)
        in->write_metrics(in->metrics_ctx, &d->text[PART_METRICS]);
}

static bool tell(struct study *s)
{
    struct diagnostics *d = (struct diagnostics *)s;
    Fabric__V1__GetDiagnosticsResponse m = FABRIC__V1__GET_DIAGNOSTICS_RESPONSE__INIT;
    struct answer a = {0};
    m.parts = answer_alloc(&a, PARTS, sizeof *m.parts);
    for (size_t i = 0; i < PARTS && m.parts != NULL; i++) {
        a.arena.failed |= d->text[i].status != FAB_OK;
        if (d->text[i].len == 0)
            continue;
        Fabric__V1__DiagnosticsPart *p =
            ANSWER_NEW(&a, Fabric__V1__DiagnosticsPart, fabric__v1__diagnostics_part);
        if (p == NULL)
            break;
        p->name = answer_text(&a, names[i]);
        p->text = answer_lines(&a, fab_base_text_get(&d->text[i]));
        m.parts[m.n_parts++] = p;
    }
    answer_reply(&a, s->call, &m.base);
    return false;
}

/* ---- on the worker thread -------------------------------------------------------------------- */

static void work(struct study *s)
{
    struct diagnostics *d = (struct diagnostics *)s;
    struct fab_text *process = &d->text[PART_PROCESS];
    if (d->wanted[PART_PROCESS]) {
        process_describe(process);
        fab_base_text_addf(process, "\nVersions\n  %s\n  protobuf-c %s\n",
                           OpenSSL_version(OPENSSL_VERSION), protobuf_c_version());
    }
    if (!d->wanted[PART_DATABASE] || d->store == NULL)
        return;
    int rc = store_describe(d->store, study_stopped, s, &d->text[PART_DATABASE]);
    if (rc != FAB_OK)
        study_fail(s, rc, "the database cannot be read");
}

/* ---- the method ------------------------------------------------------------------------------ */

static void diagnostics_free(struct study *s)
{
    struct diagnostics *d = (struct diagnostics *)s;
    for (size_t i = 0; i < PARTS; i++)
        fab_base_text_fini(&d->text[i]);
    free(d);
}

/* Sets wanted[] for the part with the name `part`; for all parts if `part` is "". Returns NOT_FOUND
 * if there is no such part. */
static int choose(const char *part, bool wanted[PARTS])
{
    int rc = FAB_E_NOT_FOUND;
    for (size_t i = 0; i < PARTS; i++) {
        wanted[i] = part[0] == '\0' || strcmp(part, names[i]) == 0;
        if (wanted[i])
            rc = FAB_OK;
    }
    return rc;
}

void get_diagnostics(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, diagnostics_free, NULL};
    const Fabric__V1__GetDiagnosticsRequest *q = request;
    const struct rpc_input *in = &call_rpc(c)->in;
    bool wanted[PARTS];
    if (choose(q->part, wanted) != FAB_OK) {
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no part \"%.100s\"; the parts are settings, metrics, database and process",
                    q->part);
        return;
    }
    struct diagnostics *d = calloc(1, sizeof *d);
    if (d == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    d->store = in->store;
    memcpy(d->wanted, wanted, sizeof d->wanted);
    write_first(d, in);
    study_start(c, NULL, &kind, &d->study);
}
