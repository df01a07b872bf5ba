/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manager knows: the fabric, what its switches hold, and the tables that are active. Every
 * folder of fabricd/sm may read it. The functions are for the loop thread, except where a worker
 * gets a model of its own (sm_model_lend).
 */
#ifndef FABRICD_SM_MODEL_MODEL_H
#define FABRICD_SM_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/loop/task.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/view/view.h"

#define SM_PLACE_LEN 128 /* text of a place: "leaf-3/12" */

struct sm_port_path {
    uint32_t port;
    struct fab_path path;
};
struct sm_model {
    struct fab_fabric *fabric; /* as observed, and as acknowledged writes changed it; or NULL */
    struct fab_path *paths;    /* [fabric->node_count] */
    struct sm_port_path *port_paths; /* of adapters with several ports, by port id */
    uint32_t port_path_count;
    struct fab_observed observed; /* by switch id of fabric; empty when fabric is NULL */
    struct fab_target *target;    /* the active tables, for the ids of fabric, or NULL */
    struct fab_target *former;    /* the ones before, while there are none */
    uint64_t tables;              /* counts the targets that were active */
    struct fab_lease *leases;     /* by port GUID, rising */
    size_t lease_count;
    struct fab_unresponsive *unresponsive; /* ports behind which nothing answers */
    uint32_t unresponsive_count;
    struct fab_view *view;     /* as published, or NULL */
    struct loop_tasks readers; /* tasks of the route phase that read the snapshot */
    bool lent;                 /* a worker has the observed tables and the leases */
    bool forgotten;            /* meanwhile another manager became master */
};

/* Takes over a new snapshot (owned, also on failure) and carries over what is known of tables.
 * ret_same: it has the ids and links of the one before. NOMEM. */
int sm_model_adopt(struct sm_model *m, struct fab_fabric *fabric, bool *ret_same);
/* The active tables from now on (owned), or NULL: none. */
void sm_model_take_target(struct sm_model *m, struct fab_target *target);
/* Drops the view, and copies the snapshot and the tables if readers still have them, so that both
 * can be changed in place. NOMEM. */
int sm_model_own(struct sm_model *m);
/* Makes room for what switches hold up to LID `top`. NOMEM. */
int sm_model_reserve(struct sm_model *m, uint32_t top);
/* Clones the snapshot if the view has it or it is in use, before it is written to. NOMEM. */
int sm_model_writable(struct sm_model *m, bool in_use);
/* Keeps a lease for each port that has LIDs, and those of absent ports whose LIDs are free. NOMEM.
 */
int sm_model_keep_leases(struct sm_model *m, const struct fab_lids *lids);
/* For a phase's work on the worker, which may adopt, reserve and keep leases with what it gets: a
 * reference to the snapshot; the observed tables and the leases themselves, without which the model
 * is until sm_model_take_back. */
void sm_model_lend(struct sm_model *m, struct sm_model *ret);
void sm_model_take_back(struct sm_model *m, struct sm_model *lent);
/* Another manager may write: what switches hold is not known any more. */
void sm_model_forget(struct sm_model *m);
void sm_model_fini(struct sm_model *m);
/* For sm_model_adopt, and after links were cut. NOMEM. */
int sm_model_find_port_paths(struct sm_model *m);
/* The directed route that ends in this very port, or for a port of a switch in that switch. NULL:
 * none is known. Valid until the next snapshot is adopted. */
const struct fab_path *sm_model_path(const struct sm_model *m, uint32_t port);
/* GUID of the node that owns a LID by the published tables; 0: none. */
uint64_t sm_model_guid_of_lid(const struct sm_model *m, uint32_t lid);

/* What a worker gets to read; all are references or copies of its own. */
struct sm_sealed {
    struct fab_fabric *fabric;
    struct fab_target *target;
    struct fab_policy policy;
};
/* NOMEM. */
int sm_seal(const struct sm_model *m, const struct fab_policy *policy,
            const struct fab_target *target, struct sm_sealed *ret);
void sm_sealed_fini(struct sm_sealed *x);

/* ---- names (names.c) -------------------------------------------------------------------------
 */

const char *sm_attr_name(uint16_t attr_id); /* "PortInfo" */
/* "leaf-3" or, without a description, "0x0002c90200000010". */
void sm_node_name(const struct fab_fabric *f, uint32_t node, char name[SM_PLACE_LEN]);
void sm_port_name(const struct fab_fabric *f, uint32_t port, char name[SM_PLACE_LEN]);
/* Of a port that may not be in the fabric. GUID 0: the manager's own port. */
void sm_place_name(const struct fab_fabric *f, uint64_t guid, uint8_t port,
                   char name[SM_PLACE_LEN]);

#endif
