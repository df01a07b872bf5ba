/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the subnet administration (SA) agent, for this folder only. */
#ifndef FABRICD_SA_PRIVATE_H
#define FABRICD_SA_PRIVATE_H

#include "fabricd/base/events.h"
#include "fabricd/sa/sa.h"
#include "libfabmgr/mads/rmpp.h"
#include "libfabmgr/sa/sa.h"

/* Limits for the responses with many records that are in progress. SA_JOBS: their number.
 * SA_TABLE_MOST: their total size in bytes. SA_TABLE_EACH: total size in bytes of the responses to
 * one port; this limit does not apply to a request with the sa_key. */
#define SA_JOBS 256
#define SA_TABLE_MOST (256u << 20)
#define SA_TABLE_EACH (64u << 20)
/* maximum number of answers that wait for the transport */
#define SA_OUT 512

/* A published view, prepared for queries (libfabmgr/sa). A response that is being collected refers
 * to the view with which it began, even after a new view is published. */
struct sa_view {
    struct fab_sa *sa;
    unsigned refs;
};

/* A response with many records. It is first collected and then sent. */
struct sa_job {
    struct sa_job *next;
    struct transport_mad request;
    struct sa_view *view;
    struct fab_sa_query query;
    /* base LID of the port that sent the request; 0: no port has the LID of the requester */
    uint32_t host;
    /* memory of the response: FAB_SA_DATA bytes of headers, followed by the records */
    uint8_t *bytes;
    size_t len, room;
    uint32_t records;
    bool sending;
    struct fab_rmpp_sender rmpp;
};
struct sa_jobs { /* a queue of responses */
    struct sa_job *head, **tail;
};

/* number of attributes in the table in registered.c */
#define SA_LISTS 5

struct sa {
    struct sa_input in;
    struct fab_sa_source list[SA_LISTS];
    struct sa_registry *registry;  /* services and subscriptions (registry.h) */
    struct sa_quota *quota;        /* counts for the quotas (quota.c) */
    struct fab_sa_aliases aliases; /* alias GUIDs of all ports (alias.c) */
    uint32_t aliases_written;      /* number of GUIDInfo writes in flight */
    struct loop_timer *alias_timer;
    /* The published view. NULL: there is none yet, or the agent has released the view, so that a
     * local repair can change its tables in place. */
    struct sa_view *view;
    uint64_t generation;
    bool master;
    struct sa_jobs making, sending;
    uint32_t job_count;
    size_t table_bytes;
    /* Base LID of the host for which the last part of a response was collected. The next part is
     * for the host with the next higher LID (table.c). */
    uint32_t last_host;
    struct loop_timer *work, *patience, *retry;
    /* ring buffer of the answers that wait for the transport */
    struct transport_mad out[SA_OUT];
    uint32_t out_first, out_count;
    struct sa_stats stats;
};

bool sa_is_master(const struct sa *s); /* returns true if this manager is master now */

/* Functions of reply.c. */
/* Sends a MAD as it is. While the transport is busy, MADs wait in a queue. */
void sa_put(struct sa *s, const struct transport_mad *out);
void sa_send(struct sa *s, const struct transport_mad *to, const uint8_t mad[FAB_MAD_SIZE]);
void sa_send_len(struct sa *s, const struct transport_mad *to, const uint8_t *mad, size_t len);
void sa_refuse(struct sa *s, const struct transport_mad *request, uint16_t status);
void sa_flush(void *ctx); /* sends the MADs that wait in the queue */

/* Functions of table.c. */
void sa_table_begin(struct sa *s, const struct transport_mad *request,
                    const struct fab_sa_request *req);
void sa_table_work(void *ctx);
void sa_job_free(struct sa *s, struct sa_job *job);
void sa_jobs_append(struct sa_jobs *jobs, struct sa_job *job);
void sa_jobs_remove(struct sa_jobs *jobs, struct sa_job *job);

/* Functions of transfer.c. */
void sa_transfer_begin(struct sa *s, struct sa_job *job);
void sa_transfer_input(struct sa *s, const struct transport_mad *mad);
void sa_transfer_tick(void *ctx);

/* Functions of alias.c. */
/* Loads the alias GUIDs from the store. Returns OK, NOMEM, or an error of sql_status
 * (fabricd/store/sql.h). */
int sa_alias_start(struct sa *s);
/* Discards the alias GUIDs, and loads those in the store instead. Returns as sa_alias_start. */
int sa_alias_load(struct sa *s);
void sa_alias_stop(struct sa *s);

void sa_view_unref(struct sa_view *v); /* the argument may be NULL */

#endif
