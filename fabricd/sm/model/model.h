/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the subnet: the fabric, the tables that its switches hold, and the active tables.
 * Every folder of fabricd/sm may read it. The functions are for the loop thread, except on a lent
 * model (sm_model_lend), which belongs to the worker.
 */
#ifndef FABRICD_SM_MODEL_MODEL_H
#define FABRICD_SM_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/loop/task.h"
#include "fabricd/store/store.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/view/view.h"

#define SM_PLACE_LEN 128 /* bytes for the name of a port: "leaf-3/12" */

struct sm_port_path {
    uint32_t port;
    struct fab_path path;
};
struct sm_model {
    /* the fabric as the last sweep found it, updated by acknowledged writes; NULL: not known yet */
    struct fab_fabric *fabric;
    /* where ports were last seen: in `fabric`, or before its first sweep in the store; or NULL */
    struct fab_places *places;
    struct fab_path *paths; /* [fabric->node_count] */
    /* directed routes to the ports of adapters with several linked ports, sorted by port id */
    struct sm_port_path *port_paths;
    uint32_t port_path_count;
    /* tables that switches hold, by switch id; empty if fabric is NULL */
    struct fab_observed observed;
    struct fab_target *target; /* the active tables, for the ids of fabric, or NULL */
    struct fab_target *former; /* the previous tables, while target is NULL */
    uint64_t tables;           /* number of times that new tables became active */
    struct fab_lease *leases;  /* sorted by port GUID, ascending */
    size_t lease_count;
    struct fab_unresponsive *unresponsive; /* ports whose peer does not answer */
    uint32_t unresponsive_count;
    struct fab_view *view;     /* the published view, or NULL */
    struct loop_tasks readers; /* tasks of the route phase that read the snapshot */
    bool lent;                 /* a worker has `observed` and the leases */
    bool forgotten;            /* sm_model_forget was called while `lent` was set */
};

/* Takes over a new snapshot (also on failure) and keeps what is known of the tables that switches
 * hold. ret_same: its ids and links are those of the previous snapshot. NOMEM. */
int sm_model_adopt(struct sm_model *m, struct fab_fabric *fabric, bool *ret_same);
/* Takes over these tables as the active ones. NULL: no tables are active any more. */
void sm_model_take_target(struct sm_model *m, struct fab_target *target);
/* Releases the view, then copies the snapshot and the tables if readers still have them, so that
 * both can be changed in place. NOMEM. */
int sm_model_own(struct sm_model *m);
/* Extends the observed LFTs to LID `top`. NOMEM. */
int sm_model_reserve(struct sm_model *m, uint32_t top);
/* Call it before a change of the snapshot. It clones the snapshot if the view uses it too, or if
 * in_use says that a reader does. NOMEM. */
int sm_model_writable(struct sm_model *m, bool in_use);
/* Sets the leases: one for each port that has LIDs, and the earlier ones of absent ports whose LIDs
 * are still free. NOMEM. */
int sm_model_keep_leases(struct sm_model *m, const struct fab_lids *lids);
/* Loads the places of ports from the store. NOMEM, IO, FORMAT. */
int sm_model_load_places(struct sm_model *m, struct store *store);
/* Lends a model to a phase's worker task, which may call sm_model_adopt, sm_model_reserve and
 * sm_model_keep_leases on it. The task gets a reference to the snapshot, and the observed tables
 * and the leases themselves. Until sm_model_take_back, the model has no observed tables and no
 * leases. */
void sm_model_lend(struct sm_model *m, struct sm_model *ret);
void sm_model_take_back(struct sm_model *m, struct sm_model *lent);
/* Call it when another manager may have written tables: the observed tables then count as unknown.
 */
void sm_model_forget(struct sm_model *m);
void sm_model_fini(struct sm_model *m);
/* Fills port_paths; call it after `paths` changed. NOMEM. */
int sm_model_find_port_paths(struct sm_model *m);
/* Returns the directed route to a port. For an adapter it ends at this port; for a switch it ends
 * at the switch. NULL: no route is known. Valid until the next snapshot is adopted. */
const struct fab_path *sm_model_path(const struct sm_model *m, uint32_t port);
/* Returns the GUID of the node that owns a LID in the published view; 0: no node owns the LID. */
uint64_t sm_model_guid_of_lid(const struct sm_model *m, uint32_t lid);

/* Input of a worker task: references and copies that the task owns. */
struct sm_sealed {
    struct fab_fabric *fabric;
    struct fab_target *target;
    struct fab_policy policy;
};
/* Takes the references and copies for a worker task. NOMEM. */
int sm_seal(const struct sm_model *m, const struct fab_policy *policy,
            const struct fab_target *target, struct sm_sealed *ret);
void sm_sealed_fini(struct sm_sealed *x);

/* ---- names (names.c) ------------------------------------------------------------------------- */

const char *sm_attr_name(uint16_t attr_id); /* for example "PortInfo" */
/* Writes for example "leaf-3" or, if the node has no description, "0x0002c90200000010". */
void sm_node_name(const struct fab_fabric *f, uint32_t node, char name[SM_PLACE_LEN]);
void sm_port_name(const struct fab_fabric *f, uint32_t port, char name[SM_PLACE_LEN]);
/* Writes the name of a port that may not be in the fabric. GUID 0: the manager's own port. */
void sm_place_name(const struct fab_fabric *f, uint64_t guid, uint8_t port,
                   char name[SM_PLACE_LEN]);

#endif
