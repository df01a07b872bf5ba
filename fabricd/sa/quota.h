/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas of hosts (the settings in `quotas`). For this folder only. */
#ifndef FABRICD_SA_QUOTA_H
#define FABRICD_SA_QUOTA_H

#include "fabricd/sa/private.h"

int sa_quota_start(struct sa *s); /* returns OK or NOMEM */
void sa_quota_stop(struct sa *s);

/* Numbers of registrations of one kind. own: those of the requester. all: those of all ports; 0 if
 * the request adds nothing to this number, so that its quota does not apply. more: those that the
 * request would add. */
struct sa_quota_use {
    size_t own, all, more;
};
/* Returns true if the quotas permit the request. If not, counts and reports the refusal; the
 * caller then refuses the request. */
bool sa_quota_permits(struct sa *s, const struct fab_sa_request *req, enum fab_quota kind,
                      const struct sa_quota_use *use);
/* Returns true if one more GetTable response to the requester may begin, while `open` responses to
 * the same requester are in progress. If not, the caller answers BUSY. If a limit of the
 * requester's port is the reason, the function counts and reports the refusal. It does neither if
 * the reason is the limit for the responses to all ports together (kernel_all in quota.c). */
bool sa_quota_permits_transfer(struct sa *s, const struct fab_sa_request *req, uint32_t open);
/* Counts `len` bytes of a response that were passed to the kernel. host: what sa_quota_host
 * returned for the request. */
void sa_quota_sent(struct sa *s, uint32_t host, size_t len);
/* Returns the base LID of the port to which the source LID of the request belongs; 0: it belongs to
 * no port. */
uint32_t sa_quota_host(const struct sa *s, const struct fab_sa_request *req);
/* Returns true if the rate limit of the requester permits the request now. If not, counts and
 * reports the refusal; the caller then drops the request. */
bool sa_quota_admits(struct sa *s, const struct fab_sa_request *req);

#endif
