/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hosts register: SubnAdmSet and SubnAdmDelete by attribute, and the lists that queries are
 * answered from. For the files of this room only.
 */
#ifndef FABRICD_SA_REGISTERED_H
#define FABRICD_SA_REGISTERED_H

#include "fabricd/sa/private.h"

/* Returns the status of the answer, and fills in its attribute if that is 0. */
typedef uint16_t sa_change(struct sa *s, const struct fab_sa_request *req,
                           uint8_t ret_data[FAB_SA_DATA_LEN]);
/* Alias GUIDs (alias.c). */
sa_change sa_alias_set, sa_alias_delete;
/* Services (service.c) and subscriptions (inform.c). An InformInfo answer has the attribute also
 * if it is an error, and it needs the MAD's source address. */
sa_change sa_service_set, sa_service_delete;
bool sa_service_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
uint16_t sa_inform_set(struct sa *s, const struct transport_mad *mad,
                       const struct fab_sa_request *req, uint8_t ret_data[FAB_SA_DATA_LEN]);
bool sa_inform_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
/* Multicast members (member.c) and multicast forwarding tables (mft.c); ctx is the struct sa. */
sa_change sa_member_set, sa_member_delete;
bool sa_member_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
bool sa_mft_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);

/* registered.c: carries out and answers a Set or Delete. */
void sa_registered_change(struct sa *s, const struct transport_mad *mad,
                          const struct fab_sa_request *req);
/* NULL: the records of this attribute are derived from the view. */
const struct fab_sa_source *sa_registered_list(const struct sa *s, uint16_t attr_id);
void sa_registered_init(struct sa *s);

#endif
