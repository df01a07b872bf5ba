/* SPDX-License-Identifier: BSD-3-Clause */
/* One computation of settings, as a worker task. For this folder and its tests only. */
#ifndef FABRICD_CC_COMPUTE_H
#define FABRICD_CC_COMPUTE_H

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/policy/classes.h"
#include "libfabmgr/target/pkeys.h"
#include "libfabmgr/view/view.h"

struct cc;
struct cc_told { /* what a device reported about its congestion control table */
    uint64_t node_guid;
    uint8_t table_blocks;
};
struct cc_wanted { /* a device and its wanted settings */
    uint64_t port_guid, node_guid;
    uint64_t digest; /* digest of the wanted settings; never 0 */
    uint32_t port;   /* id of the port that owns the device's LID */
    uint16_t lid;
    uint8_t num;   /* number of an adapter's port; 0: a switch */
    uint8_t ports; /* number of ports of the node */
};
struct cc_work {
    struct cc *cc; /* takes the result; NULL: the computation was cancelled */
    /* The input, owned by the work. */
    struct fab_fabric *fabric; /* a reference; released when the computation ends */
    struct fab_policy policy;
    uint32_t *lid; /* [ports] base LID of each port; 0: none */
    struct fab_pkeys pkeys;
    struct cc_told *told; /* [told_count] reports of devices with congestion control tables */
    uint32_t told_count;
    uint16_t sls[FAB_CLASSES_MAX]; /* bitset of the SLs of each traffic class */
    uint8_t levels;                /* traffic classes with SLs of their own; 0: only one class */
    uint32_t hops;                 /* hops of the longest path */
    uint64_t generation;           /* generation of the view */
    /* The result. */
    int status;
    struct fab_congestion settings;
    uint64_t *port_digest, *adapter_digest; /* digest of each distinct setting */
    struct cc_wanted *wanted;
    uint32_t wanted_count;
    uint64_t us; /* duration of the computation */
};

/* Creates a computation. It takes congestion settings and max_mtu from the policy `wanted`,
 * everything else from the view. NOMEM. */
int cc_work_new(const struct fab_view *v, const struct fab_policy *wanted, struct cc_work **ret);
void cc_work_do(struct cc_work *w);   /* runs on any thread; w->status: NOMEM, LIMIT */
void cc_work_free(struct cc_work *w); /* accepts NULL */

/* ---- classes.c ---- */
/* Copies the SLs of each traffic class from the view. */
void cc_note_classes(const struct fab_vls *vls, struct cc_work *w);
/* Finds the largest number of senders to one endport for each SL; 0: all endports may send. NOMEM.
 */
int cc_class_fan_in(const struct cc_work *w, uint32_t ret[FAB_CONGESTION_SLS]);

#endif
