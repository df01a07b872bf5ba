/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of MADs: the common header (IBA 13.4.3), and the headers of LID-routed SMPs
 * (14.2.1.1) and directed-route SMPs (14.2.1.2). The layout of an SMP, in bytes:
 *
 *      0  base version, class, class version, method
 *      4  status; in directed-route SMPs its highest bit is the D bit
 *      6  hop pointer, hop count (directed only)
 *      8  transaction id (8)      16  attribute id (2), reserved (2)      20  modifier (4)
 *     24  M_Key (8)               32  DrSLID (2), DrDLID (2) (directed only), reserved (28)
 *     64  attribute (64)         128  initial path (64)                  192  return path (64)
 *
 * Entry 0 of both paths is reserved.
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/wire.h"

enum {
    OFF_CLASS = 1,
    OFF_CLASS_VERSION = 2,
    OFF_METHOD = 3,
    OFF_STATUS = 4,
    OFF_HOP_POINTER = 6,
    OFF_HOP_COUNT = 7,
    OFF_TID = 8,
    OFF_ATTR_ID = 16,
    OFF_ATTR_MOD = 20,
    COMMON_HEADER = 24,
    OFF_M_KEY = 24,
    OFF_DR_SLID = 32,
    OFF_DR_DLID = 34,
    OFF_DATA = 64,
    OFF_INITIAL_PATH = 128,
};
#define BASE_VERSION 1
#define SMP_CLASS_VERSION 1
#define DIRECTION_BIT 0x8000

