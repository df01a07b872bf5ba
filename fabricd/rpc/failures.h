/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the links that fail, from the names in a request. Used by WhatIf and GetAffectedJobs, on
 * the worker thread only. */
#ifndef FABRICD_RPC_FAILURES_H
#define FABRICD_RPC_FAILURES_H

#include "fabricd/rpc/report.h"

struct failures {
    /* The view in which the names are looked up. A name selects a port, a node, a host or a rack
     * (libfabmgr/view/filter.h). If it selects nodes, all links of these nodes fail. */
    const struct fab_view *view;
    const struct fab_hosts *hosts; /* the hosts of the view; NULL: no name selects a rack */
    /* how the message about a port without a link ends, for example "has no link that could
     * fail" */
    const char *no_link;
    /* Adds the link of `port` to the links that fail. May be called twice for a link, once with
     * each of its ports. Returns OK or NOMEM. */
    int (*add)(void *ctx, uint32_t port);
    void *ctx;
};
/* Calls f->add for all links that the names select. Returns false if the study has failed or was
 * stopped. */
bool failures_find(const struct failures *f, const struct name_list *names, struct study *s);

#endif
