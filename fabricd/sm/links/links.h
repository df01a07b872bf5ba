/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/links for the other folders of fabricd/sm: flapping links, isolated
 * links, misbehaving hosts, and ports that an operator disabled.
 */
#ifndef FABRICD_SM_LINKS_LINKS_H
#define FABRICD_SM_LINKS_LINKS_H

#include "fabricd/sm/core/core.h"
#include "libfabmgr/discover/silent.h"

/* A link: ids of the ports at both ends. */
struct sm_link {
    uint32_t port, peer;
    /* The link is up, but was isolated and must be excluded from the routes. */
    bool isolated;
    /* The link is excluded because one of its switches is silent. */
    bool silent;
};

int sm_links_init(struct sm *s); /* returns OK, NOMEM or IO */
void sm_links_fini(struct sm *s);
/* Replaces the isolated links and the disabled ports by those in the store. Returns OK, NOMEM, IO
 * or FORMAT. */
int sm_links_load(struct sm *s);

/* ---- flapping (flapping.c) ---- */

/* Sets the timer to the time when the next hold-down ends. Call this function when the hold-down of
 * a link may have begun or ended, or when a held-down link went down or came up. */
void sm_flap_arm(struct sm *s);
/* Call this function with blind = true when the manager has lost its port, and with false after the
 * next complete sweep. Flaps in between are not counted. */
