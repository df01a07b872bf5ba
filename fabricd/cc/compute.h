/* SPDX-License-Identifier: BSD-3-Clause */
/* One computation of congestion control settings, in a worker task. For this folder and its tests
 * only. */
#ifndef FABRICD_CC_COMPUTE_H
#define FABRICD_CC_COMPUTE_H

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/policy/classes.h"
#include "libfabmgr/target/pkeys.h"
#include "libfabmgr/view/view.h"

struct cc;
/* the size of a device's congestion control table, as the device reported it (ControlTableCap) */
struct cc_told {
    uint64_t node_guid;
    uint8_t table_blocks;
};
struct cc_wanted { /* a device and its computed settings */
    uint64_t port_guid, node_guid;
    uint64_t digest; /* digest of the computed settings; never 0 */
    /* id of the port whose LID addresses the device: port 0 of a switch, or a port of an adapter */
    uint32_t port;
    uint16_t lid;
    /* port number on an adapter; 0: the device is a switch */
    uint8_t num;
    uint8_t ports; /* number of ports of the node */
};
struct cc_work {
    /* where the result is stored; NULL: the computation was cancelled */
    struct cc *cc;
    /* The following members are the input of the task. */
    /* the fabric of the view; the task holds a reference to it */
    struct fab_fabric *fabric;
    struct fab_policy policy;
    /* [port_count] base LID of each port; 0: none */
    uint32_t *lid;
    struct fab_pkeys pkeys;
    /* [told_count] table sizes that the devices reported */
    struct cc_told *told;
    uint32_t told_count;
    uint16_t sls[FAB_CLASSES_MAX]; /* [traffic class] bitset of the SLs of the class */
    /* number of traffic classes that have their own SLs; 0: all classes share the same SLs */
    uint8_t levels;
    uint32_t hops; /* number of hops of the longest path */
    /* generation of the view whose settings are computed */
    uint64_t generation;
    /* The result of the task. */
    int status;
    struct fab_congestion settings;
    /* [number of settings] digests of the port settings, and of the adapter settings, in the order
     * of `settings` */
    uint64_t *port_digest, *adapter_digest;
    struct cc_wanted *wanted;
    uint32_t wanted_count;
    /* number of elements of `wanted` that the loop thread has already copied to the list of
     * devices */
    uint32_t taken;
    uint64_t us; /* duration of the computation in microseconds */
};

/* Creates a computation for the view `v`. The congestion settings and max_mtu come from the
 * policy `wanted`, everything else from the view. Returns NOMEM. */
int cc_work_new(const struct fab_view *v, const struct fab_policy *wanted, struct cc_work **ret);
/* Computes the settings; may run on any thread. Sets w->status to FAB_OK, NOMEM or LIMIT. */
void cc_work_do(struct cc_work *w);
void cc_work_free(struct cc_work *w); /* the argument may be NULL */

/* ---- classes.c ---- */
/* Copies the SLs of each traffic class from `vls`, the VL tables of the view, to w. */
void cc_note_classes(const struct fab_vls *vls, struct cc_work *w);
/* Writes to ret[], for each SL, the largest number of senders to one endport; 0: all endports may
 * send. Returns NOMEM. */
int cc_class_fan_in(const struct cc_work *w, uint32_t ret[FAB_CONGESTION_SLS]);

#endif
