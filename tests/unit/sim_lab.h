/* SPDX-License-Identifier: BSD-3-Clause */
/* A small simulated fabric for unit tests of the simulator: two leaves, two spines, and two hosts
 * at each leaf. */
#ifndef TESTS_UNIT_SIM_LAB_H
#define TESTS_UNIT_SIM_LAB_H

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/wire/gs.h"
#include "tests/support/drive.h"
#include "tests/unit/fabrics.h"

struct lab {
    struct fab_fabric *f, *found;
    struct drive r; /* the manager is at the first host */
    struct fab_path *paths;
    uint32_t leaf; /* the leaf of the manager */
    uint8_t up;    /* number of the port of `leaf` to a spine */
    uint32_t spine;
};
struct lab lab_new(void); /* makes a fabric that was just powered on */
/* Makes a fabric whose devices have LIDs (node id + 1). All its links are Active. */
struct lab lab_managed(void);
/* does the same as lab_managed, and attaches a manager to the port of the first host */
struct lab lab_manager(void);
void lab_free(struct lab *x);
/* Returns the id of a port that connects x->leaf with a spine, but not the port x->up. */
uint32_t uplink(const struct lab *x);

/* Sends a Get by directed route. data: the attribute of the request and, on return, of the answer.
 * Returns the SMP status; -1: no answer. */
int get(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data);
int set(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data);
struct fab_port_info port_info(struct lab *x, uint32_t node, uint8_t port);
int set_states(struct lab *x, uint32_t node, uint8_t port, uint8_t state, uint8_t phys);
/* Sends a LID-routed SubnGet(NodeInfo), and returns the result of fab_sim_send. *ret_guid: node
 * GUID in the answer. */
int ask_lid(struct lab *x, uint16_t dlid, uint64_t *ret_guid);
/* Sends a request of the general services by LID. data: bytes from offset 64 on of the request and,
 * on return, of the answer (FAB_GS_DATA bytes). Returns the status; -1: no answer. */
int gs(struct lab *x, uint32_t node, uint8_t mgmt_class, uint8_t method, uint16_t attr,
       uint32_t mod, uint64_t key, uint8_t *data);
/* Counts the traps with this number that have arrived. *ret and *ret_mail get the last of them,
 * unless they are NULL. */
unsigned traps(struct lab *x, uint16_t trap, struct fab_notice *ret,
               struct fab_sim_delivery *ret_mail);
void repress(struct lab *x, struct fab_sim_delivery *mail);

#endif
