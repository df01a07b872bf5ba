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
    /* Ids of the ports at the ends of the link. The port probe found `port` up. */
    uint32_t port, peer;
    /* Directed route over this link to the switch of `peer`. */
    struct fab_path path;
    /* PortInfo as it was read from `port` and from `peer`. */
    struct fab_port_info info[2];
    /* Bitsets of the verifying requests that were sent (asked) and answered as expected (good). */
    uint8_t asked, good;
};
struct sm_probe { /* result of a port probe */
    /* ISLs that the probe found failed, or that must be isolated, each listed once. */
    struct sm_link *link;
    uint32_t count;
    struct sm_return *back; /* ISLs that came back, each listed once */
    /* [gains] the ISLs that came back and were verified. */
    struct sm_link *gained;
    uint32_t gains;
    /* Number of ports of held-down links at which the probe found another state than before. */
    uint32_t held;
    /* Switches that did not answer the probe, or to which no directed route is known. */
    struct sm_guids unresponsive;
    /* Switches whose reads were cancelled, because their directed routes lead over failed links
     * (lost_reads.c). */
    struct sm_guids cut;
    /* The probe found other changes, which only a targeted sweep can handle. */
    bool more;
};
#define SM_LOST_SWITCHES 8
/* A port probe reads all ports of this many suspects in any case. One would not be enough: the
 * failed switch itself is a suspect if it sent a trap before it failed. */
#define SM_FIRST_SUSPECTS 3
/* State of lost_switch.c. Bit i of each bitset stands for the suspect run.suspects[i]. */
struct sm_lost_switches {
    /* [doubts] doubt: id of a switch that has lost one link. other: a port of another neighbour
     * that leads to this switch. The state of this port shows whether the whole switch failed.
     * FAB_NONE: the port was read, or there is none. */
    uint32_t doubt[SM_LOST_SWITCHES], other[SM_LOST_SWITCHES];
    uint32_t doubts;
    uint32_t node[SM_LOST_SWITCHES]; /* [count] switches that have probably failed */
    /* [count] for each failed switch: the number of its port that the probe handles next. The
     * switch itself cannot be read, so the probe reads the port at the other end of each of its
     * links. */
    uint8_t next[SM_LOST_SWITCHES];
    uint32_t count;
    /* number of unanswered reads of each of the first suspects */
    uint32_t pending[SM_FIRST_SUSPECTS];
    /* The probe knows all failed switches (node[]), so it may read the other suspects. */
    bool decided;
    /* narrow: suspects of which the probe at first reads only the ports to a failed switch. reread:
     * narrow suspects whose trap had another reason, so that the probe reads all their ports. */
    uint64_t narrow[SM_GUIDS_MOST / 64], reread[SM_GUIDS_MOST / 64];
    bool any; /* the bitset `narrow` is not empty */
    /* The probe has read all suspects and goes through them again. Of the suspects before `end`, it
     * now reads only those in `reread`. */
    bool again;
    /* Number of suspects when the probe began to go through them again. */
    uint32_t end;
};
struct sm_contingency_state { /* state of contingency.c */
    /* Contingency plans for the active tables. all.network is NULL if there are none. */
    struct fab_repair_contingencies all;
    /* Computes the plans (libfabmgr/repair/contingency). NULL: there is none, or the worker task
     * has it. */
    struct fab_repair_contingency_maker *maker;
    struct loop_task *task; /* the worker task; NULL: none runs */
    /* Input and result of the running worker task; NULL: none runs. */
    struct sm_contingency_job *job;
    struct loop_timer *timer;
    /* All plans are computed or checked for the state of the repair session with number
     * all.commits. */
    bool complete;
    /* number of contingencies at the end of the list `all` that evict_last has already searched for
     * a plan to free */
    size_t searched;
    /* Number of plans of earlier states that were found valid for the present state, all.commits.
     */
    uint32_t kept;
    /* Processor time of the worker tasks so far, in nanoseconds. */
    uint64_t cpu_ns;
    /* Links that had errors; the link with the latest error comes first. */
    struct sm_suspect {
        uint64_t guid;
        uint8_t port;
    } suspect[SM_SUSPECTS];
    uint32_t suspects;
    /* Number of endport pairs whose paths use the most loaded channel of the active tables. */
    uint64_t load;
};
struct sm_step;
struct sm_step_state { /* state of rebalance_step.c */
    struct loop_timer *timer;
    struct loop_task *task; /* computes the next step; NULL: none runs */
    struct sm_step *ready;  /* a computed step that waits for its round; NULL: none */
    /* The last step belongs to this state of the repair session: the number of the active tables
     * (model.tables), and the number of commits. */
    uint64_t tables_number, commits;
    uint32_t at; /* the last LID of the last step; 0: a pass over the LIDs is complete */
    bool moved;  /* the present pass over the LIDs has changed entries */
    /* A whole pass over the LIDs has changed no entry, so no further step is due until the state of
     * the repair session changes. */
    bool settled;
};
/* A search for a repair (repair_search.c). While its worker task runs, only the task may access the
 * members. */
