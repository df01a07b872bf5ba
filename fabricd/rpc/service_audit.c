/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements ListAudit and VerifyAudit. For each page, ListAudit examines at most ROWS_A_PAGE rows
 * of the audit log, so that a filter that matches few rows does not block the event loop.
 * VerifyAudit reads all rows, on the worker thread of the studies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/audit.pb-c.h"
#include "fabricd/rpc/concern.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/study.h"
#include "fabricd/store/audit.h"
#include "libfabmgr/base/match.h"
#include "libfabmgr/base/status.h"

#define ROWS_A_PAGE 2000u

/* ---- listing --------------------------------------------------------------------------------- */

struct rows {
    const Fabric__V1__ListAuditRequest *filter;
    struct concern concern;
    int64_t since_us, until_us;
    struct answer *a;
    Fabric__V1__ListAuditResponse *m;
    uint32_t want, seen;
    /* number of the row that was read last */
    uint64_t last;
};

static bool passes(const char *wanted, const char *text)
{
    return wanted[0] == '\0' || fab_base_pattern_matches(wanted, text, strlen(text));
}

static const char *result_of(const struct audit_row *row)
{
    if (row->kind == AUDIT_BEGIN)
        return "UNFINISHED";
    return fab_grpc_code_name((int)row->result);
}

static bool is_wanted(const struct rows *r, const struct audit_row *row)
{
    const Fabric__V1__ListAuditRequest *q = r->filter;
    return !row->ended && row->time_us >= r->since_us && row->time_us < r->until_us &&
           passes(q->account, row->text[AUDIT_ACCOUNT]) &&
           passes(q->object, row->text[AUDIT_OBJECT]) &&
           passes(q->method, row->text[AUDIT_METHOD]) && passes(q->result, result_of(row)) &&
           concern_text(&r->concern, row->text[AUDIT_OBJECT]);
}

static Fabric__V1__AuditRecord *convert_row(struct answer *a, const struct audit_row *row)
{
    Fabric__V1__AuditRecord *m = ANSWER_NEW(a, Fabric__V1__AuditRecord, fabric__v1__audit_record);
    if (m == NULL)
        return NULL;
    m->sequence = row->seq;
    m->time = convert_time(a, row->time_us);
    m->account = answer_text(a, row->text[AUDIT_ACCOUNT]);
    m->source = answer_text(a, row->text[AUDIT_SOURCE]);
    m->method = answer_text(a, row->text[AUDIT_METHOD]);
    m->object = answer_text(a, row->text[AUDIT_OBJECT]);
    m->before = answer_text(a, row->text[AUDIT_BEFORE]);
    m->after = answer_text(a, row->text[AUDIT_AFTER]);
    m->result = answer_text(a, result_of(row));
    m->message = answer_text(a, row->text[AUDIT_MESSAGE]);
    m->reason = answer_text(a, row->text[AUDIT_REASON]);
    return m;
}

static bool take(void *ctx, const struct audit_row *row)
{
    struct rows *r = ctx;
    r->seen++;
    r->last = row->seq;
    if (is_wanted(r, row))
        r->m->records[r->m->n_records++] = convert_row(r->a, row);
    return r->m->n_records < r->want;
}

void list_audit(struct call *c, const void *request)
{
    const Fabric__V1__ListAuditRequest *q = request;
    Fabric__V1__ListAuditResponse m = FABRIC__V1__LIST_AUDIT_RESPONSE__INIT;
    struct store *store = call_rpc(c)->in.store;
    struct answer a = {0};
    struct page page;
    if (!read_page(c, 'a', q->page_token, q->page_size, &page))
        return;
    struct rows rows = {.filter = q,
                        .since_us = read_time(q->since, INT64_MIN),
                        .until_us = read_time(q->until, INT64_MAX),
                        .a = &a,
                        .m = &m,
                        .want = page.want};
    int rc = concern_read(&rows.concern, call_rpc(c), q->subject);
    if (rc != FAB_OK) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    m.records = answer_alloc(&a, page.want, sizeof *m.records);
    if (m.records != NULL && store != NULL)
        rc = store_audit_list(store, page.given ? page.key.number : 0, ROWS_A_PAGE, take, &rows);
    concern_fini(&rows.concern);
    if (rc != FAB_OK) {
        fab_base_arena_fini(&a.arena);
        call_finish(c, fab_grpc_code_of(rc), "the audit log cannot be read: %s",
                    fab_base_status_text(rc));
        return;
    }
    if ((rows.seen == ROWS_A_PAGE || m.n_records == page.want) && rows.last > 1) {
        const struct page_key key = {.list = 'a', .number = rows.last};
        m.next_page_token = page_token(&a, &key);
    }
    answer_reply(&a, c, &m.base);
}

/* ---- verification ---------------------------------------------------------------------------- */

struct verification {
    struct study study;
    struct store *store;
    struct audit_verdict verdict;
};

static void work(struct study *s)
{
    struct verification *v = (struct verification *)s;
    int rc = store_audit_verify(v->store, study_stopped, s, &v->verdict);
    if (rc != FAB_OK)
        study_fail(s, rc, "the audit log cannot be read");
}

static bool tell(struct study *s)
{
    const struct audit_verdict *v = &((struct verification *)s)->verdict;
    Fabric__V1__VerifyAuditResponse m = FABRIC__V1__VERIFY_AUDIT_RESPONSE__INIT;
    struct answer a = {0};
    char mac[2 * AUDIT_MAC + 1];
    for (int i = 0; i < AUDIT_MAC; i++)
        sprintf(mac + 2 * (size_t)i, "%02x", v->head.mac[i]);
    m.intact = v->problem[0] == '\0';
    m.rows = v->rows;
    m.first = v->first;
    m.last = v->last;
    m.bad = v->bad;
    m.problem = answer_text(&a, v->problem);
    m.head = v->head.seq;
    m.head_mac = answer_text(&a, mac);
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void verification_free(struct study *s)
{
    free(s);
}

void verify_audit(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, verification_free, NULL};
    struct store *store = need_store(c);
    (void)request;
    if (store == NULL)
        return;
    struct verification *v = calloc(1, sizeof *v);
    if (v == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    v->store = store;
    study_start(c, NULL, &kind, &v->study);
}
