/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of planned links that are cabled correctly, and an estimate of the time for the
 * rest. */
#ifndef LIBFABMGR_CABLING_PROGRESS_H
#define LIBFABMGR_CABLING_PROGRESS_H

#include "libfabmgr/cabling/compare.h"

struct fab_cabling_progress {
    const char *rack; /* name of the rack; "": not known; borrowed from the plan */
    /* number of planned links, and number of those that are cabled correctly */
    uint32_t planned, correct;
};
/* Counts the planned links for each rack, and sorts the racks by name. A link counts for one rack
 * only: the rack of its port with the lower value of fab_cabling_precedence or, if both values are
 * equal, of its port with the lower id. The caller frees *ret. Returns OK or NOMEM. */
int fab_cabling_progress(const struct fab_cabling_check *c, struct fab_cabling_progress **ret,
                         size_t *ret_count);

/* The newest FAB_CABLING_SAMPLES samples. A sample is a time and the number of links that were
 * correct at this time. If all bytes are zero, there are no samples. */
#define FAB_CABLING_SAMPLES 120u
struct fab_cabling_estimate {
    uint64_t time_us[FAB_CABLING_SAMPLES];
    uint32_t correct[FAB_CABLING_SAMPLES];
    uint32_t count; /* number of samples that were ever added */
};
void fab_cabling_estimate_add(struct fab_cabling_estimate *e, uint64_t time_us, uint32_t correct);
/* Returns the number of links that are corrected per minute, on average over the stored samples.
 * Returns 0 if this number is not known yet, or if the number of correct links has not grown. */
double fab_cabling_estimate_rate(const struct fab_cabling_estimate *e);

#endif