struct sm_repair_search {
    /* [deads] one port of each failed link, by port ids of the repair session. */
    uint32_t *dead;
    uint32_t deads;
    /* Copy of the state of the repair session for the worker task; NULL: the loop thread computes
     * the repair. */
    struct fab_repair *copy;
    /* The tables of the repair session, for the worker task. */
    struct fab_lft tables;
    /* The contingency plan for the failed links; NULL: there is none. plan_commits: the state of
     * the session (its number of commits) for which the plan is known to be valid. */
    struct fab_repair_stored_plan *plan;
    uint64_t plan_commits;
    struct fab_repair_delta delta;
    /* OK: the delta is proved and its writes are ordered. Otherwise the search failed, and why[]
     * has the reason or is empty. */
    int status;
    char why[200];
    bool by_contingency;
    bool refuted; /* the delta failed its proof, at `unproved` */
    /* the change at which the proof failed, with the ids of the repair session */
    struct fab_repair_change unproved;
    uint64_t computed_us, proved_us;
};
struct sm_fault {
    struct loop_tasks tasks;
    /* A search that the loop thread has carried out; NULL: none, or a worker task carries it
     * out. */
    struct sm_repair_search *search;
    /* The port that the running probe reads next: index of its suspect, and port number. */
    uint32_t next_suspect, next_port;
    struct sm_probe probe;
    struct sm_lost_switches lost;
    /* Nodes that a port probe has read, and that no targeted sweep has read since then. */
    struct sm_guids unchecked;
    struct loop_timer *check_timer;
    struct sm_contingency_state contingency;
    struct sm_step_state step;
    void (*on_patch)(void *ctx); /* the listener of sm_on_patch, or NULL */
    void *on_patch_ctx;
};

/* Functions of rebalance_step.c. */
int sm_step_init(struct sm *s); /* returns OK or NOMEM */
void sm_step_fini(struct sm *s);

/* Functions of local_repair.c. */
/* Makes the plan of the writes of a delta. links: the writes that bring up returned links. Returns
 * OK or NOMEM. */
int sm_repair_plan_writes(struct sm *s, const struct fab_repair_delta *d,
                          const struct fab_plan *links, struct fab_plan *ret);
/* Returns whether the delta changes tables of a silent switch that routes cannot avoid. The manager
 * cannot write them, so an engine must compute new tables around the entries that the switch
 * holds. */
bool sm_repair_writes_fixed(struct sm *s, const struct fab_repair_delta *d);

/* Functions of port_probe.c. */
int sm_probe_add(struct sm_probe *p, const struct sm_link *link); /* returns OK or NOMEM */
/* Returns whether the probe has found the link of this port failed. */
bool sm_probe_has(const struct sm_probe *p, uint32_t port);
void sm_probe_fini(struct sm_probe *p);

/* Functions of lost_switch.c. `suspect` is an index in run.suspects. */
/* Call this function when the probe has found that the link of this port failed. It starts to find
 * out whether the switch at the other end has failed. */
void sm_lost_switch_note(struct sm *s, uint32_t port);
/* Finds the next port to read, so that the probe learns which switches failed and which links they
 * had. Returns false if there is none now. */
bool sm_lost_switch_next(struct sm *s, uint32_t *ret_port);
/* Returns whether the probe must wait for answers of the first suspects before it reads the next
 * suspect. */
bool sm_lost_switch_awaited(struct sm *s);
/* Counts the unanswered reads of a switch. change: 1 for each sent read, -1 for each answer. */
void sm_lost_switch_count(struct sm *s, uint32_t node, int change);
/* Ends the wait for the first suspects (sm_lost_switch_awaited). Returns false if the probe does
 * not wait. */
bool sm_lost_switch_give_up(struct sm *s);
/* Call this function before the first read of a suspect. Returns true if the suspect is a neighbour
 * of a failed switch, so that the probe must not read all ports of the suspect now. */
bool sm_lost_switch_skips(struct sm *s, uint32_t suspect, uint32_t node);
/* Makes the probe go through the suspects again if it has skipped ports of neighbours of failed
 * switches, and all reads are answered. The probe then reads all ports of those neighbours whose
 * trap the failed switch does not explain. Call this function when the probe has come to the end of
 * the suspects. */
