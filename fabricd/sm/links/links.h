/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/links for the other folders of fabricd/sm: flapping links, isolated
 * links, and ports that an operator disabled.
 */
#ifndef FABRICD_SM_LINKS_LINKS_H
#define FABRICD_SM_LINKS_LINKS_H

#include "fabricd/sm/core/core.h"

struct sm_link { /* port ids of both ends */
    uint32_t port, peer;
    bool isolated; /* the link is up and is to be isolated */
};

int sm_links_init(struct sm *s); /* NOMEM, IO */
void sm_links_fini(struct sm *s);

/* ---- flapping (flapping.c) ---- */

void sm_flap_arm(struct sm *s); /* sets the timer of held-down links again after a change */
/* Counts a flap of a link of snapshot f. */
void sm_flap_note_down(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Call it when a link disappeared between two snapshots. Counts a flap, unless one of the link's
 * switches disappeared as well or the link is held down. */
void sm_flap_removed(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *c);
uint32_t sm_flap_held(const struct sm *s); /* number of links held down */
/* Removes the links that are held down or isolated from a new snapshot, before the model adopts it.
 * NOMEM. */
int sm_flap_exclude(struct sm *s, struct fab_fabric *f);
/* Notes the state that a port probe found; returns whether the port's link is held down, and
 * whether its state changed. */
enum sm_flap_probe { SM_FLAP_NOT_HELD, SM_FLAP_HELD, SM_FLAP_HELD_CHANGED };
enum sm_flap_probe sm_flap_probed(struct sm *s, uint32_t port, bool up);
/* Removes a link from a snapshot, but keeps the PortInfo of its ports. */
void sm_link_exclude(struct fab_fabric *f, uint32_t port);

/* ---- isolation (isolation.c) ---- */

/* Returns true if the port's link is isolated and excluded from the routes. */
bool sm_is_isolated_out(const struct sm *s, uint64_t node_guid, uint8_t port);
/* Call it after a view was published: disables ports of isolated links, if counters.on_errors is
 * "disable". */
void sm_isolate_settle(struct sm *s);
/* Returns true if the port's link is isolated, but not yet excluded from the routes. */
bool sm_isolate_due(const struct sm *s, uint32_t port);
/* Notes that a local repair has excluded this link. */
void sm_isolate_done(struct sm *s, const struct sm_link *c);
uint32_t sm_isolated_count(const struct sm *s);

/* ---- offenders (offenders.c) ---- */

/* Disables the switch port of a host, as the settings below `offenders` say. port: the host's port
 * in the model's snapshot; cause: what the host did, for operators. The caller must have proof of
 * the place: a source LID is none. */
void sm_offender_found(struct sm *s, uint32_t port, const char *cause);

/* ---- ports (port_setting.c) ---- */

bool sm_port_waits(const struct sm *s); /* a port is to be enabled or disabled */
/* Disables again the ports that an operator had disabled and that came up. */
void sm_port_recheck(struct sm *s);
void sm_port_forget(struct sm *s, void *ctx);

extern const struct sm_phase sm_phase_port;

#endif
