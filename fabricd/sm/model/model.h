/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the subnet: the snapshot of the fabric, the tables that its switches hold, and the
 * active tables. Every folder of fabricd/sm may read this state. The functions must be called on
 * the loop thread, except for a lent model (sm_model_lend), which belongs to the worker task.
 */
#ifndef FABRICD_SM_MODEL_MODEL_H
#define FABRICD_SM_MODEL_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabricd/loop/task.h"
#include "fabricd/store/store.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/view/view.h"

/* Size in bytes of the buffer for the name of a node or a port, such as "leaf-3/12". */
#define SM_PLACE_LEN 128

struct sm_port_path {
    uint32_t port;
    struct fab_path path;
};
struct sm_model {
    /* The snapshot from the last sweep, updated by acknowledged writes. NULL: no sweep has ended
     * yet. */
    struct fab_fabric *fabric;
    /* The place where each port was last seen, from `fabric` or, before the first sweep, from the
     * store. NULL: not known. */
    struct fab_places *places;
    struct fab_path *paths; /* directed route to each node: [fabric->node_count] */
    /* Directed routes to the ports of adapters with several linked ports, sorted by port id. Other
     * nodes have only one route, in `paths`. */
    struct sm_port_path *port_paths;
    uint32_t port_path_count;
    /* The tables that switches hold, indexed by switch id, as far as they are known. Empty if
     * fabric is NULL. */
    struct fab_observed observed;
    /* The active tables, with the ids of `fabric`; NULL: none. */
    struct fab_target *target;
    /* The tables that were active last, while `target` is NULL; otherwise NULL. */
    struct fab_target *former;
    /* A number that identifies the active tables. */
    uint64_t tables;
    /* the highest number that `tables` ever had */
    uint64_t tables_made;
    struct fab_lease *leases; /* LID leases, sorted by port GUID, ascending */
    size_t lease_count;
    /* List of unresponsive ports (sweep/unresponsive.c). */
    struct fab_unresponsive *unresponsive;
    uint32_t unresponsive_count;
    struct fab_view *view; /* the published view; NULL: none yet */
    /* Worker tasks that read the snapshot itself, not a copy. While one of them runs, no round
     * may change the snapshot in place. */
    struct loop_tasks readers;
    /* The members `observed` and `leases` are lent to a worker task. */
    bool lent;
    bool forgotten; /* sm_model_forget was called while `lent` was set */
};

/* Makes `fabric` the new snapshot of the model. The caller gives up its reference to `fabric` even
 * if the function fails. The known tables of switches that are in both snapshots stay known.
 * *ret_same: the active tables stay, because the ids and links are those of the previous snapshot.
 * flawed: the active tables do not pass the verification. Flawed tables do not stay when a silent
 * switch answers again, because the entries of this switch may be the flaw. Another thread may set
 * *stop to end the call early; the result is then BUSY, and the model is unchanged. Returns OK,
 * NOMEM or BUSY. */
int sm_model_adopt(struct sm_model *m, struct fab_fabric *fabric, bool flawed,
                   const atomic_bool *stop, bool *ret_same);
/* Takes ownership of the tables `target`, and makes them the active ones. NULL: there are no active
 * tables any more. */
void sm_model_take_target(struct sm_model *m, struct fab_target *target);
/* Takes back the tables that were active under the number `tables`, and takes ownership of them.
 * The snapshot must be the one for which these tables were active, and no write of later tables may
 * have been sent. */
void sm_model_restore_target(struct sm_model *m, struct fab_target *target, uint64_t tables);
/* Prepares the snapshot and the tables for changes in place. Releases the view, and makes a new
 * version of the snapshot or tables if readers still use them. Returns OK or NOMEM. */
int sm_model_own(struct sm_model *m);
/* Makes room in the observed LFTs for LIDs up to `top`. Returns OK or NOMEM. */
int sm_model_reserve(struct sm_model *m, uint32_t top);
/* Call this function before a change of the snapshot. It makes a new version of the snapshot if
 * the published view or another reader uses the snapshot. in_use: there is another reader.
 * Returns OK or NOMEM. */
int sm_model_writable(struct sm_model *m, bool in_use);
/* Adds a lease for each entry of `listed`, if the port has no lease and no other lease has these
 * LIDs. `listed` may be NULL. Returns OK or NOMEM. */
