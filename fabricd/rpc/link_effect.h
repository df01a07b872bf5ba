/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of an unhealthy link on traffic and capacity. */
#ifndef FABRICD_RPC_LINK_EFFECT_H
#define FABRICD_RPC_LINK_EFFECT_H

#include "fabric/v1/link.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/server.h"

/* Fills in two effects of each link: what the link costs while it stays in use (errors per hour,
 * and the number of LIDs whose packets use the link), and how many uplinks remain while the link is
 * isolated. Then sorts the links by their effect, the greatest first. Links in use come before
 * isolated ones. */
void link_effect_add(struct call *c, struct answer *a, Fabric__V1__ListUnhealthyLinksResponse *m);

#endif
