/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the subnet: the snapshot of the fabric, the tables that its switches hold, and the
 * active tables. Every folder of fabricd/sm may read this state. The functions must be called on
 * the loop thread; for a model that is lent (sm_model_lend), on the thread of the worker task.
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
    /* The snapshot from the last sweep, updated by acknowledged writes and by local repairs.
     * NULL: no sweep has ended yet. */
    struct fab_fabric *fabric;
    /* the places where ports were last seen: from the last sweep or, before the first sweep, from
     * the store; NULL: not known */
    struct fab_places *places;
    struct fab_path *paths; /* directed route to each node: [fabric->node_count] */
    /* Directed routes to single ports: an adapter with several linked ports has one to each of
     * them. Sorted by port id. All other nodes have only the route in `paths`. */
    struct sm_port_path *port_paths;
    uint32_t port_path_count;
    /* the tables that the switches hold, by switch id, as far as they are known; empty if there is
     * no snapshot */
    struct fab_observed observed;
    /* The active tables, with the ids of `fabric`; NULL: none. */
    struct fab_target *target;
    /* while `target` is NULL: the last tables that were active; otherwise NULL */
    struct fab_target *former;
    /* number that identifies the active tables; each time that new tables become active, they get a
     * new number */
    uint64_t tables;
    /* the highest number that `tables` ever had */
    uint64_t tables_made;
    struct fab_lease *leases; /* LID leases, sorted by port GUID, ascending */
    size_t lease_count;
    /* the list of unresponsive ports, which sweep/unresponsive.c maintains */
    struct fab_unresponsive *unresponsive;
    uint32_t unresponsive_count;
    struct fab_view *view; /* the published view; NULL: none yet */
    /* Worker tasks that read the snapshot itself, not a copy. While one of them runs, changes must
     * be made in a new version of the snapshot. */
    struct loop_tasks readers;
    /* the model is lent: a worker task has the members `observed` and `leases` */
    bool lent;
    /* sm_model_forget was called while the model was lent; sm_model_take_back then calls it
     * again */
    bool forgotten;
};

/* Makes `fabric` the new snapshot of the model. The caller gives up its reference to `fabric` even
 * if the function fails. For switches that are in both snapshots, the tables that they hold stay
 * known. *ret_same: ids and links are those of the previous snapshot, so the active tables stay.
 * flawed: the active tables do not pass the verification; *ret_same is then also false if a silent
 * switch answers again, because the entries of this switch may have made the verification fail.
 * Another thread may set *stop to end the call early; the result is then BUSY, and the model is
 * unchanged. Returns OK, NOMEM or BUSY. */
int sm_model_adopt(struct sm_model *m, struct fab_fabric *fabric, bool flawed,
                   const atomic_bool *stop, bool *ret_same);
/* Takes ownership of the tables `target`, and makes them the active ones. NULL: there are no active
 * tables any more. */
void sm_model_take_target(struct sm_model *m, struct fab_target *target);
/* Makes the tables `target` active again, with the number `tables` that they had before, and takes
 * ownership of them. The snapshot must be the one for which they were active, and no write of later
 * tables may have been sent. */
void sm_model_restore_target(struct sm_model *m, struct fab_target *target, uint64_t tables);
/* Call this function before the snapshot and the tables are changed in place. It releases the
 * published view, and makes new versions of the snapshot and of the tables if others still use
 * them. Returns OK or NOMEM. */
int sm_model_own(struct sm_model *m);
/* Makes room in the observed LFTs for LIDs up to `top`. Returns OK or NOMEM. */
int sm_model_reserve(struct sm_model *m, uint32_t top);
/* Call this function before the snapshot is changed. If the published view or another reader uses
 * the snapshot, the function makes a new version for the model. in_use: there is another reader.
 * Returns OK or NOMEM. */
int sm_model_writable(struct sm_model *m, bool in_use);
/* Adds leases from the list `listed` (may be NULL). Leaves out entries of ports that have a lease
 * already, and entries with a LID that another lease reserves. Returns OK or NOMEM. */
int sm_model_add_leases(struct sm_model *m, const struct fab_lid_list *listed);
/* Replaces the leases: each port that has LIDs gets a lease for them. An absent port keeps its
 * lease, unless another port has got its LIDs. Returns OK or NOMEM. */
int sm_model_keep_leases(struct sm_model *m, const struct fab_lids *lids);
/* Loads `places` (the place of each port when it was last seen) from the store. Returns OK,
 * NOMEM, IO or FORMAT. */
int sm_model_load_places(struct sm_model *m, struct store *store);
/* Returns whether a port GUID belongs to a port of the fabric, or to an absent port that has a LID
 * lease or a known place. The leases must not be lent. */
bool sm_model_knows_port_guid(const struct sm_model *m, uint64_t guid);
/*
 * Lends the model to the worker task of a phase, as *ret. Until sm_model_take_back, the task has
 * the observed tables and the leases, and the model has none. The model and *ret both refer to the
 * snapshot.
 *
 * The task may call sm_model_adopt, sm_model_reserve, sm_model_keep_leases and sm_model_writable on
 * *ret.
 */
void sm_model_lend(struct sm_model *m, struct sm_model *ret);
void sm_model_take_back(struct sm_model *m, struct sm_model *lent);
/* Call this function when another manager may have written tables. It marks all tables that the
 * switches hold as unknown. */
void sm_model_forget(struct sm_model *m);
void sm_model_fini(struct sm_model *m);
/* Replaces the LID leases by those in the store. Returns OK, NOMEM, IO or FORMAT. */
int sm_model_load_leases(struct sm_model *m, struct store *store);
/* Call this function when links have left the snapshot. It replaces the directed routes that lead
 * over these links (fab_discover_paths_without). count: number of links; port[2 * i] and port[2 * i
 * + 1] are the ports of link i. Returns OK or NOMEM. */
int sm_model_leave_links(struct sm_model *m, const uint32_t *port, size_t count);
/* Replaces directed routes that lead through this switch by routes around it, if there are any
 * (fab_discover_paths_avoid). Returns OK or NOMEM. */
int sm_model_avoid(struct sm_model *m, uint32_t node);
/* Fills port_paths. Call this function after `paths` changed. Returns OK or NOMEM. */
int sm_model_find_port_paths(struct sm_model *m);
/* Returns the directed route for a request about this port; NULL: none is known. For a port of an
 * adapter, the route arrives at this port; for a port of a switch, at any port of the switch. The
 * result is valid until the model gets another snapshot or other routes. */
const struct fab_path *sm_model_path(const struct sm_model *m, uint32_t port);
/* Returns the GUID of the node that owns a LID in the published view; 0 if no node owns this
 * LID. */
uint64_t sm_model_guid_of_lid(const struct sm_model *m, uint32_t lid);

/* The usual input of a worker task: references to a snapshot and a target, and a copy of the
 * policy. The task owns all three. */
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
/* Writes the name of a port, even if its node has left the fabric. GUID 0 stands for the manager's
 * own port. */
void sm_place_name(const struct fab_fabric *f, uint64_t guid, uint8_t port,
                   char name[SM_PLACE_LEN]);

#endif
