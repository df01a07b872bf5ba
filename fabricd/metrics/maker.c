/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the pages of metrics (the responses to scrapes), one after the other. The loop copies the
 * counters of the ports in steps (rows.c), and writes the families of metrics of the manager. A
 * separate thread then writes the families of the ports. This thread has a low priority, so that a
 * program that collects metrics does not delay reroutes.
 *
 * A job owns its page and its rows. While the thread works on the job, the loop does not touch
 * them. If the maker is freed meanwhile, on_written frees the job later.
 */
#include <stdlib.h>
#include <sys/queue.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/loop/worker.h"
#include "fabricd/metrics/private.h"
#include "libfabmgr/base/status.h"

/* metrics-truncated is emitted at most once in this time (microseconds) */
#define TOLD_US UINT64_C(3600000000)

struct job {
    STAILQ_ENTRY(job) entry;
    struct page_maker *maker; /* NULL: the maker was freed */
    struct loop *loop;
    uint64_t id;
    struct metrics_form form;
    struct page_buffer *page;
    struct port_rows rows;
    uint64_t asked_us; /* time in us at which the first client asked for this page */
    bool begun;
    bool at_worker; /* true: the thread is working on the job */
};
struct page_maker {
    struct metrics_input in;
    page_ready *ready;
    void *ctx;
    struct worker *worker;
    struct loop_timer *step;
    /* the jobs in the order of the requests; the first one is in progress */
    STAILQ_HEAD(, job) jobs;
    LIST_HEAD(, page_buffer) pages; /* all pages in memory */
    uint64_t last_id;
    struct page_statistics statistics;
    uint64_t told_us; /* time in us at which metrics-truncated was last emitted; 0: never */
};

static void free_page(void *ctx)
{
    struct page_buffer *b = ctx;
    fab_base_text_fini(&b->text);
    free(b);
}

/* Gives up a reference. If it was the last one, another thread frees the page, because the kernel
 * takes milliseconds to free 100 MB. If the maker was freed before, this thread frees the page. */
void page_buffer_unref(struct page_buffer *b)
{
    if (!b || --b->refs > 0)
        return;
    if (!b->maker) {
        free_page(b);
        return;
    }
    LIST_REMOVE(b, entry);
    loop_discard(b->maker->in.loop, free_page, b);
}

static void discard_fabric(void *ctx)
{
    fab_fabric_unref(ctx);
}

