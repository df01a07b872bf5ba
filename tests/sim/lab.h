/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lab for tests of the whole manager in one process. The code of the manager is the real one; the
 * fabric is simulated. Between the two is a tap (struct lab_tap), which counts writes and can act
 * as another manager.
 */
#ifndef TESTS_SIM_LAB_H
#define TESTS_SIM_LAB_H

#include "fabricd/sm/sm.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/testing.h"

#define LAB_EVENTS 512

struct lab_event {
    char type[32], subject[64], message[512];
    uint64_t guid;
    uint32_t port;
    uint64_t smps_sent; /* SMPs that the manager had sent before the event */
};
/* The transport between the manager and the simulated fabric. It passes MADs on, counts them, and
 * can change them. */
struct lab_tap;
struct lab {
    struct config config;
    struct loop *loop;
    struct bus *bus;
    struct store *store; /* NULL: none */
    struct fab_sim *sim;
    struct transport *sim_transport;
    struct lab_tap *tap;
    struct sm *sm;
    struct lab_event events[LAB_EVENTS];
    unsigned event_count;
    uint64_t sets_port_info, sets_lft, sets_switch_info, gets_lft;
    /* the writes of LFT blocks that were LID routed; sets_lft counts them, too */
    uint64_t sets_by_lid;
    uint64_t sets_mft, gets_mft;
    uint64_t sets_pkeys, gets_pkeys; /* writes and reads of P_Key table blocks */
    uint64_t sets;                   /* writes of any attribute */
    /* The last MAD that the manager sent in reply to a request or a trap. */
    uint8_t reply[FAB_MAD_SIZE];
    unsigned replies;
    uint64_t sends; /* number of MADs that the manager sent */
    /* Called for each MAD that the manager sends; NULL: not called. */
    void (*sent)(struct lab *lab, const struct fab_mad *head, uint16_t dlid);
    /* Called for each answer to a request of the manager, before the manager gets it. NULL: not
     * called. */
    void (*answered)(struct lab *lab, const struct fab_mad *head);
    /* Called for each MAD that the manager sends or receives; NULL: not called. */
    void (*watch)(struct lab *lab, const struct fab_mad *head, const uint8_t *data, uint16_t dlid,
                  bool sent);
    void *watch_ctx;
    /* When the manager has sent this number of MADs, the loop calls `interrupt` once. */
    uint64_t interrupt_at;
    void (*interrupt)(struct lab *lab); /* NULL: nothing is called */
    /* SMInfo of another manager, which answers SubnGet(SMInfo); guid 0: there is no other
     * manager */
    struct fab_sm_info other;
    uint32_t other_node; /* the node of the other manager */
    bool other_answers;
    /* True: only `other_node` answers SubnGet(SMInfo); other nodes with IsSM do not answer. False:
     * every node answers as the other manager. */
    bool silent_others;
    /* True: the other manager accepts HANDOVER, and becomes master. */
    bool other_accepts;
    unsigned handovers; /* number of HANDOVERs that the other manager got */
    /* [node] number of SubnGets(SMInfo) that this node got while silent_others was set */
    uint8_t asked[256];
    /* The other manager shows other.sm_key only to requests with this M_Key, like OpenSM. */
    uint64_t other_m_key;
    /* The M_Key in the last SubnGet(SMInfo) to the other manager. */
    uint64_t m_key_seen;
    /* On average, one of `spoil` answers has a corrupted attribute; 0: no answer has. */
    uint32_t spoil;
    uint64_t prng; /* state of the random numbers for the corruption */
    /* Switch ports with this port number acknowledge partition enforcement, but do not enforce
     * partitions; 0: all ports enforce them. */
    uint8_t unenforcing;
    /* Name of a node that does not answer any request; NULL: all answer. */
    const char *silent;
    /* Requests of the manager with this attribute ID are lost; 0: no request is lost. */
    uint16_t lost;
};

/* Makes a lab: a fabric, and a manager at the first adapter. The caller starts the manager with
 * sm_start. state: the folder of its store; NULL: it has no store. */
void lab_open(struct lab *lab, struct fab_builder *builder, const char *state);
void lab_open_virtual(struct lab *lab, struct fab_builder *builder,
                      const char *state); /* lab_open with a loop in virtual time */
/* Frees the manager and its store. The fabric stays unchanged. */
void lab_stop(struct lab *lab);
void lab_begin(struct lab *lab, const char *state); /* starts a new manager on the same fabric */
/* Switches all devices off and on. Call this function while the manager is stopped. */
void lab_power_cycle(struct lab *lab);
void lab_close(struct lab *lab);

/* Does the same as lab_open, then starts the manager and waits until it is idle. */
void lab_bring_up(struct lab *lab, struct fab_builder *builder, const char *state);

/* A condition for lab_run. lab_run runs the event loop until the condition is true, and fails the
 * test if it is still false after `seconds`. */
