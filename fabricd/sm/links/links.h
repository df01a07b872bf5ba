/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/links for the other folders of fabricd/sm: flapping links, isolated
 * links, drains, silent switches, misbehaving hosts, and ports that an operator disabled.
 */
#ifndef FABRICD_SM_LINKS_LINKS_H
#define FABRICD_SM_LINKS_LINKS_H

#include "fabricd/sm/core/core.h"
#include "libfabmgr/discover/silent.h"

/* A link: ids of the ports at both ends. */
struct sm_link {
    uint32_t port, peer;
    /* true: the link is up, but it was isolated, so routes must avoid it */
    bool isolated;
    /* true: a switch at one end of the link is silent, so routes must avoid the link */
    bool silent;
};

int sm_links_init(struct sm *s); /* returns OK, NOMEM, IO or FORMAT */
void sm_links_fini(struct sm *s);
/* Replaces the isolated links, the drains and the disabled ports by those in the store. Returns OK,
 * NOMEM, IO or FORMAT. */
int sm_links_load(struct sm *s);

/* ---- flapping (flapping.c) ---- */

/* Sets the timer to the time at which the next hold-down ends. Call this function when a hold-down
 * has begun or ended, and when a held-down link went down or came up. */
void sm_flap_arm(struct sm *s);
/* Call this function with `blind` true when the manager has lost its port, and with `blind` false
 * after the next complete sweep. In between, links may have gone down and come up unseen, for
 * example because all switches restarted together with the manager's host. Such flaps are not
 * counted. */
