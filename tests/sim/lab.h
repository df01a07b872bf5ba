/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lab for tests of the whole manager in one process. The manager is the real one, and its fabric
 * is simulated. Between the two is a tap (struct lab_tap), which counts MADs, and can act as
 * another manager.
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
    uint64_t smps_sent; /* number of SMPs that the manager had sent when it emitted the event */
};
/* The transport between the manager and the simulated fabric. It passes MADs on, counts them, and
 * can change them. */
struct lab_tap;
struct lab {
    struct config config;
    struct loop *loop;
    struct bus *bus;
    struct store *store; /* NULL: the manager has no store */
    struct fab_sim *sim;
    struct transport *sim_transport;
    struct lab_tap *tap;
    struct sm *sm;
    struct lab_event events[LAB_EVENTS];
    unsigned event_count;
    uint64_t sets_port_info, sets_lft, sets_switch_info, gets_lft;
    /* LID-routed writes of LFT blocks, which are a part of sets_lft */
    uint64_t sets_by_lid;
    uint64_t sets_mft, gets_mft;
    uint64_t sets_pkeys, gets_pkeys; /* writes and reads of P_Key table blocks */
    uint64_t sets;                   /* writes of any attribute */
    /* the last reply of the manager to a request or trap */
    uint8_t reply[FAB_MAD_SIZE];
    unsigned replies;
    uint64_t sends; /* number of MADs that the manager sent */
    /* called for each MAD of the manager; NULL: no function */
    void (*sent)(struct lab *lab, const struct fab_mad *head, uint16_t dlid);
    /* called for each answer that the manager is about to get; NULL: no function */
    void (*answered)(struct lab *lab, const struct fab_mad *head);
    /* called for each MAD from and to the manager; NULL: no function */
    void (*watch)(struct lab *lab, const struct fab_mad *head, const uint8_t *data, uint16_t dlid,
                  bool sent);
    void *watch_ctx;
    /* interrupt() is called once, when the manager has sent this number of MADs */
    uint64_t interrupt_at;
    void (*interrupt)(struct lab *lab); /* function for interrupt_at; NULL: none */
    /* SMInfo of another manager in the fabric; guid 0: there is no other manager */
    struct fab_sm_info other;
    uint32_t other_node; /* node at which the other manager is */
    bool other_answers;
    /* True: the other manager answers SubnGet(SMInfo) only at other_node, and nobody answers at
     * other nodes with IsSM. False: it answers at every node. */
    bool silent_others;
    /* requests to the other manager over this port of a switch are lost; NULL: none are */
    const char *cut_node;
    uint8_t cut_port;
    /* true: the other manager becomes master if it gets HANDOVER */
    bool other_accepts;
    unsigned handovers; /* number of HANDOVERs that the other manager got */
    /* [node] number of SubnGets(SMInfo) to this node while silent_others was set */
    uint8_t asked[256];
    /* Like OpenSM, the other manager shows its SM_Key only if the request has this M_Key. */
    uint64_t other_m_key;
    /* M_Key of the last SubnGet(SMInfo) to the other manager */
    uint64_t m_key_seen;
    /* in one of `spoil` answers, on average, the attribute is corrupted; 0: in none */
    uint32_t spoil;
    uint64_t prng; /* state of the random numbers for the corruption */
    /* All switch ports with this number acknowledge partition enforcement, but do not enforce
     * partitions; 0: all ports do. */
    uint8_t unenforcing;
    /* name of a node that answers no request; NULL: none */
    const char *silent;
    /* attribute ID; requests of the manager for this attribute get lost; 0: none */
    uint16_t lost;
};

/* the replica of the managers that lab_begin makes; NULL: they have none */
extern struct replica *lab_replica;

/* Makes a fabric, and a manager at its first adapter. The caller then starts the manager by
 * sm_start(). state: folder of the manager's store; NULL: no store. */
void lab_open(struct lab *lab, struct fab_builder *builder, const char *state);
void lab_open_virtual(struct lab *lab, struct fab_builder *builder,
                      const char *state); /* lab_open with a loop in virtual time */
/* Frees the manager and its store, but not the fabric. */
void lab_stop(struct lab *lab);
void lab_begin(struct lab *lab, const char *state); /* makes a new manager on the same fabric */
/* Switches all devices off and on. Call this function while the manager is stopped. */
void lab_power_cycle(struct lab *lab);
void lab_close(struct lab *lab);

/* lab_open(), then starts the manager, and waits until it is idle. */
void lab_bring_up(struct lab *lab, struct fab_builder *builder, const char *state);

/* Condition for which lab_run() waits. lab_run() fails the test if the condition is not true within
 * `seconds`. */
