/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the proof of verify.h into steps, so that a background task can pause between them. The
 * steps run one after the other, possibly on different threads. The verdict is the same as that of
 * fab_verify.
 */
#ifndef LIBFABMGR_VERIFY_STEPS_H
#define LIBFABMGR_VERIFY_STEPS_H

#include "libfabmgr/verify/verify.h"

struct fab_verify_steps;
/* Begins a proof. Copies *in. The data to which *in points must stay valid and unchanged until
 * fab_verify_steps_free. Ignores in->pool. Returns NOMEM, or INVAL under the same conditions as
 * fab_verify. */
int fab_verify_steps_new(const struct fab_verify_input *in, struct fab_verify_steps **ret);
void fab_verify_steps_free(struct fab_verify_steps *s); /* s may be NULL */
/* Follows the paths to the next 256 LIDs. Returns true while LIDs are left. */
bool fab_verify_steps_next(struct fab_verify_steps *s);
/* Follows the paths to all remaining LIDs, and gives the verdict on all tables. The caller may call
 * this function only once. Returns OK if *ret is filled, or NOMEM. */
int fab_verify_steps_judge(struct fab_verify_steps *s, struct fab_verdict *ret);

#endif
