/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the links that the failures of a request name. Used by WhatIf and GetAffectedJobs, on the
 * worker thread only. */
#ifndef FABRICD_RPC_FAILURES_H
#define FABRICD_RPC_FAILURES_H

#include "fabricd/rpc/report.h"

struct failures {
    /* A text names a port, a node, a host or a rack of this view (libfabmgr/view/filter.h). All
     * links of a node, of a host or of the nodes in a rack fail. */
    const struct fab_view *view;
    const struct fab_hosts *hosts; /* the hosts of the view; NULL: no text names a rack */
    /* the end of the message about a port without a link, such as "has no link that could fail" */
    const char *no_link;
    /* Adds a link that fails, which is given by one of its ports. May be called twice for a link,
     * once with each of its ports. Returns OK or NOMEM. */
    int (*add)(void *ctx, uint32_t port);
    void *ctx;
};
/* Calls f->add for all links that the names in the list select. Returns false if the study has
 * failed or was stopped. */
bool failures_find(const struct failures *f, const struct name_list *names, struct study *s);

#endif