int sm_model_add_leases(struct sm_model *m, const struct fab_lid_list *listed);
/* Sets the LID leases: one for each port that has LIDs, and the old leases of absent ports whose
 * LIDs no other port has got. Returns OK or NOMEM. */
int sm_model_keep_leases(struct sm_model *m, const struct fab_lids *lids);
/* Loads `places` (the place of each port when it was last seen) from the store. Returns OK,
 * NOMEM, IO or FORMAT. */
int sm_model_load_places(struct sm_model *m, struct store *store);
/* Returns whether a port GUID belongs to a port of the fabric, or to an absent port that has a LID
 * lease or a known place. The leases must not be lent. */
bool sm_model_knows_port_guid(const struct sm_model *m, uint64_t guid);
/*
 * Lends the model to the worker task of a phase. The task may call sm_model_adopt,
 * sm_model_reserve, sm_model_keep_leases and sm_model_writable on *ret.
 *
 * *ret gets a reference to the snapshot, and takes over the observed tables and the leases. Until
 * sm_model_take_back is called, the model itself has neither observed tables nor leases.
 */
void sm_model_lend(struct sm_model *m, struct sm_model *ret);
void sm_model_take_back(struct sm_model *m, struct sm_model *lent);
/* Call this function when another manager may have written tables. All observed tables then count
 * as unknown. */
void sm_model_forget(struct sm_model *m);
void sm_model_fini(struct sm_model *m);
/* Replaces the LID leases by those in the store. Returns OK, NOMEM, IO or FORMAT. */
int sm_model_load_leases(struct sm_model *m, struct store *store);
/* Replaces the directed routes that use links which have left the snapshot
 * (fab_discover_paths_without). port[count]: ports of these links. Returns OK or NOMEM. */
int sm_model_leave_links(struct sm_model *m, const uint32_t *port, size_t count);
/* Replaces the directed routes that lead through a switch by routes around it, where there are such
 * routes (fab_discover_paths_avoid). Returns OK or NOMEM. */
int sm_model_avoid(struct sm_model *m, uint32_t node);
/* Fills port_paths. Call this function after `paths` changed. Returns OK or NOMEM. */
int sm_model_find_port_paths(struct sm_model *m);
/* Returns the directed route to a port. The route to a port of an adapter arrives at this port; the
 * route to a port of a switch arrives at any port of this switch. Returns NULL if no route is
 * known. The route is valid until the next snapshot is adopted. */
const struct fab_path *sm_model_path(const struct sm_model *m, uint32_t port);
/* Returns the GUID of the node that owns a LID in the published view; 0 if no node owns this
 * LID. */
uint64_t sm_model_guid_of_lid(const struct sm_model *m, uint32_t lid);

/* Input of a worker task. The task owns the two references and the copy of the policy. */
struct sm_sealed {
    struct fab_fabric *fabric;
    struct fab_target *target;
    struct fab_policy policy;
};
/* Fills in *ret: takes references to the snapshot of the model and to `target`, and copies the
 * policy. Returns OK or NOMEM. */
int sm_seal(const struct sm_model *m, const struct fab_policy *policy,
            const struct fab_target *target, struct sm_sealed *ret);
void sm_sealed_fini(struct sm_sealed *x);

/* ---- names (names.c) ------------------------------------------------------------------------- */

/* Returns the name of an attribute, for example "PortInfo". */
const char *sm_attr_name(uint16_t attr_id);
/* Gives the nodes of a new snapshot the operator's names. */
void sm_names_give(struct fab_fabric *f, const struct fab_node_names *names);
/* Writes the name of a node, for example "leaf-3". If the node has no description, writes its GUID,
 * for example "0x0002c90200000010". */
void sm_node_name(const struct fab_fabric *f, uint32_t node, char name[SM_PLACE_LEN]);
void sm_port_name(const struct fab_fabric *f, uint32_t port, char name[SM_PLACE_LEN]);
/* Writes the name of a port of a node that may have left the fabric. GUID 0: the manager's own
 * port. */
void sm_place_name(const struct fab_fabric *f, uint64_t guid, uint8_t port,
                   char name[SM_PLACE_LEN]);

#endif