typedef bool lab_condition(struct lab *lab);
void lab_run(struct lab *lab, double seconds, lab_condition *until, const char *what);
void lab_run_for(struct lab *lab, double seconds);
/* Returns whether the manager has published a view, and no round runs. */
bool lab_is_idle(struct lab *lab);
/* Returns whether the manager is idle, and would answer a link failure with a local repair. */
bool lab_is_ready(struct lab *lab);
/* Waits until the manager emits an event of this type, and returns it; events before the last
 * lab_forget_events() do not count. Fails the test after `seconds`. */
const struct lab_event *lab_await(struct lab *lab, double seconds, const char *type);
const struct lab_event *lab_event(const struct lab *lab,
                                  const char *type); /* returns NULL if there is no such event */
unsigned lab_count_events(const struct lab *lab, const char *type);
void lab_forget_events(struct lab *lab);
void lab_forget_writes(struct lab *lab);

/* lab_unlink takes a link down, lab_relink takes it up again. Devices send traps about this. The
 * link is named by one of its ports: the NodeDescription of the node, and the port number. */
void lab_unlink(struct lab *lab, const char *node, uint8_t port);
void lab_relink(struct lab *lab, const char *node, uint8_t port);
/* Exchanges the cables at two ports. No device sends a trap about this. */
void lab_exchange(struct lab *lab, const char *node, uint8_t port, const char *other,
                  uint8_t other_port);
uint64_t lab_random(struct lab *lab);
/* lab_play_other adds another manager at the first port of a node, with the GUID 0x42 and the same
 * SM_Key. lab_end_other removes it. */
void lab_play_other(struct lab *lab, const char *node, uint8_t priority, uint8_t state);
void lab_end_other(struct lab *lab);
/* Sets MasterSMLID of all hosts and switches to the LID of this host, as a manager there does. */
void lab_set_master_lid(struct lab *lab, const char *host);
bool lab_is_standby(struct lab *lab);
uint8_t lab_role(struct lab *lab); /* state of the manager (enum fab_sm_state) */

/* Returns the directed route from a host to the manager over the first spine. Only for fabrics of
 * lab_leaf_spine(), and hosts that are not at the manager's leaf. */
struct fab_path lab_path_from(struct lab *lab, const char *host);
/* Returns the node at which a directed route of the manager ends; FAB_NONE: a link is missing. */
uint32_t lab_end_of(struct lab *lab, const struct fab_path *path);
/* Sends an SMP from a node to the manager, by the directed route in head->path. The simulated
 * switches fill in the return path. */
void lab_send(struct lab *lab, const char *node, struct fab_mad *head, const uint8_t *data);
/* Passes a MAD to the manager that is no answer to a request of it. */
void lab_receive(struct lab *lab, const uint8_t bytes[FAB_MAD_SIZE]);
void lab_receive_from(struct lab *lab, uint16_t slid, const uint8_t bytes[FAB_MAD_SIZE]);
/* Waits until the manager has repressed all traps, which devices repeat until then; at most a third
 * of a second. */
void lab_repeat_traps(struct lab *lab);
/* From now on, this node does not answer; NULL: all nodes answer. The node that was silent before
 * answers again. */
void lab_silence(struct lab *lab, const char *node);
uint32_t lab_node(struct lab *lab, const char *name);
uint64_t lab_node_guid(struct lab *lab, const char *name);

/* Checks the devices: each link that is up must be Active at both ends, each endport must have its
 * own LID, and the tables must pass the proof. Leaves out the node lab->silent and its links. */
void lab_assert_good(struct lab *lab);
/* In the copy f of the fabric, takes down all links that are not Active at both ends, because they
 * carry no data packets. */
void lab_take_inactive_down(struct fab_fabric *f);
/* Proves tables over the Active links, as if there were only one VL. tables: a result of
 * lab_tables(); NULL: the present tables of the devices. */
void lab_judge(struct lab *lab, const uint8_t *tables, struct fab_verdict *ret);
/* Returns the fabric as it is: the links of the simulation, and the port states of the devices,
 * without the links of lab->silent. The caller must free the reference. */
struct fab_fabric *lab_devices(struct lab *lab);
/* Reads the LIDs of all endports and switches from the devices. f: the result of lab_devices(). */
void lab_read_lids(const struct fab_fabric *f, struct fab_lids *ret);
/* Reads the LFTs of the devices: the entries of LIDs 0 to `top`. */
void lab_read_lft(struct lab *lab, const struct fab_fabric *f, uint32_t top, struct fab_lft *ret);
/* Returns the LFTs of all devices in one block of memory, which the caller frees. *ret_len: its
 * length in bytes. */
uint8_t *lab_tables(struct lab *lab, size_t *ret_len);
/* Compares the LFTs of the devices with before[], a result of lab_tables(). same: they must be
 * equal; otherwise they must differ. */
void lab_assert_same_tables(struct lab *lab, const uint8_t *before, size_t len, bool same);

struct fab_builder *lab_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts);

#endif