void sm_flap_set_blind(struct sm *s, bool blind);
/* Counts a flap of a link of snapshot `f` that has gone down. */
void sm_flap_note_down(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Counts a flap of a link of snapshot `old` that snapshot `now` lacks, unless the link is excluded
 * or one of its switches has left the fabric as well. c: the link, as fab_fabric_diff lists it. */
void sm_flap_removed(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *c);
/* Writes the port ids of ISLs that are up and have flapped recently to ret[], at most `max`.
 * Returns how many were written. */
uint32_t sm_flap_recent(const struct sm *s, uint32_t *ret, uint32_t max);
uint32_t sm_flap_held(const struct sm *s); /* returns the number of links held down */
/* Removes from a new snapshot the links that are held down, isolated or drained, except those that
 * must stay in use and the links of misbehaving hosts. Also counts flaps that the snapshot shows.
 * Call this function before the model adopts the snapshot. Returns OK or NOMEM. */
int sm_flap_exclude(struct sm *s, struct fab_fabric *f);
enum sm_flap_probe { SM_FLAP_NOT_HELD, SM_FLAP_HELD, SM_FLAP_HELD_CHANGED };
/* Call this function when a port probe has read this port. up: the link of the port is up. Returns
 * NOT_HELD if the link is not excluded, or is that of a misbehaving host. If it is excluded,
 * returns HELD_CHANGED if the link has gone down or come up since it was last read, and HELD if it
 * has not. */
enum sm_flap_probe sm_flap_probed(struct sm *s, uint32_t port, bool up);
/* Returns true if the link of this port must stay excluded even when it comes up: it is isolated,
 * drained or held down. */
bool sm_flap_bars(const struct sm *s, uint32_t port);
/* Call this function when a link of the snapshot has come up. It updates the entry of the link in
 * the list of links, if there is one. */
void sm_flap_note_up(struct sm *s, const struct sm_link *c);
/* Call this function when the model has a new snapshot. It starts a background task that adds the
 * ISLs of this snapshot to those that have been up (known.c). */
void sm_known_note(struct sm *s);
/* Sets ret[] to the port ids of both ends of the link. Returns false if the snapshot lacks one of
 * the ports. */
bool sm_link_ports(const struct fab_fabric *f, const struct fab_silent_link *l, uint32_t ret[2]);
/* Removes the link of this port from the snapshot. The ports at both its ends keep their PortInfo.
 * Returns OK or NOMEM. */
int sm_link_exclude(struct fab_fabric *f, uint32_t port);

/* ---- isolation (isolation.c) ---- */

/* Returns true if the link of this port is isolated or drained, and routes avoid it (it is not
 * reinstated). Returns false for the link of a misbehaving host. */
bool sm_is_isolated_out(const struct sm *s, uint64_t node_guid, uint8_t port);
/* Call this function after a view was published. It requests that ports of isolated links be
 * disabled: the switch port of each misbehaving host, if this port is found enabled; and, if
 * counters.on_errors is "disable", one port of each other isolated link that routes avoid. */
void sm_isolate_settle(struct sm *s);
/* Returns true if the link of this port was isolated or drained after the last sweep or repair;
 * routes do not avoid the link yet. (False for a link that the last sweep has reinstated, and for
 * the link of a misbehaving host.) */
bool sm_isolate_due(const struct sm *s, uint32_t port);
/* Notes that a local repair has excluded this isolated link from the routes. */
void sm_isolate_done(struct sm *s, const struct sm_link *c);
uint32_t sm_isolated_count(const struct sm *s);
/* Returns whether the isolated links in the store differ from those that this manager knows; false
 * if the store cannot be read. */
bool sm_isolation_differs(const struct sm *s);
/* Returns whether the drained links in the store differ from those that this manager knows; false
 * if the store cannot be read. */
bool sm_drains_differ(const struct sm *s);

/* ---- drains (drain.c) ---- */

/* Call this function when a round has ended. If the round succeeded, it updates the states of all
 * drains: whether table entries still lead over their links, and which links of ended drains are in
 * the routes again. */
void sm_drain_round_ended(struct sm *s, int status);

/* ---- offenders (offenders.c) ---- */

/* Isolates a misbehaving host: its switch port is disabled. If this is not allowed
 * (offenders.c), emits offender-not-isolated instead, at most once in 10 minutes. Call this
 * function only if the settings (`offenders`) demand the isolation. port: the host's port in the
 * snapshot. cause: what the host did, as a phrase for operators. The caller must be sure that
 * this host did it; a source LID is no proof. */
void sm_offender_found(struct sm *s, uint32_t port, const char *cause);

/* ---- ports (port_setting.c) ---- */

/* Requests that a port be enabled or disabled; for requests of the manager itself, not of
 * operators. note: the reason, a string constant that can be appended to a sentence, such as ",
 * because its link was released". Returns OK or NOMEM. */
int sm_port_request(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *note);
/* Requests a reset of a port: its link goes down once, trains again, and stays in Init. A reset is
 * a single write. With two writes (disable and enable), the port would stay disabled if the manager
 * were killed in between. Returns OK or NOMEM. */
int sm_port_request_reset(struct sm *s, uint64_t node_guid, uint8_t port, const char *note);
/* Returns true if a requested change of a port (enable, disable or reset) waits for its round. */
bool sm_port_waits(const struct sm *s);
/* Checks all ports that operators have disabled. If such a port is enabled, for example after a
 * restart of its switch, requests that it be disabled again. */
void sm_port_recheck(struct sm *s);
void sm_port_forget(struct sm *s, void *ctx);

extern const struct sm_phase sm_phase_port;

/* ---- excluded links over which packets still pass (excluded.c) ---- */

/* Links that are not in the snapshot, but over which packets may pass: links of silent switches,
 * and links that are, or were, isolated, drained or held down and whose ports are Active. The
 * caller frees the list with free(). */
struct sm_excluded {
    uint32_t count;
    struct fab_silent_link link[]; /* [count] */
};
/* Lists the links of silent switches that the snapshot lacks. barred: also lists the isolated,
 * drained and held-down links over which packets may pass. Returns NULL if memory ran out. */
struct sm_excluded *sm_excluded_take(const struct sm *s, bool barred);
/* Makes a version of snapshot f to which the excluded links in `x` are added again. Leaves out a
 * link if one of its ports is not LinkUp, has another peer, or has left the snapshot. If `x` has no
 * links, *ret is another reference to f. Returns NOMEM. */
int sm_excluded_connected(const struct sm_excluded *x, struct fab_fabric *f,
                          struct fab_fabric **ret);

/* ---- silent switches (silent.c, silent_check.c, silent_poll.c) ---- */

/* Call this function when a switch of the snapshot has not answered a request within the time of
 * one try. It starts a check whether the switch is silent, unless such a check is running. Returns
 * false if it cannot start the check, or if the switch is known to be silent; the caller then
 * requests a targeted sweep. */
bool sm_silent_check(struct sm *s, uint64_t guid);
bool sm_is_silent(const struct sm *s, uint64_t guid);
/* Returns the switches that have probably failed: in a check within the last seconds, they did
 * not answer, and no neighbour reported a link to them as up; or they are neighbours of such a
 * switch, and did not answer either. Other code adds switches by sm_silent_note_failed. The set
 * is valid until the next call of a function in this header. */
const struct sm_guids *sm_silent_failed(struct sm *s);
/* Adds a switch to the set of sm_silent_failed. Returns false if the set has it already. */
bool sm_silent_note_failed(struct sm *s, uint64_t guid);
uint32_t sm_silent_count(const struct sm *s);
/* Returns the GUID of the silent switch at index `at` of the list; 0: the list is shorter. */
uint64_t sm_silent_guid(const struct sm *s, uint32_t at);
/* Returns the set of silent switches. A discovery does not query them, and keeps what is known of
 * them. NULL: there are none. */
struct fab_silent *sm_silent_set(const struct sm *s);
/* Returns whether all other nodes of the fabric stay connected if routes avoid this switch. */
bool sm_silent_can_leave_out(const struct fab_fabric *f, uint32_t node);
/* Excludes all links of a silent switch from a snapshot. Does nothing if a host is connected to the
 * switch. Nobody else may be reading the snapshot. Returns OK or NOMEM. */
int sm_silent_leave_out(struct sm *s, struct fab_fabric *f, uint64_t guid);
/* Excludes the links of silent switches from a new snapshot, if routes can avoid the switches. Call
 * this function before the model adopts the snapshot. Returns OK or NOMEM. */
int sm_silent_exclude(struct sm *s, struct fab_fabric *f);
/* Returns true if the link of this port is excluded because a switch at one of its ends is silent.
 * After the switch has answered again, the function still returns true until the next view is
 * published. */
bool sm_silent_has_link(const struct sm *s, uint64_t guid, uint8_t port);
/* Call this function after a view was published. Forgets silent switches that left the fabric, and
 * ends the exclusion of links whose switch answers again. */
void sm_silent_settle(struct sm *s);
/* Forgets all silent switches and ends all checks. */
void sm_silent_forget(struct sm *s);

#endif