static void job_free(struct job *j)
{
    /* Freeing a large fabric takes milliseconds, so another thread does it. If the maker was freed,
     * the loop starts no more tasks, and port_rows_fini frees the fabric here. */
    if (j->rows.fabric && j->maker)
        loop_discard(j->loop, discard_fabric, j->rows.fabric);
    if (j->maker)
        j->rows.fabric = NULL;
    port_rows_fini(&j->rows);
    page_buffer_unref(j->page);
    free(j);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void write_ports(void *ctx)
{
    struct job *j = ctx;
    struct page to = {&j->page->text, j->form.format};
    if (j->form.ports)
        page_ports(&j->rows, j->form.names, &to);
    page_end(&to);
    /* free the rows here and not on the loop, because this takes a millisecond */
    free(j->rows.row);
    j->rows.row = NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void begin_next(struct page_maker *m)
{
    if (!STAILQ_EMPTY(&m->jobs))
        loop_timer_set(m->step, 0);
}

static void finish(struct page_maker *m, struct job *j)
{
    bool good = j->page && j->page->text.status == FAB_OK && !j->rows.failed;
    STAILQ_REMOVE_HEAD(&m->jobs, entry);
    m->statistics.pages++;
    m->statistics.us += clock_now_us() - j->asked_us;
    m->statistics.last_bytes = good ? j->page->text.len : 0;
    m->ready(m->ctx, j->id, good ? j->page : NULL);
    job_free(j);
    begin_next(m);
}

static void on_written(void *ctx)
{
    struct job *j = ctx;
    if (!j->maker) {
        job_free(j);
        return;
    }
    loop_at(j->loop, "metrics");
    finish(j->maker, j);
}

static void tell_omitted(struct page_maker *m, const struct port_rows *rows)
{
    uint64_t now = clock_now_us();
    if (rows->omitted == 0 || (m->told_us != 0 && now - m->told_us < TOLD_US))
        return;
    m->told_us = now;
    event_emit(m->in.bus, metrics_truncated, .subject = "manager",
               .series = rows->series + rows->omitted, .omitted = rows->omitted,
               .limit = m->in.config->metrics.max_series);
}

/* Called when all ports are copied: writes the families of the manager, if the form has them, and
 * gives the job to the thread. */
static void write_rest(struct page_maker *m, struct job *j)
{
    struct page to = {&j->page->text, j->form.format};
    if (j->form.ports) {
        m->statistics.port_series = j->rows.series;
        m->statistics.port_series_omitted = j->rows.omitted;
        tell_omitted(m, &j->rows);
    }
    if (j->form.manager)
        page_manager(&m->in, &m->statistics, &to);
    j->at_worker = worker_add(m->worker, write_ports, on_written, j) == FAB_OK;
    if (!j->at_worker) {
        j->page->text.status = FAB_E_NOMEM;
        finish(m, j);
    }
}

static void begin(struct page_maker *m, struct job *j)
{
    j->begun = true;
    j->page = calloc(1, sizeof(*j->page));
    if (!j->page)
        return;
    *j->page = (struct page_buffer){.format = j->form.format, .refs = 1, .maker = m};
    LIST_INSERT_HEAD(&m->pages, j->page, entry);
    if (j->form.ports)
        port_rows_init(&j->rows, &m->in);
}

static void on_step(void *ctx)
{
    struct page_maker *m = ctx;
    struct job *j = STAILQ_FIRST(&m->jobs);
    loop_at(m->in.loop, "metrics");
    if (!j->begun)
        begin(m, j);
    if (!j->page)
        finish(m, j);
    else if (port_rows_step(&j->rows, &m->in, j->form.names))
        loop_timer_set(m->step, 0);
    else
        write_rest(m, j);
}

uint64_t page_maker_want(struct page_maker *m, const struct metrics_form *form)
{
    struct job *j;
    STAILQ_FOREACH(j, &m->jobs, entry)
    if (!j->begun && j->form.format == form->format && j->form.names == form->names &&
        j->form.manager == form->manager && j->form.ports == form->ports)
        return j->id;
    j = calloc(1, sizeof(*j));
    if (!j)
        return 0;
    *j = (struct job){.maker = m,
                      .loop = m->in.loop,
                      .id = ++m->last_id,
                      .form = *form,
                      .asked_us = clock_now_us()};
    if (STAILQ_EMPTY(&m->jobs))
        loop_timer_set(m->step, 0);
    STAILQ_INSERT_TAIL(&m->jobs, j, entry);
    return j->id;
}

struct page_maker *page_maker_new(const struct metrics_input *in, page_ready *ready, void *ctx)
{
    const struct worker_config config = {.name = "metrics", .owes = true, .background = true};
    struct page_maker *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    *m = (struct page_maker){.in = *in, .ready = ready, .ctx = ctx};
    STAILQ_INIT(&m->jobs);
    LIST_INIT(&m->pages);
    m->step = loop_timer_new(in->loop, on_step, m);
    m->worker = worker_new(in->loop, &config);
    if (m->step && m->worker)
        return m;
    page_maker_free(m);
    return NULL;
}

void page_maker_free(struct page_maker *m)
{
    struct job *j;
    if (!m)
        return;
    while ((j = STAILQ_FIRST(&m->jobs)) != NULL) {
        STAILQ_REMOVE_HEAD(&m->jobs, entry);
        if (j->at_worker)
            j->maker = NULL; /* the thread is working on the job; on_written frees the job later */
        else
            job_free(j);
    }
    struct page_buffer *page;
    LIST_FOREACH (page, &m->pages, entry)
        page->maker = NULL;
    worker_free(m->worker);
    loop_timer_free(m->step);
    free(m);
}
