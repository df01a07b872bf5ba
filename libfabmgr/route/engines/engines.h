/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares all engines; registry.c lists them. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_ENGINES_ENGINES_H
#define LIBFABMGR_ROUTE_ENGINES_ENGINES_H

#include "libfabmgr/route/route.h"

extern const struct fab_route_engine fab_route_engine_fattree;
extern const struct fab_route_engine fab_route_engine_dor;
extern const struct fab_route_engine fab_route_engine_torus;
extern const struct fab_route_engine fab_route_engine_dragonfly;
extern const struct fab_route_engine fab_route_engine_dragonfly_plus;
extern const struct fab_route_engine fab_route_engine_file;
extern const struct fab_route_engine fab_route_engine_nue;
extern const struct fab_route_engine fab_route_engine_updn;
extern const struct fab_route_engine
    /* a variant of updn that accepts only trees; only the chain "auto" uses it */
    fab_route_engine_updn_on_tree;
extern const struct fab_route_engine fab_route_engine_minhop;
extern const struct fab_route_engine fab_route_engine_sssp;
extern const struct fab_route_engine fab_route_engine_dfsssp;

/* Checks that the engine may use at least `need` data VLs (fab_route_vls_available). Returns
 * UNSUPPORTED if it may not; why[] then names the port of the ISL with the fewest VLs. */
int fab_route_vls_check(const struct fab_route_input *in, unsigned need, char *why, size_t why_len);
/* Returns the number of VLs that an engine may use, but at most `most`. */
uint8_t fab_route_vls_up_to(const struct fab_route_input *in, uint8_t most);
/* Returns the number of VLs that an engine uses while no link is missing. The engine then needs
 * `need` VLs, and up to `more` further VLs if links are missing. It reserves as many of these
 * further VLs as the ISLs have, so that a missing link changes no SL-to-VL table. It reserves none
 * if there are several traffic classes. It also reserves none if `need` is 1 and the operator maps
 * SLs to VLs (qos.sl2vl), because this mapping is used only with one VL. */
uint8_t fab_route_vls_reserve(const struct fab_route_input *in, uint8_t need, uint8_t more);

#endif
