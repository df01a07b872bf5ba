/* SPDX-License-Identifier: BSD-3-Clause */
/* Not for other rooms: the page itself. */
#ifndef FABRICD_METRICS_PAGE_H
#define FABRICD_METRICS_PAGE_H

#include "fabricd/cc/cc.h"
#include "fabricd/loop/loop.h"
#include "fabricd/pm/pm.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/base/text.h"

/* v may be NULL: nothing is published yet. census: of its fabric. */
void metrics_page(const struct sm_status *s, const struct sm_multicast_status *multicast,
                  const struct loop_iterations *turns, const struct fab_view *v,
                  const struct fab_census *census, const struct pm *pm, const struct cc *cc,
                  const struct sa *sa, struct fab_text *to);

#endif
