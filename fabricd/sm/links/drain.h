/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that drain.c, drain_cover.c, drain_progress.c and drain_store.c share. For these files
 * only. */
#ifndef FABRICD_SM_LINKS_DRAIN_H
#define FABRICD_SM_LINKS_DRAIN_H

#include "fabricd/sm/links/state.h"

struct sm_drain *sm_drain_find(const struct sm *s, uint32_t id);
/* Adds a drain to the list; NULL: no memory. The result is valid until the list changes. */
struct sm_drain *sm_drain_add(struct sm *s, const struct sm_drain_info *info, const uint64_t *node,
                              uint32_t nodes);
/* Returns whether the link belongs to the drain. */
static inline bool sm_drain_has(const struct sm_flap *e, const struct sm_drain *d)
{
    return e->drain == d->info.id;
}
/* Writes the name of the drain for events, such as "switch spine-1", to `text`. Returns `text`. */
const char *sm_drain_subject(const struct sm_drain *d, char *text, size_t len);
/* Adds links to the drain, except those that belong to a drain that is not ending. out[count]:
 * ports of the links, one for each link. Raises *ret_added by the number of links that were added,
 * also if the function fails. Returns OK, or LIMIT if the list is full or memory ran out. */
int sm_drain_add_links(struct sm *s, const struct sm_drain *d, const uint32_t *out, uint32_t count,
                       uint32_t *ret_added);
/* Requests the rounds after which routes avoid all links of the drain. Nothing is requested for
 * links that routes avoid already. */
void sm_drain_leave_links(struct sm *s, const struct sm_drain *d);
/* Removes the drain from the list. */
void sm_drain_drop(struct sm *s, struct sm_drain *d);
/* Sets the timer that ends drains whose time is over. */
void sm_drain_arm(struct sm *s);
/* Functions of drain_cover.c. */
/* Finds the links of snapshot `f` that routes must avoid if switches (their node GUIDs: guid[0] to
 * guid[nodes - 1]) or one link are drained. v: the view with the active tables. link: id of a port
 * of the link; NULL: no link is drained. Returns OK, NOMEM, or INVAL if the link is not an ISL that
 * is up. */
int sm_drain_cover(const struct fab_view *v, const struct fab_fabric *f, const uint64_t *guid,
                   uint32_t nodes, const uint32_t *link, struct fab_drain *ret);

/* Functions of drain_progress.c. */
/* Returns a digest of the active LFTs; 0: there are no tables. Equal tables have the same digest,
 * even if the switches have other ids. */
uint64_t sm_drain_digest(const struct sm *s);
/* Updates all drains: adds links that have come to belong to them, updates their states, and
 * removes ended drains whose links are in the routes again. Does nothing if there are no active
 * tables. */
void sm_drain_settle(struct sm *s);

/* Functions of drain_store.c. */
void sm_drain_keep(struct sm *s, const struct sm_drain *d);   /* writes the drain to the store */
void sm_drain_unkeep(struct sm *s, const struct sm_drain *d); /* removes the drain from the store */
int sm_drain_load(struct sm *s); /* loads all drains; returns OK, NOMEM, IO or FORMAT */

#endif
