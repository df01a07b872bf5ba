/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/fault, for this folder only. */
#ifndef FABRICD_SM_FAULT_STATE_H
#define FABRICD_SM_FAULT_STATE_H

#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/fault/fault.h"
#include "libfabmgr/repair/contingency/contingency.h"

#define SM_SUSPECTS 256
#define SM_RECENT_FLAPS 256

/* A link between two switches that may have come back (returned_links.c). */
struct sm_return {
    struct sm_return *next;
    /* Ids of its ports; a port probe found `port` up. */
    uint32_t port, peer;
    /* The directed route over the link, to the switch of `peer`. */
    struct fab_path path;
    /* PortInfo that was read from `port` and `peer`. */
    struct fab_port_info info[2];
    /* Bits of the requests that were sent, and answered as expected. */
    uint8_t asked, good;
};
struct sm_probe { /* result of a port probe */
    /* ISLs that failed or must be isolated, each listed once. */
    struct sm_link *link;
    uint32_t count;
    struct sm_return *back; /* ISLs that came back, each listed once */
    /* [gains] the same links, after the probe has verified them. */
    struct sm_link *gained;
    uint32_t gains;
    /* Number of ports of held-down links whose state changed. */
    uint32_t held;
    /* Switches that did not answer or to which no route is known. */
    struct sm_guids unresponsive;
    /* Other changes were found, so a targeted sweep must follow. */
    bool more;
};
#define SM_LOST_SWITCHES 8
/* Number of suspects of which a port probe reads all ports in any case. The failed switch itself
 * may be one of them, if it sent a trap before it failed. */
#define SM_FIRST_SUSPECTS 3
/* State of lost_switch.c. Bit i of the bitsets stands for run.suspects[i]. */
struct sm_lost_switches {
    /* [doubts] switches of which one link failed, and the port of another neighbour that shows
     * whether they failed; FAB_NONE: the port was read, or there is none */
    uint32_t doubt[SM_LOST_SWITCHES], other[SM_LOST_SWITCHES];
    uint32_t doubts;
    uint32_t node[SM_LOST_SWITCHES]; /* [count] switches that have probably failed */
    /* Their next port whose far end is read. */
    uint8_t next[SM_LOST_SWITCHES];
    uint32_t count;
    uint32_t pending[SM_FIRST_SUSPECTS]; /* unanswered reads of the first suspects */
    /* node[] is complete, so the other suspects may be read. */
    bool decided;
    /* narrow: neighbours of failed switches, whose ports are not all read at first. reread: those
     * of them whose trap is not explained. */
    uint64_t narrow[SM_GUIDS_MOST / 64], reread[SM_GUIDS_MOST / 64];
    bool any; /* narrow is not empty */
    /* The first reads have ended: of the suspects before `end`, the probe now reads only those in
     * `reread`. */
    bool again;
    /* Number of suspects when the first reads ended. */
    uint32_t end;
};
struct sm_contingency_state { /* state of contingency.c */
    /* Contingencies of the active tables. all.network is NULL if there are none. */
    struct fab_repair_contingencies all;
    /* Computes the contingencies. NULL: there is none, or the worker task has it. */
    struct fab_repair_contingency_maker *maker;
    struct loop_task *task; /* the worker task; NULL: none runs */
    /* What the worker task works on; NULL: none runs. */
    struct sm_contingency_job *job;
    struct loop_timer *timer;
    /* The maker has computed all cases for the state all.commits. */
    bool complete;
    /* number of cases, counted from the last one, that were searched for plans to free */
    size_t searched;
    /* number of plans of earlier states that were found valid for the state all.commits */
    uint32_t kept;
    /* Processor time of the worker tasks so far. */
    uint64_t cpu_ns;
    /* Links that had errors, the latest first. */
    struct sm_suspect {
        uint64_t guid;
        uint8_t port;
    } suspect[SM_SUSPECTS];
    uint32_t suspects;
    /* Number of endport pairs whose paths use the most loaded channel of the active tables. */
    uint64_t load;
};
/* A search for a repair (repair_search.c). While the worker task of the search runs, only the task
 * may access the members. */
struct sm_repair_search {
    /* [deads] ports of all failed links, by the ids of the repair session. */
    uint32_t *dead;
    uint32_t deads;
    /* For the worker task: copy of the session's state; else NULL. */
    struct fab_repair *copy;
    /* For the worker task: the session's tables. */
    struct fab_lft tables;
    struct fab_repair_delta delta;
    /* OK: the delta is proved and its writes are ordered; otherwise why[] has the reason or is
     * empty */
    int status;
    char why[200];
    bool by_contingency;
    bool refuted;                      /* the delta failed its proof, at `unproved` */
    struct fab_repair_change unproved; /* by the ids of the repair session */
    uint64_t computed_us, proved_us;
};
struct sm_fault {
    struct loop_tasks tasks;
    /* The search that ran on the loop thread; NULL: none. */
    struct sm_repair_search *search;
    /* indices of the suspect and port that the running probe reads next */
    uint32_t next_suspect, next_port;
    struct sm_probe probe;
    struct sm_lost_switches lost;
    /* Probed nodes that no targeted sweep has read since. */
    struct sm_guids unchecked;
    struct loop_timer *check_timer;
    struct sm_contingency_state contingency;
    void (*on_patch)(void *ctx); /* the listener of sm_on_patch, or NULL */
    void *on_patch_ctx;
};

