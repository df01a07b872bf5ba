/* SPDX-License-Identifier: BSD-3-Clause */
/* One computation of settings, as a worker task. For the files and tests of this room only. */
#ifndef FABRICD_CC_COMPUTE_H
#define FABRICD_CC_COMPUTE_H

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/policy/classes.h"
#include "libfabmgr/target/pkeys.h"
#include "libfabmgr/view/view.h"

struct cc;
struct cc_told { /* reported by a device */
    uint64_t node_guid;
    uint8_t table_blocks;
};
struct cc_wanted { /* of a device */
    uint64_t port_guid, node_guid;
    uint64_t digest; /* digest of the wanted settings; never 0 */
    uint32_t port;   /* that owns its LID */
    uint16_t lid;
    uint8_t num;   /* of the port; 0: a switch */
    uint8_t ports; /* of the node */
};
struct cc_work {
    struct cc *cc; /* NULL: cancelled */
    /* the input; all of it is owned */
    struct fab_fabric *fabric; /* a reference, until it is done */
    struct fab_policy policy;
    uint32_t *lid; /* [ports] */
    struct fab_pkeys pkeys;
    struct cc_told *told; /* of devices with tables */
    uint32_t told_count;
    uint16_t sls[FAB_CLASSES_MAX]; /* SLs of each traffic class */
    uint8_t levels;                /* classes that have SLs of their own */
    uint32_t hops;
    uint64_t generation; /* of the view */
    /* the result */
    int status;
    struct fab_congestion settings;
    uint64_t *port_digest, *adapter_digest; /* of each different setting */
    struct cc_wanted *wanted;
    uint32_t wanted_count;
    uint64_t us; /* the time that it took */
};

/* wanted: the policy whose congestion settings apply; all other settings come from the view.
 * NOMEM. */
int cc_work_new(const struct fab_view *v, const struct fab_policy *wanted, struct cc_work **ret);
void cc_work_do(struct cc_work *w);   /* Runs on any thread. w->status: NOMEM, LIMIT. */
void cc_work_free(struct cc_work *w); /* NULL is fine */

/* ---- classes.c ---- */
void cc_note_classes(const struct fab_vls *vls, struct cc_work *w);
/* The largest incast to one endport, by SL; 0: all senders. NOMEM. */
int cc_class_fan_in(const struct cc_work *w, uint32_t ret[FAB_CONGESTION_SLS]);

#endif