void sm_lost_switch_read_again(struct sm *s);
/* Returns whether the probe, which goes through the suspects again, need not read this suspect. */
bool sm_lost_switch_is_read(const struct sm *s, uint32_t suspect);
/* Returns whether no further reads are needed: sm_lost_switch_next has no port left, and the probe
 * need not go through the suspects again. */
bool sm_lost_switch_done(const struct sm *s);
/* Call this function when the probe has cancelled the unanswered reads. The probe then does not go
 * through the suspects again. */
void sm_lost_switch_stop(struct sm *s);

/* Returns whether the probe has found that this switch has probably failed. */
bool sm_lost_switch_is(const struct sm *s, uint32_t node);
/* Returns whether the switch has a port to a failed switch, and the probe found this port down.
 * This explains a trap of the switch. */
bool sm_lost_switch_explains(const struct sm *s, uint32_t node);

/* Functions of lost_reads.c. */
/* Returns whether the directed route to this switch leads over a link that the probe found failed,
 * or through a failed switch. */
bool sm_read_is_cut(const struct sm *s, uint32_t node);
/* Cancels the unanswered reads whose directed routes lead over a failed link, through a failed
 * switch, or through the switch `doubt` (FAB_NONE: none). */
void sm_reads_cut(struct sm *s, uint32_t doubt);
/* Call this function at the end of the probe. It decides which switches must be probed again after
 * the repair, when other directed routes to them are known. */
void sm_reads_cut_end(struct sm *s);

/* Functions of returned_links.c. */
/* Returns whether the link of a port may have come back: the port is up and has no link in the
 * snapshot, but had one when the tables of the repair session were computed. now: PortInfo that the
 * probe has read from the port. */
bool sm_return_is(struct sm *s, uint32_t port, const struct fab_port_info *now);
/* Adds the link of this port to the links to verify. Returns OK or NOMEM. */
int sm_return_add(struct sm *s, uint32_t port, const struct fab_port_info *now);
/* Fills in the next request that verifies a returned link. Returns false if there is none. */
bool sm_return_next(struct sm *s, struct fab_mads_request *ret);
/* Returns whether this is the tag of a request that verifies a returned link. */
bool sm_return_is_answer(uint64_t tag);
void sm_return_answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
/* returns whether all requests that verify returned links were sent */
bool sm_returns_asked(const struct sm *s);
/* Sets probe.gained to the verified links. Sets probe.more if some returned links could not be
 * verified. Returns OK or NOMEM. */
int sm_returns_verified(struct sm *s);
/* Drops the returned links of this probe. A targeted sweep then handles these links. */
void sm_returns_drop(struct sm *s);
void sm_returns_fini(struct sm_probe *p);
/* Returns whether a failed link came back and was verified. dead: the id, in the repair session,
 * of a port of this link. */
bool sm_return_has(const struct sm *s, uint32_t dead);
/* Returns whether the switches hold the active tables in all LFT blocks that the repair changes.
 * The proof of a repair with returned links depends on this. */
bool sm_returns_stand(struct sm *s, const struct fab_repair_delta *d);
/* Adds the verified returned links to the snapshot, and plans the writes that bring them up (*ret).
 * Returns OK or NOMEM. */
int sm_returns_restore(struct sm *s, struct fab_plan *ret);

/* Functions of repair_search.c. */
/* Begins the search for a repair of the links that the last port probe found. When
 * sm_phase_task_over returns true, the search has ended. Returns OK or NOMEM. */
int sm_repair_search_begin(struct sm *s);
/* Returns the ended search with its result. The caller frees it. */
struct sm_repair_search *sm_repair_search_end(struct sm *s);
/* Call this function if search x found no repair of both failed and returned links. The function
 * frees x, drops the returned links, and returns a search for the failed links alone; NULL: no
 * memory. */
struct sm_repair_search *sm_repair_search_failed_only(struct sm *s, struct sm_repair_search *x);
void sm_repair_search_free(struct sm_repair_search *x); /* x may be NULL */
void sm_repair_search_abort(struct sm *s);

/* Functions of contingency.c. */
int sm_contingency_init(struct sm *s); /* returns OK or NOMEM */
void sm_contingency_fini(struct sm *s);
/* Returns the contingency plan for exactly these failed links; the caller unrefs it. NULL: there is
 * none. failed[]: port ids of the repair session. *ret_commits: the state of the session (its
 * number of commits) for which the plan is known to be valid. */
struct fab_repair_stored_plan *sm_contingency_lookup(struct sm *s, const uint32_t *failed,
                                                     size_t count, uint64_t *ret_commits);

#endif
