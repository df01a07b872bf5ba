/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles queries (IBA 15.4): Get, GetTable, GetMulti and GetTraceTable.
 *
 * A request becomes a record on the wire and a mask, which has the bits of the selected components.
 * The query makes records one after the other. The answer has each record that equals the one of
 * the request in all bits of the mask. The LID is not compared: the query looks up its port,
 * because a port can have several LIDs. Paths have their own rules (path.c).
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sa/kinds.h"

#define SA_CLASS_VERSION 2
#define COMPONENT_LID 1u
/* maximum size of a record struct in bytes */
#define STRUCT_MOST 256
/* Bit 31 of the AttributeModifier of PortInfoRecord (IBA 15.2.5.3). */
#define MATCH_CAP_MASK (1u << 31)

enum { OFF_METHOD = 3, OFF_STATUS = 4, OFF_ATTR_ID = 16, OFF_SM_KEY = 36, OFF_ATTR_OFFSET = 44 };

int fab_sa_request_read(const uint8_t *mad, size_t len, struct fab_sa_request *ret,
                        uint64_t *ret_sm_key)
{
    struct fab_mad head;
    struct fab_sa_header sa;
    const uint8_t *data;
    size_t data_len;
    if (len < FAB_MAD_SIZE)
        return FAB_E_TRUNCATED;
    int r = fab_wire_mad_unpack(mad, len, &head, &data, &data_len);
    if (r == FAB_OK && (head.mgmt_class != FAB_CLASS_SA || head.class_version != SA_CLASS_VERSION))
        r = FAB_E_FORMAT;
    if (r == FAB_OK && mad[FAB_RMPP_AT] > 1)
        r = FAB_E_FORMAT;
    if (r == FAB_OK)
        r = fab_wire_attr_unpack(&fab_wire_attr_sa_header, mad + FAB_SA_HEADER,
                                 FAB_SA_DATA - FAB_SA_HEADER, &sa);
    if (r != FAB_OK)
        return r;
    *ret = (struct fab_sa_request){.method = head.method,
                                   .attr_id = head.attr_id,
                                   .attr_mod = head.attr_mod,
                                   .comp_mask = sa.comp_mask,
                                   .from = FAB_NONE,
                                   .data = mad + FAB_SA_DATA};
    *ret_sm_key = sa.sm_key;
    return FAB_OK;
}

bool fab_sa_is_table(uint8_t method)
{
    return method == FAB_METHOD_GET_TABLE || method == FAB_METHOD_GET_MULTI ||
           method == FAB_METHOD_GET_TRACE_TABLE;
}

/* ---- start ----------------------------------------------------------------------------------- */

static void narrow_to_lid(struct fab_sa_query *q)
{
    const struct fab_lids *lids = &q->sa->view->target->lids;
    uint16_t lid = fab_base_get_be16(q->want);
    q->from_count = 0;
    if (lid <= lids->top && lids->owner[lid] != FAB_NONE) {
        q->own[0] = lids->owner[lid];
        q->from = q->own;
        q->from_count = 1;
    }
}

/* Changes q->mask for a request with MATCH_CAP_MASK: a port then matches if its capability masks
 * have at least the bits that are set in the masks of the request (IBA 15.2.5.3). */
static void match_cap_mask(struct fab_sa_query *q, const struct fab_sa_request *req)
{
    uint8_t bits[FAB_REC_MAX];
    uint64_t which = fab_wire_rec_component(q->rec, "CapabilityMask") |
                     fab_wire_rec_component(q->rec, "CapabilityMask2");
    if (q->rec != &fab_wire_port_info_record || (req->attr_mod & MATCH_CAP_MASK) == 0)
        return;
    fab_wire_rec_mask_bytes(q->rec, which & req->comp_mask, bits);
    for (size_t i = 0; i < q->rec->wire_size; i++)
        q->mask[i] = (uint8_t)((q->mask[i] & ~bits[i]) | (bits[i] & q->want[i]));
}

/* Replaces ToLID in a request for LinkRecords by the base LID of the port that has this LID.
 * Requests may have any LID of a port, but records have base LIDs. */
static void base_of_to_lid(struct fab_sa_query *q, uint64_t comp_mask)
{
    const struct fab_lids *lids = &q->sa->view->target->lids;
    if (q->rec != &fab_wire_link_record ||
        (comp_mask & fab_wire_rec_component(q->rec, "ToLID")) == 0)
        return;
    uint16_t lid = fab_base_get_be16(q->want + 4);
    if (lid <= lids->top && lids->owner[lid] != FAB_NONE)
        fab_base_put_be16(q->want + 4, (uint16_t)lids->base[lids->owner[lid]]);
}

static bool of_switch(const struct fab_sa_query *q)
{
    const struct fab_fabric *f = q->sa->view->fabric;
    return fab_fabric_node_is_switch(f, fab_fabric_port(f, q->from[0])->node);
}

