/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of engines, and chains of engines. The chain "auto" tries engines in this order:
 *
 *   - engines that recognise a topology, because they make the best tables and report what they
 *     recognised;
 *   - updn, if the topology has ranks, even if it is irregular; updn needs one VL, and a fault
 *     changes few entries of its tables;
 *   - dfsssp, if the ports have the VLs that it needs;
 *   - minhop, whose shortest paths differ from those of dfsssp; in some fabrics they need only one
 *     VL;
 *   - nue, which accepts every topology.
 */
#include "libfabmgr/route/route.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines/engines.h"

static const struct fab_route_engine *const engines[] = {
    &fab_route_engine_fattree,   &fab_route_engine_updn,
    &fab_route_engine_nue,       &fab_route_engine_minhop,
    &fab_route_engine_sssp,      &fab_route_engine_dfsssp,
    &fab_route_engine_dor,       &fab_route_engine_torus,
    &fab_route_engine_dragonfly, &fab_route_engine_dragonfly_plus,
    &fab_route_engine_file,      NULL,
};
static const struct fab_route_engine *const automatic[] = {
    &fab_route_engine_fattree,
    &fab_route_engine_dor,
    &fab_route_engine_torus,
    &fab_route_engine_dragonfly,
    &fab_route_engine_dragonfly_plus,
    &fab_route_engine_updn_on_tree,
    &fab_route_engine_dfsssp,
    &fab_route_engine_minhop,
    &fab_route_engine_nue,
};
#define AUTOMATIC (sizeof(automatic) / sizeof(*automatic))
_Static_assert(AUTOMATIC <= FAB_ROUTE_CHAIN_MAX, "the automatic chain must fit");

const struct fab_route_engine *const *fab_route_engines(void)
{
    return engines;
}

const struct fab_route_engine *fab_route_engine_by_name(const char *name)
{
    if (strcmp(name, "auto") == 0)
        return automatic[AUTOMATIC - 1];
    for (size_t i = 0; engines[i] != NULL; i++) {
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    }
    return NULL;
}

static int add_name(struct fab_route_chain *chain, const char *name, size_t len, char *why,
                    size_t why_len)
{
    if (chain->count == FAB_ROUTE_CHAIN_MAX)
        return FAB_E_LIMIT;
    for (size_t i = 0; engines[i] != NULL; i++) {
        if (strncmp(engines[i]->name, name, len) != 0 || engines[i]->name[len] != '\0')
            continue;
        chain->engine[chain->count++] = engines[i];
        return FAB_OK;
    }
    snprintf(why, why_len, "%.*s", (int)(len < 64 ? len : 64), name);
    return FAB_E_NOT_FOUND;
}

int fab_route_chain_parse(const char *text, struct fab_route_chain *ret, char *why, size_t why_len)
{
    struct fab_route_chain chain = {.count = 0};
    int status = FAB_OK;
    if (strcmp(text, "auto") == 0) {
        for (; chain.count < AUTOMATIC; chain.count++)
            chain.engine[chain.count] = automatic[chain.count];
        chain.automatic = true;
        *ret = chain;
        return FAB_OK;
    }
    for (const char *name = text; status == FAB_OK;) {
        name += strspn(name, " ");
        size_t len = strcspn(name, ","), trimmed = len;
        while (trimmed > 0 && name[trimmed - 1] == ' ')
            trimmed--;
        status = add_name(&chain, name, trimmed, why, why_len);
        name += len;
        if (*name != ',')
            break;
        name++;
    }
    if (status == FAB_OK)
        *ret = chain;
    return status;
}