typedef bool lab_condition(struct lab *lab);
void lab_run(struct lab *lab, double seconds, lab_condition *until, const char *what);
void lab_run_for(struct lab *lab, double seconds);
/* Returns whether a view is published and no round runs. */
bool lab_is_idle(struct lab *lab);
/* Returns whether the manager is idle, and would handle a link failure by a local repair. */
bool lab_is_ready(struct lab *lab);
/* Runs the loop until the manager has emitted an event of this type, and returns the event. Events
 * before the last call of lab_forget_events do not count. Fails the test if there is no such event
 * within `seconds`. */
const struct lab_event *lab_await(struct lab *lab, double seconds, const char *type);
const struct lab_event *lab_event(const struct lab *lab,
                                  const char *type); /* NULL: there is none */
unsigned lab_count_events(const struct lab *lab, const char *type);
void lab_forget_events(struct lab *lab);
void lab_forget_writes(struct lab *lab);

/* lab_unlink takes a link down, lab_relink takes it up again. Devices send traps about this. The
 * link is named by one of its ports: the NodeDescription of the node, and the port number. */
void lab_unlink(struct lab *lab, const char *node, uint8_t port);
void lab_relink(struct lab *lab, const char *node, uint8_t port);
/* Exchanges the cables at two ports. No trap reports this. */
void lab_exchange(struct lab *lab, const char *node, uint8_t port, const char *other,
                  uint8_t other_port);
uint64_t lab_random(struct lab *lab);
/* lab_play_other adds another manager at the first port of a node, with the GUID 0x42 and the same
 * SM_Key. lab_end_other removes it. */
void lab_play_other(struct lab *lab, const char *node, uint8_t priority, uint8_t state);
void lab_end_other(struct lab *lab);
bool lab_is_standby(struct lab *lab);
uint8_t lab_role(struct lab *lab); /* enum fab_sm_state */

/* Returns the directed route from a host to the manager, over the first spine. The fabric must have
 * been made by lab_leaf_spine, and the host must not be at the leaf of the manager. */
struct fab_path lab_path_from(struct lab *lab, const char *host);
/* Returns the node at the end of a directed route of the manager; FAB_NONE: there is no link. */
uint32_t lab_end_of(struct lab *lab, const struct fab_path *path);
/* Sends an SMP from the node to the manager by the directed route in head->path. The simulated
 * switches record the return path. */
void lab_send(struct lab *lab, const char *node, struct fab_mad *head, const uint8_t *data);
/* Passes a received MAD to the manager. It is not an answer to a request of the manager. */
void lab_receive(struct lab *lab, const uint8_t bytes[FAB_MAD_SIZE]);
void lab_receive_from(struct lab *lab, uint16_t slid, const uint8_t bytes[FAB_MAD_SIZE]);
/* Lets devices repeat their traps until the manager has repressed all of them, for at most a third
 * of a second. */
void lab_repeat_traps(struct lab *lab);
/* Makes the node stop answering, and the node before it answer again. NULL: all nodes answer. */
void lab_silence(struct lab *lab, const char *node);
uint32_t lab_node(struct lab *lab, const char *name);
uint64_t lab_node_guid(struct lab *lab, const char *name);

/* Checks the devices: every link that is up is Active at both ends, every endport has a LID of its
 * own, and fab_verify proves the tables. The node lab->silent and its links are left out. */
void lab_assert_good(struct lab *lab);
/* Takes down the links of f, a copy of the fabric, that are not Active at both ends. Such links
 * carry no data. */
void lab_take_inactive_down(struct fab_fabric *f);
/* Verifies tables by fab_verify, over the links that are Active, as if the fabric had one VL.
 * tables: what lab_tables has returned; NULL: the tables that the devices hold now. */
void lab_judge(struct lab *lab, const uint8_t *tables, struct fab_verdict *ret);
/* Returns the fabric with the links of the simulation and the port states of the devices, but
 * without the links of lab->silent. The caller drops the reference. */
struct fab_fabric *lab_devices(struct lab *lab);
/* Reads the LIDs of the endports and switches of lab_devices from the devices. */
void lab_read_lids(const struct fab_fabric *f, struct fab_lids *ret);
/* Reads the LFTs of the devices: the entries of LIDs 0 to `top`. */
void lab_read_lft(struct lab *lab, const struct fab_fabric *f, uint32_t top, struct fab_lft *ret);
/* Returns the LFTs of all devices in one malloc'd block, to compare them later. *ret_len: its
 * length in bytes. */
uint8_t *lab_tables(struct lab *lab, size_t *ret_len);
/* Fails the test unless the LFTs of the devices are equal to before[], which lab_tables returned.
 * If `same` is false, fails the test if they are equal. */
void lab_assert_same_tables(struct lab *lab, const uint8_t *before, size_t len, bool same);

struct fab_builder *lab_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts);

#endif