static uint16_t begin_records(struct fab_sa_query *q, const struct fab_sa_request *req)
{
    uint64_t comp_mask = req->comp_mask;
    memcpy(q->want, req->data, q->rec->wire_size);
    if (q->kind->trusted && !q->trusted)
        return FAB_SA_REQ_INVALID;
    q->from = q->sa->endports;
    q->from_count = q->sa->endport_count;
    if (q->kind->lid_key && (comp_mask & COMPONENT_LID) != 0)
        narrow_to_lid(q);
    if (q->kind->lid_key)
        comp_mask &= ~(uint64_t)COMPONENT_LID;
    /* in an SLtoVLMappingTableRecord of an adapter, the two port numbers are reserved */
    if (q->rec == &fab_wire_sl2vl_record && q->from_count == 1 && !of_switch(q))
        comp_mask &= ~(fab_wire_rec_component(q->rec, "InputPortNum") |
                       fab_wire_rec_component(q->rec, "OutputPortNum"));
    base_of_to_lid(q, comp_mask);
    fab_wire_rec_mask_bytes(q->rec, comp_mask, q->mask);
    match_cap_mask(q, req);
    return 0;
}

/* Begins a query of a trace. The request must name both endports. Returns 0, or the status for the
 * answer. */
static uint16_t begin_trace(struct fab_sa_query *q, const struct fab_sa_request *req)
{
    uint16_t status = fab_sa_begin_path(q, req);
    if (status == 0 && (q->from != q->own || q->to != q->own + 1))
        status = FAB_SA_INSUFFICIENT_COMPONENTS;
    return status;
}

uint16_t fab_sa_begin(struct fab_sa *sa, const struct fab_sa_request *req, struct fab_sa_query *q)
{
    /* the function for this kind of query, which is called below, sets the members want, mask, path
     * and given */
    q->sa = sa;
    q->kind = NULL;
    q->method = req->method;
    q->trusted = req->trusted;
    q->asker = req->from;
    q->activity = req->activity;
    q->comp_mask = req->comp_mask;
    q->list = req->list;
    memset(q->at, 0, sizeof(q->at));
    q->from_count = q->to_count = 0;
    q->i = q->j = q->slid = q->dlid = q->found = 0;
    bool get = req->method == FAB_METHOD_GET || req->method == FAB_METHOD_GET_TABLE;
    bool path = req->attr_id == FAB_SA_PATH_RECORD;
    bool trace = req->method == FAB_METHOD_GET_TRACE_TABLE && path;
    bool multi = req->method == FAB_METHOD_GET_MULTI && req->attr_id == FAB_SA_MULTI_PATH_RECORD;
    if (get)
        q->kind = fab_sa_kind_of(req->attr_id);
    else if (trace || multi)
        q->kind = trace ? &fab_sa_kind_trace : &fab_sa_kind_path;
    if (q->kind == NULL)
        return FAB_SMP_BAD_ATTR;
    q->rec = q->kind->rec;
    if (trace)
        return begin_trace(q, req);
    if (multi)
        return fab_sa_begin_multi(q, req);
    return path ? fab_sa_begin_path(q, req) : begin_records(q, req);
}

/* ---- iteration ------------------------------------------------------------------------------- */

static bool matches(const struct fab_sa_query *q, const uint8_t *record)
{
    uint8_t differ = 0;
    for (size_t i = 0; i < q->rec->wire_size; i++)
        differ |= (uint8_t)((record[i] ^ q->want[i]) & q->mask[i]);
    return differ == 0;
}

static bool make_path(struct fab_sa_query *q, uint32_t k, uint8_t *record)
{
    struct fab_wire_path_record path;
    if (!q->kind->fill(q, q->from[q->i], k, &path))
        return false;
    fab_wire_path_record_pack(&path, record);
    return true;
}

static bool make_record(struct fab_sa_query *q, uint32_t k, uint8_t *record)
{
    _Alignas(8) uint8_t made[STRUCT_MOST];
    if (q->kind == &fab_sa_kind_path)
        return make_path(q, k, record);
    memset(made, 0, q->rec->struct_size);
    return q->kind->fill(q, q->from[q->i], k, made) &&
           fab_wire_rec_pack(q->rec, made, record, fab_wire_rec_stride(q->rec)) == FAB_OK &&
           (!q->kind->lid_key || matches(q, record));
}

static int next_of_source(struct fab_sa_query *q, uint32_t *budget, uint8_t *ret_record)
{
    _Alignas(8) uint8_t made[STRUCT_MOST];
    while (*budget > 0) {
        (*budget)--;
        memset(made, 0, q->rec->struct_size);
        if (!q->list->next(q->list->ctx, q, q->at, made))
            return FAB_E_NOT_FOUND;
        if (fab_wire_rec_pack(q->rec, made, ret_record, fab_wire_rec_stride(q->rec)) == FAB_OK &&
            (q->list->filters || matches(q, ret_record)))
            return FAB_OK;
    }
    return FAB_E_BUSY;
}

int fab_sa_next(struct fab_sa_query *q, uint32_t *budget, uint8_t *ret_record)
{
    if (q->list != NULL)
        return next_of_source(q, budget, ret_record);
    while (q->i < q->from_count) {
        if (q->j == 0)
            q->inner = fab_sa_may_see(q, q->from[q->i]) ? q->kind->count(q, q->from[q->i]) : 0;
        if (q->j >= q->inner) {
            q->i++;
            q->j = 0;
            continue;
        }
        if (*budget == 0)
            return FAB_E_BUSY;
        (*budget)--;
        if (make_record(q, q->j++, ret_record))
            return FAB_OK;
    }
    return FAB_E_NOT_FOUND;
}

