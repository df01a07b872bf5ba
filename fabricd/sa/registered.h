/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the attributes that hosts register: SubnAdmSet, SubnAdmDelete, and the records for
 * queries. For this folder only. */
#ifndef FABRICD_SA_REGISTERED_H
#define FABRICD_SA_REGISTERED_H

#include "fabricd/sa/private.h"

/* Carries out a Set or Delete. Returns the MAD status of the answer; if it is 0, ret_data has the
 * attribute of the answer. */
typedef uint16_t sa_change(struct sa *s, const struct fab_sa_request *req,
                           uint8_t ret_data[FAB_SA_DATA_LEN]);
/* Set and Delete of GUIDInfoRecord, which changes alias GUIDs (alias.c). */
sa_change sa_alias_set, sa_alias_delete;
/* Requests and queries for services (service.c) and subscriptions (inform.c). sa_inform_set reads
 * the queue pair of the subscriber from `mad`, and fills in ret_data even for an error status. */
sa_change sa_service_set, sa_service_delete;
bool sa_service_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
uint16_t sa_inform_set(struct sa *s, const struct transport_mad *mad,
                       const struct fab_sa_request *req, uint8_t ret_data[FAB_SA_DATA_LEN]);
bool sa_inform_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
/* Set and Delete of multicast members (member.c), and queries of multicast members and MFTs
 * (mft.c). ctx is the struct sa. */
sa_change sa_member_set, sa_member_delete;
bool sa_member_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
bool sa_mft_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);

/* Carries out a Set or Delete of any attribute, and answers the request (registered.c). */
void sa_registered_change(struct sa *s, const struct transport_mad *mad,
                          const struct fab_sa_request *req);
/* Returns the source of the records of an attribute, if the agent has these records itself. NULL:
 * libfabmgr/sa makes the records from the view. */
const struct fab_sa_source *sa_registered_list(const struct sa *s, uint16_t attr_id);
void sa_registered_init(struct sa *s);

#endif
