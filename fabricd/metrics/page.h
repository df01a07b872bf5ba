/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the page of metrics. For this folder only. */
#ifndef FABRICD_METRICS_PAGE_H
#define FABRICD_METRICS_PAGE_H

#include "fabricd/metrics/metrics.h"
#include "libfabmgr/base/text.h"

void metrics_page(const struct metrics_input *in, struct fab_text *to);

#endif
