/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of attributes that hosts may register or list, with the functions for Set, Delete and
 * queries. A Set of InformInfo (sa_inform_set) is not in the table. Any other Set or Delete without
 * a function in the table is refused with the MAD status for an unsupported attribute.
 */
#include "fabricd/sa/registry.h"

#include <string.h>

#include "libfabmgr/base/status.h"

static const struct kind {
    uint16_t attr_id;
    sa_change *set, *delete;
    bool (*next)(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
    bool judges;
} kinds[SA_LISTS] = {
    {FAB_SA_SERVICE_RECORD, sa_service_set, sa_service_delete, sa_service_next, true},
    {FAB_SA_INFORM_INFO_RECORD, NULL, NULL, sa_inform_next, false},
    {FAB_SA_MC_MEMBER_RECORD, sa_member_set, sa_member_delete, sa_member_next, true},
    {FAB_SA_GUID_INFO_RECORD, sa_alias_set, sa_alias_delete, NULL, false},
    {FAB_SA_MFT_RECORD, NULL, NULL, sa_mft_next, false},
};

void sa_registered_init(struct sa *s)
{
    for (size_t i = 0; i < SA_LISTS; i++)
        s->list[i] = (struct fab_sa_source){s, kinds[i].next, kinds[i].judges};
}

const struct fab_sa_source *sa_registered_list(const struct sa *s, uint16_t attr_id)
{
    for (size_t i = 0; i < SA_LISTS; i++)
        if (kinds[i].attr_id == attr_id && kinds[i].next != NULL)
            return &s->list[i];
    return NULL;
}

static sa_change *change_of(const struct fab_sa_request *req)
{
    for (size_t i = 0; i < SA_LISTS; i++)
        if (kinds[i].attr_id == req->attr_id)
            return req->method == FAB_METHOD_SET ? kinds[i].set : kinds[i].delete;
    return NULL;
}

void sa_registered_change(struct sa *s, const struct transport_mad *mad,
                          const struct fab_sa_request *req)
{
    uint8_t answer[FAB_MAD_SIZE], data[FAB_SA_DATA_LEN] = {0};
    bool informs = req->attr_id == FAB_ATTR_INFORM_INFO && req->method == FAB_METHOD_SET;
    sa_change *change = change_of(req);
    uint16_t status = FAB_SMP_BAD_ATTR;
    if ((informs || change) && sa_keep_ready(s, mad) != FAB_OK)
        status = FAB_SMP_BUSY;
    else if (informs)
        status = sa_inform_set(s, mad, req, data);
    else if (change)
        status = change(s, req, data);
    if (status != 0 && !(informs && status != FAB_SMP_BUSY)) {
        sa_refuse(s, mad, status);
        return;
    }
    fab_sa_answer_header(mad->bytes, status, 0, answer);
    memcpy(answer + FAB_SA_DATA, data, sizeof(data));
    s->stats.answered++;
    s->stats.refused += status != 0;
    sa_keep_answer(s, mad, answer);
}
