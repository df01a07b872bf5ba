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
    /* Ids of the ports at the ends of the link. `port` is the one that the port probe has found
     * up. */
    uint32_t port, peer;
    /* Directed route over this link to the switch of `peer`. */
    struct fab_path path;
    /* PortInfo of `port` and of `peer`, as read during the verification */
    struct fab_port_info info[2];
    /* bitsets of the four requests that verify the link (returned_links.c): those that were sent
     * (asked), and those that were answered as expected (good) */
    uint8_t asked, good;
};
struct sm_probe { /* result of a port probe */
    /* ISLs that the probe has found failed, and ISLs that are up, but that routes must avoid
     * because they are isolated, drained or belong to a silent switch; each is listed once */
    struct sm_link *link;
    uint32_t count;
    struct sm_return *back; /* ISLs that came back, each listed once */
    /* [gains] the ISLs that came back and were verified. */
    struct sm_link *gained;
    uint32_t gains;
    /* number of ports of held-down links whose state (up or down) differs from the state that was
     * known before the probe */
    uint32_t held;
    /* Nodes that the probe asked and that have not answered, and suspects to which no directed
     * route is known. */
    struct sm_guids unresponsive;
    /* Switches whose reads were cancelled or not sent, because their directed routes lead over
     * failed links or through a failed switch (lost_reads.c). */
    struct sm_guids cut;
    /* the probe has found other changes, which a targeted sweep must handle */
    bool more;
};
#define SM_LOST_SWITCHES 8
/* Number of suspects (at the beginning of the list) of which a port probe reads all ports, unless
 * it knows a failed switch before it comes to them. One would not be enough: a failed switch is
 * itself a suspect if it sent a trap before it failed. */
#define SM_FIRST_SUSPECTS 3
/* State of lost_switch.c. Bit i of each bitset stands for the suspect run.suspects[i]. */
struct sm_lost_switches {
    /* [doubts] switches that have lost one link, perhaps because the whole switch has failed.
     * doubt: id of the switch. other: id of the port by which another neighbour is connected to the
     * switch; the state of this port shows whether the switch has failed. FAB_NONE: this port has
     * been read already, or there is no such port. */
    uint32_t doubt[SM_LOST_SWITCHES], other[SM_LOST_SWITCHES];
    uint32_t doubts;
    uint32_t node[SM_LOST_SWITCHES]; /* [count] switches that have probably failed */
    /* [count] for each failed switch: number of its port that the probe handles next. The failed
     * switch cannot be read, so the probe reads the port at the other end of the link. */
    uint8_t next[SM_LOST_SWITCHES];
    uint32_t count;
    /* number of unanswered reads of each of the first suspects */
    uint32_t pending[SM_FIRST_SUSPECTS];
    /* true: node[] has all failed switches, so the probe may read the suspects after the first
     * ones */
    bool decided;
    /* narrow: suspects of which the probe reads only the ports that lead to a failed switch.
     * reread: those suspects in `narrow` whose trap the failed switches do not explain; the probe
     * then reads all their ports. */
    uint64_t narrow[SM_GUIDS_MOST / 64], reread[SM_GUIDS_MOST / 64];
    bool any; /* at least one bit of `narrow` is set */
    /* The probe has begun to go through the suspects a second time, or will not do so any more
     * (sm_lost_switch_stop). Of the suspects before `end`, it now reads only those in `reread`. */
    bool again;
    /* number of suspects when the probe began the second time; 0: it has not begun it */
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
    /* true: all plans are computed or checked for the present state of the repair session
     * (all.commits) */
    bool complete;
    /* Number of cases at the end of the list in which evict_last has already looked for a plan that
     * it can free. None of these cases has such a plan any more. */
    size_t searched;
    /* number of plans of earlier states that were checked and are valid for the present state
     * (all.commits) */
    uint32_t kept;
    /* Processor time of the worker tasks so far, in nanoseconds. */
    uint64_t cpu_ns;
    /* Links that had errors; the link with the latest error comes first. */
    struct sm_suspect {
        uint64_t guid;
        uint8_t port;
    } suspect[SM_SUSPECTS];
    uint32_t suspects;
    /* link load of the most loaded channel of the active tables: number of endport pairs whose
     * paths use it */
    uint64_t load;
};
struct sm_step;
struct sm_step_state { /* state of rebalance_step.c */
    struct loop_timer *timer;
    struct loop_task *task; /* computes the next step; NULL: none runs */
    struct sm_step *ready;  /* a computed step that waits for its round; NULL: none */
    /* the state of the repair session after the last step: which tables were active (the value of
     * model.tables), and how many commits the session had made */
    uint64_t tables_number, commits;
    /* the last LID that the last step has examined; 0: it has reached the last LID of the fabric */
    uint32_t at;
    bool moved; /* a step of the present pass over the LIDs has changed entries */
    /* The last pass over the LIDs has changed no entry, or no further step could be made. No step
     * is due until the repair session has a new state. */
    bool settled;
};
/* A search for a repair (repair_search.c). If a worker task carries it out, no other code uses this
 * struct meanwhile. */
