/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the metrics. For this folder only. */
#ifndef FABRICD_METRICS_PRIVATE_H
#define FABRICD_METRICS_PRIVATE_H

#include <sys/queue.h>

#include "fabricd/metrics/metrics.h"
#include "libfabmgr/fabric/fabric.h"

/* ---- form.c: what a request asks for ---- */

enum metrics_format {
    METRICS_OPENMETRICS, /* OpenMetrics 1.0.0 */
    METRICS_TEXT,        /* the text format 0.0.4 of Prometheus */
    METRICS_FORMATS
};
struct metrics_form {
    enum metrics_format format;
    enum config_metrics_names names;
    /* which families the page has. manager: those about the manager and the whole fabric; ports:
     * those about the ports */
    bool manager, ports;
};
/* The results of metrics_form_choose. */
enum metrics_choice { METRICS_CHOSEN, METRICS_BAD_QUERY, METRICS_NOT_ACCEPTABLE };
/*
 * Chooses the form of a page. query: the part of the URL after "?", or "". accept: the values of
 * all Accept headers, joined by commas; "": the request has none. names: the setting metrics.names,
 * which the query can override.
 */
enum metrics_choice metrics_form_choose(const char *query, const char *accept,
                                        enum config_metrics_names names, struct metrics_form *ret);
const char *metrics_content_type(enum metrics_format format);

/* ---- writer.c: the lines of both formats ---- */

struct page {
    struct fab_text *text;
    enum metrics_format format;
};
/* type of a family of metrics */
enum page_type { PAGE_COUNTER, PAGE_GAUGE, PAGE_INFO, PAGE_HISTOGRAM, PAGE_SUMMARY };
/* Begins a family. `name` must not end with the suffix of its type ("_total" or "_info"). */
void page_family(struct page *to, const char *name, enum page_type type, const char *help);
/* Begins a family with the name "fabricd_" followed by `name`. */
void page_own_family(struct page *to, const char *name, enum page_type type, const char *help);
/* Each of these two functions writes a family with the name "fabricd_" followed by `name`, and its
 * only sample, without labels. */
void page_counter(struct page *to, const char *name, uint64_t value, const char *help);
void page_gauge(struct page *to, const char *name, uint64_t value, const char *help);
/* Writes NAME="VALUE". The value may have any bytes: invalid UTF-8 and control characters are
 * replaced by U+FFFD, and quotes and backslashes are escaped. */
void page_label(struct fab_text *to, const char *name, const char *value);
void page_number(struct fab_text *to, uint64_t value);
void page_end(struct page *to);

/* ---- manager.c: the families of the manager and of the whole fabric ---- */

/* statistics about the pages; the pages show them as metrics, too */
struct page_statistics {
    /* pages: number of pages that were made; us: total time in us from the requests for these pages
     * until they were made */
    uint64_t pages, us;
    uint64_t last_bytes; /* size of the last page in bytes */
    /* Numbers of time series about ports. port_series: those that the last page has;
     * port_series_omitted: those that it lacks because of metrics.max_series. */
    uint64_t port_series, port_series_omitted;
};
void page_manager(const struct metrics_input *in, const struct page_statistics *statistics,
                  struct page *to);

/* ---- clients.c: the families of hosts, callers and targets of alerts ---- */

void page_clients(const struct metrics_input *in, struct page *to);

/* ---- rows.c: the counters of ports, copied on the loop ---- */

/* The values that a page shows for one port. */
struct port_row {
    uint64_t peer_guid;
    /* Ids in port_rows.fabric. peer_node is FAB_NONE if this fabric lacks the link (isolated or
     * held down), or if the other end is not known. */
    uint32_t node, peer_node;
    uint32_t port_id; /* id of the port in port_rows.fabric */
    uint8_t port, peer_port;
    bool is_read; /* true: `reading` has the counters of the port */
    bool degraded, unhealthy;
    struct pm_reading reading;
};
struct port_rows {
    /* the fabric to which the ids in `row` belong; NULL: no fabric is known yet */
    struct fab_fabric *fabric;
    struct port_row *row; /* [count] */
    size_t count, room;
    /* series: number of time series of all rows. omitted: number of time series of the ports that
     * have no row because of metrics.max_series. */
    uint64_t series, omitted;
    /* Private. watched: the watched ports, sorted by GUID and port number; group, next: where the
     * next step continues. */
    struct pm_watched *watched;
    uint32_t watched_count, next;
    unsigned group;
    bool failed; /* true: memory ran out */
};
void port_rows_init(struct port_rows *rows, const struct metrics_input *in);
/* Copies the counters of the next ports, which takes less than a millisecond. Returns false if this
 * was the last step. */
bool port_rows_step(struct port_rows *rows, const struct metrics_input *in,
                    enum config_metrics_names names);
/* Copies the counters of the watched ports (struct pm_watched), at most PM_WATCHED_MAX of them. */
void port_rows_watched(struct port_rows *rows, const struct metrics_input *in,
                       enum config_metrics_names names);
void port_rows_fini(struct port_rows *rows);

/* ---- ports.c: the families of ports ---- */

/* Returns how many time series a page has for this port. */
uint32_t port_series_count(const struct port_row *row, const struct fab_fabric *f,
                           enum config_metrics_names names);
/* Writes the families of metrics about the ports, with samples for all rows. Any thread may call
 * this function. */
void page_ports(const struct port_rows *rows, enum config_metrics_names names, struct page *to);

/* ---- maker.c: makes pages in small steps ---- */

struct page_maker;
/* A page in memory. All clients that asked for it at the same time share it. */
struct page_buffer {
    struct fab_text text;
    enum metrics_format format;
    unsigned refs;
    /* Private. maker: the maker of this page (NULL: it was freed). entry: the page in the maker's
     * list of pages. */
    struct page_maker *maker;
    LIST_ENTRY(page_buffer) entry;
};
void page_buffer_unref(struct page_buffer *b);

/* The function that is called on the loop when a page is complete. job: the number that
 * page_maker_want returned. buffer: the page; NULL: memory ran out. To keep the page, the function
 * must take a reference. */
typedef void page_ready(void *ctx, uint64_t job, struct page_buffer *buffer);
struct page_maker *page_maker_new(const struct metrics_input *in, page_ready *ready, void *ctx);
void page_maker_free(struct page_maker *m);
/* Requests a page. Returns the number of the job that makes the page; page_ready gets the same
 * number later. 0: memory ran out. If a page of the same form has been requested already, and work
 * on it has not begun, both requests get this page. */
uint64_t page_maker_want(struct page_maker *m, const struct metrics_form *form);

#endif
