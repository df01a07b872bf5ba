/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of engines. The first is what "auto" means. */
#include "libfabmgr/route/route.h"

#include <string.h>

#include "libfabmgr/route/engines.h"

static const struct fab_route_engine *const engines[] = {&fab_route_fattree, &fab_route_updn, NULL};

const struct fab_route_engine *const *fab_route_engines(void)
{
    return engines;
}

const struct fab_route_engine *fab_route_engine_by_name(const char *name)
{
    if (strcmp(name, "auto") == 0)
        return engines[1];
    for (size_t i = 0; engines[i] != NULL; i++) {
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    }
    return NULL;
}
