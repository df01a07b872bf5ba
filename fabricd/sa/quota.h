/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas of hosts (the settings below quotas). For this folder only. */
#ifndef FABRICD_SA_QUOTA_H
#define FABRICD_SA_QUOTA_H

#include "fabricd/sa/private.h"

int sa_quota_start(struct sa *s); /* NOMEM */
void sa_quota_stop(struct sa *s);

/* Registrations of one kind: those of the requester (own), those of all ports (all), and those that
 * the request would add (more). */
struct sa_quota_use {
    size_t own, all, more;
};
/* Returns whether the request stays within the quotas. If not, counts and reports the refusal, and
 * the caller refuses the request. */
bool sa_quota_permits(struct sa *s, const struct fab_sa_request *req, enum fab_quota kind,
                      const struct sa_quota_use *use);
/* Returns whether one more GetTable response to the requester may begin, besides the `open` ones in
 * progress. If not, counts and reports the refusal, and the caller answers with BUSY. */
bool sa_quota_permits_transfer(struct sa *s, const struct fab_sa_request *req, uint32_t open);
/* Counts `len` bytes of a response that were passed to the kernel. host: as in struct sa_job. */
void sa_quota_sent(struct sa *s, uint32_t host, size_t len);
/* Returns the base LID of the requesting port; 0: no port has its LID. */
uint32_t sa_quota_host(const struct sa *s, const struct fab_sa_request *req);
/* Returns whether the rate limit permits one more request of the requester now. If not, counts and
 * reports the request, and the caller drops it. */
bool sa_quota_admits(struct sa *s, const struct fab_sa_request *req);

#endif