struct sm_repair_search {
    /* [deads] the failed links: port ids, in the repair session, of one port of each link */
    uint32_t *dead;
    uint32_t deads;
    /* Copy of the state of the repair session for the worker task; NULL: the loop thread computes
     * the repair. */
    struct fab_repair *copy;
    /* The tables of the repair session, for the worker task. */
    struct fab_lft tables;
    /* plan: the contingency plan for the failed links; NULL: there is none. plan_commits: the state
     * of the repair session, as its number of commits, for which the plan is known to be valid. */
    struct fab_repair_stored_plan *plan;
    uint64_t plan_commits;
    /* true: a failed link is up, and packets pass it until the tables have changed */
    bool up;
    struct fab_repair_delta delta;
    /* OK: the repair is found, proved, and its writes are ordered. Otherwise there is no repair;
     * why[] has the reason, or is empty. */
    int status;
    char why[200];
    bool by_contingency;
    /* true: the proof of the delta failed; `unproved` is the change at which it failed */
    bool refuted;
    /* the change at which the proof failed, with the ids of the repair session */
    struct fab_repair_change unproved;
    uint64_t computed_us, proved_us;
};
struct sm_confirm_tables { /* state of confirm_tables.c */
    /* [bits] bitset of the LFT blocks that the proof of the repair uses: bit sw * blocks + b. NULL:
     * nothing must be read. */
    uint64_t *block;
    size_t bits, at;      /* at: the block that is read next */
    uint32_t blocks;      /* number of LFT blocks per switch */
    uint32_t reads;       /* number of blocks that were read again */
    bool differs, failed; /* differs: a block differs; failed: a block could not be read */
    /* The port of the former master, if it must be asked whether it is still master; otherwise
     * FAB_NONE. */
    uint32_t master;
    bool asked;        /* true: the request to the former master was sent */
    bool master_lives; /* true: the former master answered that it is still master */
};
struct sm_fault {
    struct loop_tasks tasks;
    /* the search, if the loop thread has carried it out; NULL: there is none, or a worker task
     * carries it out */
    struct sm_repair_search *search;
    struct sm_confirm_tables confirm;
    /* The port that the running probe reads next: index of its suspect, and port number. */
    uint32_t next_suspect, next_port;
    struct sm_probe probe;
    struct sm_lost_switches lost;
    /* nodes that a port probe has read, and for which the targeted sweep that checks the probe is
     * not requested yet */
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

/* Functions of confirm_tables.c, for the phase "repairing". sm_confirm_tables_begin finds the
 * blocks to read; it returns OK or NOMEM. sm_confirm_tables_end makes the search x fail if the
 * blocks were not confirmed, if the order of the former master is another one, or if the former
 * master is still master. */
int sm_confirm_tables_begin(struct sm *s);
bool sm_confirm_tables_next(struct sm *s, struct fab_mads_request *ret);
void sm_confirm_tables_answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
bool sm_confirm_tables_over(const struct sm *s);
void sm_confirm_tables_stalled(struct sm *s, uint64_t stalled_us);
void sm_confirm_tables_end(struct sm *s, struct sm_repair_search *x);
void sm_confirm_tables_fini(struct sm *s);

/* Functions of local_repair.c. */
/* Makes the plan that writes a delta. links: the writes that bring up the returned links. Returns
 * OK or NOMEM. */
int sm_repair_plan_writes(struct sm *s, const struct fab_repair_delta *d,
                          const struct fab_plan *links, struct fab_plan *ret);
/* Returns true if the delta changes tables of a silent switch that routes cannot avoid. These
 * tables cannot be written, so an engine must compute new tables in which the switch keeps its
 * entries. */
bool sm_repair_writes_fixed(struct sm *s, const struct fab_repair_delta *d);

/* Functions of port_probe.c. */
int sm_probe_add(struct sm_probe *p, const struct sm_link *link); /* returns OK or NOMEM */
/* Returns whether the link of this port is in p->link[]. */
bool sm_probe_has(const struct sm_probe *p, uint32_t port);
void sm_probe_fini(struct sm_probe *p);

/* Functions of lost_switch.c. `suspect` is an index in run.suspects. */
/* Call this function when the probe has found that the link of this port failed. The probe then
 * finds out whether the switch at the other end has failed. */
void sm_lost_switch_note(struct sm *s, uint32_t port);
/* Sets *ret_port to the next port that the probe must read: to decide whether a switch in doubt[]
 * has failed, or to find the links of a failed switch that are down. Returns false if there is no
 * such port now. */
bool sm_lost_switch_next(struct sm *s, uint32_t *ret_port);
/* Returns true if the next suspect must not be read yet, because answers of the first suspects may
 * still show that a switch has failed. */
bool sm_lost_switch_awaited(struct sm *s);
/* Counts the unanswered reads of a switch, if it is one of the first suspects. change: 1 when a
 * read is sent, -1 when it is answered or cancelled. */
void sm_lost_switch_count(struct sm *s, uint32_t node, int change);
/* Ends the wait for answers of the first suspects (sm_lost_switch_awaited). Returns false if there
 * was no such wait. */
bool sm_lost_switch_give_up(struct sm *s);
/* Call this function before the first read of a suspect. Returns true if the suspect is a neighbour
 * of a failed switch: only its ports to failed switches are read then. */
bool sm_lost_switch_skips(struct sm *s, uint32_t suspect, uint32_t node);
/* Call this function when the probe has come to the end of the suspects and all reads are answered.
 * Of some neighbours of failed switches, the probe has read only some ports. If the failure does
 * not explain the trap of such a neighbour, the probe goes through the suspects a second time, to
 * read all ports of this neighbour. */
void sm_lost_switch_read_again(struct sm *s);
/* Returns true if the probe is going through the suspects a second time, and need not read this
 * suspect again. */
bool sm_lost_switch_is_read(const struct sm *s, uint32_t suspect);
/* Returns true if no read is missing: sm_lost_switch_next has no port left, and the probe need not
 * begin to go through the suspects a second time. */
bool sm_lost_switch_done(const struct sm *s);
/* Call this function when the probe has cancelled the unanswered reads. The probe then does not go
 * through the suspects again. */
void sm_lost_switch_stop(struct sm *s);

/* Returns whether the probe has found that this switch has probably failed. */
bool sm_lost_switch_is(const struct sm *s, uint32_t node);
/* Returns true if a port of the switch leads to a failed switch, and the probe has found this port
 * down. A trap of the switch then needs no other explanation. */
bool sm_lost_switch_explains(const struct sm *s, uint32_t node);

/* Functions of lost_reads.c. */
/* Returns whether the directed route to this switch leads over a link that the probe found failed,
 * or through a failed switch. */
bool sm_read_is_cut(const struct sm *s, uint32_t node);
/* Like sm_read_is_cut, for any directed route. */
bool sm_path_is_cut(const struct sm *s, const struct fab_path *path);
/* Cancels the unanswered reads whose directed routes lead over a failed link, through a failed
 * switch, or through the switch `doubt` (FAB_NONE: none). */
void sm_reads_cut(struct sm *s, uint32_t doubt);
/* Call this function at the end of the probe. Switches whose reads were cancelled do not count as
 * unresponsive, unless they have probably failed. The function removes from probe.cut the failed
 * switches, and those whose trap a failed switch explains. For the switches that stay in probe.cut,
 * sm_probe_ended requests another probe, because other directed routes lead to them after the
 * repair. */
void sm_reads_cut_end(struct sm *s);

/* Functions of returned_links.c. */
/* Returns whether the link of this port may be back after a failure: the port is up, has no link in
 * the snapshot, but had an ISL when the tables of the repair session were computed. Returns false
 * if the probe cannot verify the link, or if the link must stay excluded. now: PortInfo of the
 * port, as the probe has read it. */
bool sm_return_is(struct sm *s, uint32_t port, const struct fab_port_info *now);
/* Adds the link of this port to those that the probe verifies. Returns OK or NOMEM. */
int sm_return_add(struct sm *s, uint32_t port, const struct fab_port_info *now);
/* Fills in the next request that verifies a returned link. Returns false if there is none. */
bool sm_return_next(struct sm *s, struct fab_mads_request *ret);
/* Returns whether this is the tag of a request that verifies a returned link. */
bool sm_return_is_answer(uint64_t tag);
void sm_return_answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
/* returns whether all requests that verify returned links were sent */
bool sm_returns_asked(const struct sm *s);
/* Sets probe.gained to the returned links that are verified. If others could not be verified, sets
 * probe.more, so that a targeted sweep handles them. Returns OK or NOMEM. */
int sm_returns_verified(struct sm *s);
/* Drops the returned links of this probe. A targeted sweep then handles these links. */
void sm_returns_drop(struct sm *s);
void sm_returns_fini(struct sm_probe *p);
/* Returns whether this failed link is back and verified. dead: id, in the repair session, of one of
 * its ports. */
bool sm_return_has(const struct sm *s, uint32_t dead);
/* Returns true if the switches hold the entries of the active tables in all LFT blocks that the
 * delta changes. The proof of a repair with returned links assumes this. */
bool sm_returns_stand(struct sm *s, const struct fab_repair_delta *d);
/* Adds the returned links that are verified to the snapshot. *ret: the plan of the writes that
 * bring them up. Returns OK or NOMEM. */
int sm_returns_restore(struct sm *s, struct fab_plan *ret);

/* Functions of repair_search.c. */
/* Begins to search for a repair of the links that the last port probe has found. The search has
 * ended when sm_phase_task_over returns true. Returns OK or NOMEM. */
int sm_repair_search_begin(struct sm *s);
/* Returns the ended search with its result. The caller frees it. */
struct sm_repair_search *sm_repair_search_end(struct sm *s);
/* Call this function if search `x` found no repair for the failed and the returned links together.
 * Frees `x`, drops the returned links, and returns a search for the failed links only, which has
 * ended; NULL: no memory. */
struct sm_repair_search *sm_repair_search_failed_only(struct sm *s, struct sm_repair_search *x);
void sm_repair_search_free(struct sm_repair_search *x); /* x may be NULL */
void sm_repair_search_abort(struct sm *s);

/* Functions of contingency.c. */
int sm_contingency_init(struct sm *s); /* returns OK or NOMEM */
void sm_contingency_fini(struct sm *s);
/* Returns a reference to the contingency plan for exactly these failed links, which the caller must
 * release; NULL: there is none. failed[]: port ids of the repair session. *ret_commits: the state
 * of the session, as its number of commits, for which the plan is known to be valid. */
struct fab_repair_stored_plan *sm_contingency_lookup(struct sm *s, const uint32_t *failed,
                                                     size_t count, uint64_t *ret_commits);

#endif
