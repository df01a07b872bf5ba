/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of an unhealthy link on traffic and capacity. */
#ifndef FABRICD_RPC_LINK_EFFECT_H
#define FABRICD_RPC_LINK_EFFECT_H

#include "fabric/v1/link.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/server.h"

/* Adds to each link what it costs while it stays in use (errors, and LIDs with packets on the
 * link), and how many uplinks remain while it is isolated. Then sorts the links by their effect,
 * the greatest first. Links in use come before isolated ones. */
void link_effect_add(struct call *c, struct answer *a, Fabric__V1__ListUnhealthyLinksResponse *m);

#endif
