/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A laboratory for the whole manager in one process: the real sm, agent and sessions on the
 * simulated fabric, with a tap between them that counts writes and can play another manager.
 */
#ifndef TESTS_SIM_LAB_H
#define TESTS_SIM_LAB_H

#include "fabricd/sm/sm.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/testing.h"

#define LAB_EVENTS 512

struct lab_event {
    char type[32], subject[64], message[256];
    uint64_t guid;
    uint32_t port;
    uint64_t smps_sent; /* until then */
};
struct lab_tap; /* the transport that the sm gets */
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
    uint64_t sets_by_lid; /* of sets_lft */
    uint64_t sets_mft, gets_mft;
    uint64_t sets_pkeys, gets_pkeys; /* of blocks of P_Key tables */
    uint64_t sets;                   /* of any attribute */
    uint8_t
        reply[FAB_MAD_SIZE]; /* the last MAD with which the manager answered a request or a trap */
    unsigned replies;
    uint64_t sends; /* MADs that the manager sent */
    /* Called for each MAD that the manager sends; NULL: not called. */
    void (*sent)(struct lab *lab, const struct fab_mad *head, uint16_t dlid);
    /* Called for each answer to a request of the manager, before the manager gets it. NULL: not
     * called. */
    void (*answered)(struct lab *lab, const struct fab_mad *head);
    /* Called for each MAD that the manager sends or receives; NULL: not called. */
    void (*watch)(struct lab *lab, const struct fab_mad *head, const uint8_t *data, uint16_t dlid,
                  bool sent);
    void *watch_ctx;
    uint64_t interrupt_at;              /* sends; then once, from the loop: */
    void (*interrupt)(struct lab *lab); /* (NULL: nothing) */
    struct fab_sm_info other;           /* guid != 0: a manager that answers SubnGet(SMInfo) */
    uint32_t other_node;                /* sits here */
    bool other_answers;
    /* Other nodes with IsSM are asked, too, and do not answer. If false, every node that is asked
     * answers as the other manager. */
    bool silent_others;
    uint8_t asked[256]; /* SubnGets(SMInfo) to each node, while silent_others is set */
    /* It shows other.sm_key only to requests with this M_Key, as OpenSM does. */
    uint64_t other_m_key;
    uint64_t m_key_seen; /* the M_Key in the manager's last SubnGet(SMInfo) to it */
    uint32_t spoil;      /* one answer in so many has a corrupted payload; 0: none */
    uint64_t prng;       /* for the corruption */
    uint8_t unenforcing; /* switch ports of this number accept and ignore partition enforcement; 0:
                            none */
    const char *silent;  /* node that answers nothing, or NULL */
    uint16_t lost;       /* the manager's requests for this attribute are lost; 0: none */
};

/* A fabric with a manager on its first adapter; sm_start is left to the caller. state: the folder
 * of the store, or NULL. */
void lab_open(struct lab *lab, struct fab_builder *builder, const char *state);
void lab_open_virtual(struct lab *lab, struct fab_builder *builder,
                      const char *state); /* in virtual time */
/* Frees the manager and its store; the fabric stays as it is. */
void lab_stop(struct lab *lab);
void lab_begin(struct lab *lab, const char *state); /* again */
void lab_power_cycle(struct lab *lab);              /* while the manager is stopped: all devices */
void lab_close(struct lab *lab);

/* As lab_open; then starts the manager and waits until it is idle. */
void lab_bring_up(struct lab *lab, struct fab_builder *builder, const char *state);

/* Runs the loop until the condition holds; fails the test after `seconds`. */
typedef bool lab_condition(struct lab *lab);
void lab_run(struct lab *lab, double seconds, lab_condition *until, const char *what);
void lab_run_for(struct lab *lab, double seconds);
bool lab_is_idle(struct lab *lab);  /* a view is published and no round runs */
bool lab_is_ready(struct lab *lab); /* idle, and ready for local repairs */
/* Runs until there is an event of that type since the last lab_forget_events. */
const struct lab_event *lab_await(struct lab *lab, double seconds, const char *type);
const struct lab_event *lab_event(const struct lab *lab, const char *type); /* or NULL */
unsigned lab_count_events(const struct lab *lab, const char *type);
void lab_forget_events(struct lab *lab);
void lab_forget_writes(struct lab *lab);

/* Faults, with the traps that follow. The link is named by one end: node description and port. */
void lab_unlink(struct lab *lab, const char *node, uint8_t port);
void lab_relink(struct lab *lab, const char *node, uint8_t port);
/* Two cables change places at those ports, without any trap. */
void lab_exchange(struct lab *lab, const char *node, uint8_t port, const char *other,
                  uint8_t other_port);
uint64_t lab_random(struct lab *lab);
/* A manager with the GUID 0x42 and the manager's own SM_Key appears at the first port of a node, or
 * goes. */
void lab_play_other(struct lab *lab, const char *node, uint8_t priority, uint8_t state);
void lab_end_other(struct lab *lab);
bool lab_is_standby(struct lab *lab);
uint8_t lab_role(struct lab *lab); /* enum fab_sm_state */

/* In lab_leaf_spine: the directed route from a host of another leaf to the manager, over the first
 * spine. */
struct fab_path lab_path_from(struct lab *lab, const char *host);
/* The node at the end of a directed route of the manager; FAB_NONE: there is no link. */
uint32_t lab_end_of(struct lab *lab, const struct fab_path *path);
/* An SMP that the node sends to the manager by the directed route in head->path. The simulated
 * switches record the return path. */
void lab_send(struct lab *lab, const char *node, struct fab_mad *head, const uint8_t *data);
/* A MAD that the manager did not request. */
void lab_receive(struct lab *lab, const uint8_t bytes[FAB_MAD_SIZE]);
void lab_receive_from(struct lab *lab, uint16_t slid, const uint8_t bytes[FAB_MAD_SIZE]);
/* Devices repeat a trap until it is repressed: here for a third of a second. */
void lab_repeat_traps(struct lab *lab);
void lab_silence(struct lab *lab, const char *node); /* NULL: it answers again */
uint32_t lab_node(struct lab *lab, const char *name);
uint64_t lab_node_guid(struct lab *lab, const char *name);

/* Checks the devices: every link that is up is Active at both ends, every endport has a LID of its
 * own, and fab_verify proves the tables. An unresponsive node and its links do not count. */
void lab_assert_good(struct lab *lab);
/* Lets the links of a copy count as down that are not Active at both ends: they carry no data. */
void lab_take_inactive_down(struct fab_fabric *f);
/* Judges the tables in the devices by fab_verify, whatever they are. tables: those of lab_tables to
 * be judged instead, or NULL. */
void lab_judge(struct lab *lab, const uint8_t *tables, struct fab_verdict *ret);
/* The fabric as it is now: the links that the simulation was given, and the port states of the
 * devices. The caller drops the reference. */
struct fab_fabric *lab_devices(struct lab *lab);
/* The LIDs of the endports and switches of lab_devices, as the devices hold them. */
void lab_read_lids(const struct fab_fabric *f, struct fab_lids *ret);
/* The LFTs of the devices, up to the LID `top`. */
void lab_read_lft(struct lab *lab, const struct fab_fabric *f, uint32_t top, struct fab_lft *ret);
/* All tables in one malloc'd piece, to be compared. */
uint8_t *lab_tables(struct lab *lab, size_t *ret_len);
/* Fails unless the tables are (are not) what they were. */
void lab_assert_same_tables(struct lab *lab, const uint8_t *before, size_t len, bool same);

struct fab_builder *lab_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts);

#endif