/* Functions of port_probe.c. */
int sm_probe_add(struct sm_probe *p, const struct sm_link *link); /* returns OK or NOMEM */
/* Returns whether the probe found this failed link. */
bool sm_probe_has(const struct sm_probe *p, uint32_t port);
void sm_probe_fini(struct sm_probe *p);

/* Functions of lost_switch.c. `suspect` is an index in run.suspects. */
/* Call this function when the probe has found the failed link at this port. */
void sm_lost_switch_note(struct sm *s, uint32_t port);
/* Finds the next port of a neighbour of a failed switch, or of a switch that may have failed, that
 * the probe must read. Returns false if there is none now. */
bool sm_lost_switch_next(struct sm *s, uint32_t *ret_port);
/* Returns whether the probe must wait for answers of the first suspects before it reads the next
 * one. */
bool sm_lost_switch_awaited(struct sm *s);
/* Counts the unanswered reads of a switch. Call this function with change 1 for each read, and with
 * -1 for each answer. */
void sm_lost_switch_count(struct sm *s, uint32_t node, int change);
/* Ends the wait that sm_lost_switch_awaited reports. Returns false if the probe does not wait. */
bool sm_lost_switch_give_up(struct sm *s);
/* Call this function before the first read of a suspect. Returns whether the probe does not read
 * all its ports now, because it is a neighbour of a failed switch. */
bool sm_lost_switch_skips(struct sm *s, uint32_t suspect, uint32_t node);
/* Call this function when all suspects were read. When all reads are answered, the probe begins
 * again with the suspects whose traps are not explained. */
void sm_lost_switch_read_again(struct sm *s);
/* Returns whether the probe, which has begun again, need not read this suspect. */
bool sm_lost_switch_is_read(const struct sm *s, uint32_t suspect);
/* Returns whether the probe need not begin again. */
bool sm_lost_switch_done(const struct sm *s);
/* Call this function when the unanswered reads are given up. The probe then reads no suspect
 * again. */
void sm_lost_switch_stop(struct sm *s);

/* Functions of returned_links.c. */
/* Returns whether the link of a port may have come back: the snapshot has no link at this port, the
 * baseline of the repair session has one, and the port is up now. `now` is its PortInfo. */
bool sm_return_is(struct sm *s, uint32_t port, const struct fab_port_info *now);
/* Returns OK or NOMEM. */
int sm_return_add(struct sm *s, uint32_t port, const struct fab_port_info *now);
/* Supplies the next request that verifies a returned link; false: there is none. */
bool sm_return_next(struct sm *s, struct fab_mads_request *ret);
/* returns whether an answer belongs to a request that verifies a returned link */
bool sm_return_is_answer(uint64_t tag);
void sm_return_answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
/* returns whether all requests that verify returned links were sent */
bool sm_returns_asked(const struct sm *s);
/* Fills probe.gained with the links that were verified. Sets probe.more if others remain. Returns
 * OK or NOMEM. */
int sm_returns_verified(struct sm *s);
/* Gives up the returned links of this probe. A targeted sweep then handles these links. */
void sm_returns_drop(struct sm *s);
void sm_returns_fini(struct sm_probe *p);
/* Returns whether port `dead` of the repair session belongs to a verified returned link. */
bool sm_return_has(const struct sm *s, uint32_t dead);
/* Returns whether the switches hold the present tables in all blocks that the repair changes. The
 * proof of the repair assumes this. */
bool sm_returns_stand(struct sm *s, const struct fab_repair_delta *d);
/* Adds the returned links to the snapshot, and plans the writes that bring them up. Returns
 * NOMEM. */
int sm_returns_restore(struct sm *s, struct fab_plan *ret);

/* Functions of repair_search.c. */
/* Begins the search for a repair of the links that the last port probe found. The search has ended
 * when sm_phase_task_over returns true. Returns NOMEM. */
int sm_repair_search_begin(struct sm *s);
/* Returns the search that has ended, with its result. The caller frees it. */
struct sm_repair_search *sm_repair_search_end(struct sm *s);
/* Call this function after search x for failed and returned links found no repair. It frees x,
 * gives up the returned links, and returns the search for the failed links alone; NULL if memory
 * ran out. */
struct sm_repair_search *sm_repair_search_failed_only(struct sm *s, struct sm_repair_search *x);
void sm_repair_search_free(struct sm_repair_search *x); /* x may be NULL */
void sm_repair_search_abort(struct sm *s);

/* Functions of contingency.c. */
int sm_contingency_init(struct sm *s); /* returns OK or NOMEM */
void sm_contingency_fini(struct sm *s);
/* Finds the contingency for exactly these failed links (port ids in the repair session). Returns
 * NOT_FOUND if it was not computed, or NOMEM. */
int sm_contingency_find(struct sm *s, const uint32_t *failed, size_t count,
                        struct fab_repair_delta *ret);

#endif