static bool is_smp(uint8_t mgmt_class)
{
    return mgmt_class == FAB_CLASS_SMP_LID || mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

static uint8_t usual_version(uint8_t mgmt_class)
{
    return mgmt_class == FAB_CLASS_SA || mgmt_class == FAB_CLASS_CC ? 2 : 1;
}

static uint16_t or_permissive(uint16_t lid)
{
    return lid != 0 ? lid : FAB_LID_PERMISSIVE;
}

static void pack_directed(const struct fab_mad *mad, uint8_t *bytes)
{
    if (mad->returning)
        bytes[OFF_STATUS] |= DIRECTION_BIT >> 8;
    bytes[OFF_HOP_POINTER] = mad->hop_pointer;
    bytes[OFF_HOP_COUNT] = mad->path.hops;
    fab_base_put_be16(bytes + OFF_DR_SLID, or_permissive(mad->dr_slid));
    fab_base_put_be16(bytes + OFF_DR_DLID, or_permissive(mad->dr_dlid));
    memcpy(bytes + OFF_INITIAL_PATH + 1, mad->path.port + 1, mad->path.hops);
}

static void pack_common(const struct fab_mad *mad, uint16_t status, uint8_t *bytes)
{
    bytes[0] = BASE_VERSION;
    bytes[OFF_CLASS] = mad->mgmt_class;
    bytes[OFF_CLASS_VERSION] =
        mad->class_version != 0 ? mad->class_version : usual_version(mad->mgmt_class);
    bytes[OFF_METHOD] = mad->method;
    fab_base_put_be16(bytes + OFF_STATUS, status);
    fab_base_put_be64(bytes + OFF_TID, mad->tid);
    fab_base_put_be16(bytes + OFF_ATTR_ID, mad->attr_id);
    fab_base_put_be32(bytes + OFF_ATTR_MOD, mad->attr_mod);
}

int fab_wire_smp_pack(const struct fab_mad *mad, const uint8_t *data, uint8_t bytes[FAB_MAD_SIZE])
{
    bool directed = mad->mgmt_class == FAB_CLASS_SMP_DIRECTED;
    if (!is_smp(mad->mgmt_class) || (directed && mad->path.hops > FAB_MAX_HOPS))
        return FAB_E_INVAL;
    memset(bytes, 0, FAB_MAD_SIZE);
    pack_common(mad, directed ? mad->status & FAB_SMP_STATUS_MASK : mad->status, bytes);
    fab_base_put_be64(bytes + OFF_M_KEY, mad->m_key);
    if (data != NULL)
        memcpy(bytes + OFF_DATA, data, FAB_SMP_DATA);
    if (directed)
        pack_directed(mad, bytes);
    return FAB_OK;
}

int fab_wire_gmp_pack(const struct fab_mad *mad, const uint8_t *data, size_t len,
                      uint8_t bytes[FAB_MAD_SIZE])
{
    if (is_smp(mad->mgmt_class) || len > FAB_GMP_DATA)
        return FAB_E_INVAL;
    memset(bytes, 0, FAB_MAD_SIZE);
    pack_common(mad, mad->status, bytes);
    if (len > 0)
        memcpy(bytes + COMMON_HEADER, data, len);
    return FAB_OK;
}

/* Returns the method of the response to a request; 0: the method has no response. */
static uint8_t answer_method(uint8_t method)
{
    switch (method) {
    case FAB_METHOD_GET:
    case FAB_METHOD_SET:
        return FAB_METHOD_GET_RESP;
    case FAB_METHOD_TRAP:
        return FAB_METHOD_TRAP_REPRESS;
    case FAB_METHOD_REPORT:
        return FAB_METHOD_REPORT_RESP;
    default:
        return 0;
    }
}

int fab_wire_smp_answer(const uint8_t request[FAB_MAD_SIZE], uint16_t status, const uint8_t *data,
                        uint8_t answer[FAB_MAD_SIZE])
{
    uint8_t method = answer_method(request[OFF_METHOD]);
    bool directed = request[OFF_CLASS] == FAB_CLASS_SMP_DIRECTED;
    if (method == 0 || !is_smp(request[OFF_CLASS]))
        return FAB_E_INVAL;
    memmove(answer, request, FAB_MAD_SIZE);
    answer[OFF_METHOD] = method;
    status &= FAB_SMP_STATUS_MASK;
    fab_base_put_be16(answer + OFF_STATUS, directed ? status | DIRECTION_BIT : status);
    if (data != NULL)
        memcpy(answer + OFF_DATA, data, FAB_SMP_DATA);
    return FAB_OK;
}

static int unpack_directed(const uint8_t *bytes, struct fab_mad *mad)
{
    uint8_t hops = bytes[OFF_HOP_COUNT];
    if (hops > FAB_MAX_HOPS || bytes[OFF_HOP_POINTER] > hops + 1)
        return FAB_E_FORMAT;
    mad->directed = true;
    mad->returning = (mad->status & DIRECTION_BIT) != 0;
    mad->status &= FAB_SMP_STATUS_MASK;
    mad->hop_pointer = bytes[OFF_HOP_POINTER];
    mad->dr_slid = fab_base_get_be16(bytes + OFF_DR_SLID);
    mad->dr_dlid = fab_base_get_be16(bytes + OFF_DR_DLID);
    mad->path.hops = hops;
    memcpy(mad->path.port + 1, bytes + OFF_INITIAL_PATH + 1, hops);
    return FAB_OK;
}

static int unpack_smp(const uint8_t *bytes, size_t len, struct fab_mad *mad)
{
    if (len < FAB_MAD_SIZE)
        return FAB_E_TRUNCATED;
    if (mad->class_version != SMP_CLASS_VERSION)
        return FAB_E_FORMAT;
    mad->m_key = fab_base_get_be64(bytes + OFF_M_KEY);
    return mad->mgmt_class == FAB_CLASS_SMP_DIRECTED ? unpack_directed(bytes, mad) : FAB_OK;
}

int fab_wire_mad_unpack(const uint8_t *bytes, size_t len, struct fab_mad *ret_mad,
                        const uint8_t **ret_data, size_t *ret_data_len)
{
    if (len < COMMON_HEADER)
        return FAB_E_TRUNCATED;
    if (bytes[0] != BASE_VERSION || bytes[OFF_CLASS_VERSION] == 0)
        return FAB_E_FORMAT;
    struct fab_mad mad = {
        .mgmt_class = bytes[OFF_CLASS],
        .class_version = bytes[OFF_CLASS_VERSION],
        .method = bytes[OFF_METHOD],
        .status = fab_base_get_be16(bytes + OFF_STATUS),
        .tid = fab_base_get_be64(bytes + OFF_TID),
        .attr_id = fab_base_get_be16(bytes + OFF_ATTR_ID),
        .attr_mod = fab_base_get_be32(bytes + OFF_ATTR_MOD),
    };
    bool smp = is_smp(mad.mgmt_class);
    int status = smp ? unpack_smp(bytes, len, &mad) : FAB_OK;
    if (status != FAB_OK)
        return status;
    *ret_mad = mad;
    *ret_data = bytes + (smp ? OFF_DATA : COMMON_HEADER);
    *ret_data_len = smp ? FAB_SMP_DATA : len - COMMON_HEADER;
    return FAB_OK;
}