/* ---- answers --------------------------------------------------------------------------------- */

void fab_sa_answer_header(const uint8_t request[FAB_MAD_SIZE], uint16_t status, uint16_t stride,
                          uint8_t answer[FAB_MAD_SIZE])
{
    uint8_t method = request[OFF_METHOD];
    uint8_t copy[FAB_SA_DATA];
    memcpy(copy, request, sizeof copy);
    /* an answer must not show the SM_Key (C15-0.1.5) */
    memset(copy + OFF_SM_KEY, 0, 8);
    fab_base_put_be16(copy + OFF_ATTR_OFFSET, stride / 8);
    if (method == FAB_METHOD_SET)
        method = FAB_METHOD_GET;
    copy[OFF_METHOD] = method | FAB_METHOD_RESPONSE;
    fab_base_put_be16(copy + OFF_STATUS, status);
    if (fab_base_get_be16(copy + OFF_ATTR_ID) == FAB_SA_MULTI_PATH_RECORD)
        /* the answer to MultiPathRecord consists of PathRecords (o15-0.2.7) */
        fab_base_put_be16(copy + OFF_ATTR_ID, FAB_SA_PATH_RECORD);
    memset(copy + FAB_RMPP_AT, 0, FAB_RMPP_DATA - FAB_RMPP_AT);
    copy[FAB_RMPP_AT] = fab_sa_is_table(request[OFF_METHOD]);
    memcpy(answer, copy, sizeof copy);
    memset(answer + sizeof copy, 0, FAB_MAD_SIZE - sizeof copy);
}

#define QP1_QKEY 0x80010000u
/* RespTimeValue 18: 4.096 us * 2^18 is about 1 s */
#define RESPONSE_TIME 18

static uint16_t class_port_info(uint8_t *data)
{
    static const struct fab_class_port_info info = {
        .base_version = 1,
        .class_version = SA_CLASS_VERSION,
        .cap_mask = FAB_SA_CAP_UD_MULTICAST | FAB_SA_CAP_MULTI_PATH | FAB_SA_CAP_CAP_MASK_MATCH,
        .cap_mask2 = FAB_SA_CAP2_MCAST_TOP | FAB_SA_CAP2_FULL_PORT_INFO | FAB_SA_CAP2_ALIAS_GUIDS |
                     FAB_SA_CAP2_EXTENDED_SPEEDS | FAB_SA_CAP2_CAP_MASK2_MATCH |
                     FAB_SA_CAP2_SEND_ONLY_FULL | FAB_SA_CAP2_WIDTH_2X | FAB_SA_CAP2_SPEED_HDR |
                     FAB_SA_CAP2_SPEED_NDR,
        .resp_time = RESPONSE_TIME,
        .redirect_qp = 1, /* the SA answers requests itself, and does not redirect them */
        .redirect_qkey = QP1_QKEY,
        .trap_qkey = QP1_QKEY,
    };
    (void)fab_wire_attr_pack(&fab_wire_attr_class_port_info, &info, data, FAB_SA_DATA_LEN);
    return 0;
}

/* Finds the record for a Get, and returns the status for the answer. The status is an error unless
 * exactly one record matches, as IBA demands (C15-0.1.30). */
static uint16_t get_record(struct fab_sa *sa, const struct fab_sa_request *req, uint32_t budget,
                           uint8_t *data)
{
    struct fab_sa_query q;
    uint8_t other[FAB_REC_MAX];
    uint16_t status = fab_sa_begin(sa, req, &q);
    if (status != 0)
        return status;
    int r = fab_sa_next(&q, &budget, data);
    if (r == FAB_E_NOT_FOUND)
        return FAB_SA_NO_RECORDS;
    if (r == FAB_OK)
        r = fab_sa_next(&q, &budget, other);
    return r == FAB_E_NOT_FOUND ? 0 : r == FAB_OK ? FAB_SA_TOO_MANY_RECORDS : FAB_SMP_BUSY;
}

uint16_t fab_sa_get(struct fab_sa *sa, const uint8_t request[FAB_MAD_SIZE],
                    const struct fab_sa_request *req, uint32_t budget, uint8_t answer[FAB_MAD_SIZE])
{
    uint8_t data[FAB_SA_DATA_LEN] = {0};
    uint16_t status = FAB_SMP_BAD_ATTR;
    if (req->method == FAB_METHOD_GET)
        status = req->attr_id == FAB_ATTR_CLASS_PORT_INFO ? class_port_info(data)
                                                          : get_record(sa, req, budget, data);
    uint8_t from_request[FAB_SA_DATA_LEN];
    memcpy(from_request, req->data, sizeof from_request);
    fab_sa_answer_header(request, status, 0, answer);
    memcpy(answer + FAB_SA_DATA, status == 0 ? data : from_request, FAB_SA_DATA_LEN);
    return status;
}
