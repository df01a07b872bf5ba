/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas of hosts (the settings below quotas). For this folder only. */
#ifndef FABRICD_SA_QUOTA_H
#define FABRICD_SA_QUOTA_H

#include "fabricd/sa/private.h"

int sa_quota_start(struct sa *s); /* NOMEM */
void sa_quota_stop(struct sa *s);

/* What the requester and all ports have of a kind, and how many more the request adds. */
struct sa_quota_use {
    size_t own, all, more;
};
/* Whether the request stays within the quotas. If not, the refusal is counted and reported. */
bool sa_quota_permits(struct sa *s, const struct fab_sa_request *req, enum fab_quota kind,
                      const struct sa_quota_use *use);
/* Whether the requester may have one more response of many records, besides `open` ones. If not,
 * the request must be answered with BUSY; that is counted and reported. */
bool sa_quota_permits_transfer(struct sa *s, const struct fab_sa_request *req, uint32_t open);
/* Counts a response that the kernel got. host: as in struct sa_job. */
void sa_quota_sent(struct sa *s, uint32_t host, size_t len);
/* Returns the base LID of the requesting port; 0: no port has its LID. */
uint32_t sa_quota_host(const struct sa *s, const struct fab_sa_request *req);
/* Whether the requester may send one more request now. If not, the request must be dropped; that is
 * counted and reported. */
bool sa_quota_admits(struct sa *s, const struct fab_sa_request *req);

#endif