void sm_flap_set_blind(struct sm *s, bool blind);
/* Counts a flap: a link of snapshot `f` has gone down. */
void sm_flap_note_down(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Call this function when a link of snapshot `old` is missing in snapshot `now`. It counts a flap,
 * unless the link is held down or one of its switches is missing as well. */
void sm_flap_removed(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *c);
/* Stores in ret[] the port ids of ISLs that are up and flapped recently, at most `max`. Returns
 * their number. */
uint32_t sm_flap_recent(const struct sm *s, uint32_t *ret, uint32_t max);
uint32_t sm_flap_held(const struct sm *s); /* returns the number of links held down */
/* Removes the held-down, isolated and drained links from a new snapshot before the model adopts the
 * snapshot, except those that must stay in use. Returns OK or NOMEM. */
int sm_flap_exclude(struct sm *s, struct fab_fabric *f);
enum sm_flap_probe { SM_FLAP_NOT_HELD, SM_FLAP_HELD, SM_FLAP_HELD_CHANGED };
/* Notes whether a port probe found the port up. Returns NOT_HELD if its link is not excluded. For
 * an excluded link (held down, isolated or drained), returns HELD, or HELD_CHANGED if the link was
 * down before and is up now, or the reverse. */
enum sm_flap_probe sm_flap_probed(struct sm *s, uint32_t port, bool up);
/* Returns whether the link of this port of the snapshot must stay out of service when it comes up,
 * because it is isolated, drained or held down. */
bool sm_flap_bars(const struct sm *s, uint32_t port);
/* Notes that a link of the snapshot has come up. */
void sm_flap_note_up(struct sm *s, const struct sm_link *c);
/* Notes the links of a new snapshot of the model, in the background (known.c). */
void sm_known_note(struct sm *s);
/* Sets ret[] to the port ids of both ends of the link. Returns false if the snapshot lacks one of
 * the ports. */
bool sm_link_ports(const struct fab_fabric *f, const struct fab_silent_link *l, uint32_t ret[2]);
/* Removes a link from a snapshot. The PortInfo of its ports is kept. Returns OK or NOMEM. */
int sm_link_exclude(struct fab_fabric *f, uint32_t port);

/* ---- isolation (isolation.c) ---- */

/* Returns whether the link of this port is isolated or drained, and excluded from the routes. (A
 * reinstated link is not.) */
bool sm_is_isolated_out(const struct sm *s, uint64_t node_guid, uint8_t port);
/* Requests that the switch port of each isolated host be disabled and, if counters.on_errors is
 * "disable", a port of each other isolated link. Call this function after a view was published. */
void sm_isolate_settle(struct sm *s);
/* Returns whether the link of this port is isolated or drained, but not yet excluded from the
 * routes: it was isolated or drained after the last sweep or repair. (Returns false for a link that
 * the last sweep reinstated.) */
bool sm_isolate_due(const struct sm *s, uint32_t port);
/* Notes that a local repair has excluded this isolated link from the routes. */
void sm_isolate_done(struct sm *s, const struct sm_link *c);
uint32_t sm_isolated_count(const struct sm *s);
/* Returns whether the isolated links in the store differ from those that this manager knows. */
bool sm_isolation_differs(const struct sm *s);
/* Returns whether the store has other drained links than this manager knows. */
bool sm_drains_differ(const struct sm *s);

/* ---- drains (drain.c) ---- */

/* Call this function when a round has ended. It finds out which drains have moved all traffic, and
 * which links of ended drains are back. */
void sm_drain_round_ended(struct sm *s, int status);

/* ---- offenders (offenders.c) ---- */

/* Disables the switch port of a misbehaving host, if the settings in `offenders` demand it. port:
 * the host's port in the snapshot; cause: what the host did, a phrase for operators. The caller
 * must have proof of the host's place; a source LID is no proof. */
void sm_offender_found(struct sm *s, uint32_t port, const char *cause);

/* ---- ports (port_setting.c) ---- */

/* Requests, on behalf of the manager itself and not of an operator, that a port be enabled or
 * disabled. note: a string constant with the reason. Messages append it to a sentence, so it begins
 * with a comma, such as ", because its link was released". Returns OK or NOMEM. */
int sm_port_request(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *note);
/* Requests that the link of a port be taken down once. The link then trains again and stays in
 * state Init. A single write resets the port. With two writes, the port would stay disabled if the
 * manager were killed between them. Returns OK or NOMEM. */
int sm_port_request_reset(struct sm *s, uint64_t node_guid, uint8_t port, const char *note);
/* Returns whether a port waits to be enabled, disabled or reset. */
bool sm_port_waits(const struct sm *s);
/* Checks the ports that operators have disabled. A port that is enabled is disabled again. */
void sm_port_recheck(struct sm *s);
void sm_port_forget(struct sm *s, void *ctx);

extern const struct sm_phase sm_phase_port;

/* ---- excluded links over which packets still pass (excluded.c) ---- */

/* A list of links that are up, but not in the snapshot. These are links of silent switches, and
 * links with Active ports that are or were isolated or held down. The caller frees the list with
 * free(). */
struct sm_excluded {
    uint32_t count;
    struct fab_silent_link link[]; /* [count] */
};
/* Lists the links of silent switches that the model's snapshot does not have; if `barred` is true,
 * also the isolated or held-down links. Returns NULL if there is no memory. */
struct sm_excluded *sm_excluded_take(const struct sm *s, bool barred);
/* Makes a version of snapshot f in which the links of the list are connected again. If the list is
 * empty, *ret is another reference to f. Returns NOMEM. */
int sm_excluded_connected(const struct sm_excluded *x, struct fab_fabric *f,
                          struct fab_fabric **ret);

/* ---- silent switches (silent.c, silent_check.c, silent_poll.c) ---- */

/* Call this function when a switch of the snapshot did not answer a request within the time of one
 * try. It starts a check whether the switch is silent. Returns false if it cannot start one; the
 * caller then requests a targeted sweep. */
bool sm_silent_check(struct sm *s, uint64_t guid);
bool sm_is_silent(const struct sm *s, uint64_t guid);
/* Returns the switches that have probably failed: within the last seconds, they answered no request
 * of a check, and no neighbour reported a link to them as up. The set is valid until the next call
 * of a function in this header. */
const struct sm_guids *sm_silent_failed(struct sm *s);
/* Adds a switch to the set of sm_silent_failed. Returns false if the switch is already in the
 * set. */
bool sm_silent_note_failed(struct sm *s, uint64_t guid);
uint32_t sm_silent_count(const struct sm *s);
/* Returns the GUID of the silent switch at index `at` of the list; 0: the list is shorter. */
uint64_t sm_silent_guid(const struct sm *s, uint32_t at);
/* Returns the set of silent switches, which a discovery keeps and does not query; NULL: none. */
struct fab_silent *sm_silent_set(const struct sm *s);
/* Returns whether all other nodes of the fabric stay connected if routes avoid this switch. */
bool sm_silent_can_leave_out(const struct fab_fabric *f, uint32_t node);
/* Excludes all links of a silent switch from a snapshot that has no readers. Returns OK or
 * NOMEM. */
int sm_silent_leave_out(struct sm *s, struct fab_fabric *f, uint64_t guid);
/* Excludes the links of all silent switches that routes can avoid from a new snapshot, before the
 * model adopts it. Returns OK or NOMEM. */
int sm_silent_exclude(struct sm *s, struct fab_fabric *f);
/* Returns whether the link of this port is excluded because of a silent switch. After the switch
 * answers again, the function still returns true until the next view is published. */
bool sm_silent_has_link(const struct sm *s, uint64_t guid, uint8_t port);
/* Call this function after a view was published. It removes the silent switches that left the
 * fabric from the list. It ends the exclusion of the links of switches that answer again. */
void sm_silent_settle(struct sm *s);
/* Forgets all silent switches and ends all checks. */
void sm_silent_forget(struct sm *s);

#endif
