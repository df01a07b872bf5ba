/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs and unpacks PathRecord (IBA 15.2.5.16) without the table of fields in tables_sa.c. The
 * hosts of a large fabric request millions of PathRecords, and the generic code, which uses the
 * table, takes three times as long. A test checks that both give the same results.
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/wire/sa.h"

static void get_gid(const uint8_t *p, uint64_t ret[2])
{
    ret[0] = fab_base_get_be64(p);
    ret[1] = fab_base_get_be64(p + 8);
}

static void put_gid(uint8_t *p, const uint64_t gid[2])
{
    fab_base_put_be64(p, gid[0]);
    fab_base_put_be64(p + 8, gid[1]);
}

/* Packs a selector (2 bits) and a value of MTU, rate or lifetime (6 bits) into one byte. */
static uint8_t selected(uint8_t selector, uint8_t value)
{
    return (uint8_t)(selector << 6 | (value & 63));
}

void fab_wire_path_record_unpack(const uint8_t bytes[FAB_PATH_RECORD_LEN],
                                 struct fab_wire_path_record *ret)
{
    const uint64_t service = fab_base_get_be64(bytes);
    const uint32_t flow = fab_base_get_be32(bytes + 44);
    const uint16_t qos = fab_base_get_be16(bytes + 52);
    *ret = (struct fab_wire_path_record){
        .service_msb = (uint8_t)(service >> 56),
        .service_lsb = service & ((UINT64_C(1) << 56) - 1),
        .dlid = fab_base_get_be16(bytes + 40),
        .slid = fab_base_get_be16(bytes + 42),
        .raw = (uint8_t)(flow >> 31),
        .flow_label = flow >> 8 & 0xfffff,
        .hop_limit = (uint8_t)flow,
        .tclass = bytes[48],
        .reversible = bytes[49] >> 7,
        .paths = bytes[49] & 127,
        .pkey = fab_base_get_be16(bytes + 50),
        .qos_class = qos >> 4,
        .sl = qos & 15,
        .mtu_selector = bytes[54] >> 6,
        .mtu = bytes[54] & 63,
        .rate_selector = bytes[55] >> 6,
        .rate = bytes[55] & 63,
        .life_selector = bytes[56] >> 6,
        .life = bytes[56] & 63,
        .preference = bytes[57],
    };
    get_gid(bytes + 8, ret->dgid);
    get_gid(bytes + 24, ret->sgid);
}

void fab_wire_path_record_pack(const struct fab_wire_path_record *r,
                               uint8_t ret[FAB_PATH_RECORD_LEN])
{
    uint32_t flow = (uint32_t)r->raw << 31 | (r->flow_label & 0xfffff) << 8 | r->hop_limit;
    fab_base_put_be64(ret, (uint64_t)r->service_msb << 56 | (r->service_lsb << 8 >> 8));
    put_gid(ret + 8, r->dgid);
    put_gid(ret + 24, r->sgid);
    fab_base_put_be16(ret + 40, r->dlid);
    fab_base_put_be16(ret + 42, r->slid);
    fab_base_put_be32(ret + 44, flow);
    ret[48] = r->tclass;
    ret[49] = (uint8_t)(r->reversible << 7 | (r->paths & 127));
    fab_base_put_be16(ret + 50, r->pkey);
    fab_base_put_be16(ret + 52, (uint16_t)(r->qos_class << 4 | (r->sl & 15)));
    ret[54] = selected(r->mtu_selector, r->mtu);
    ret[55] = selected(r->rate_selector, r->rate);
    ret[56] = selected(r->life_selector, r->life);
    ret[57] = r->preference;
    memset(ret + 58, 0, FAB_PATH_RECORD_LEN - 58);
}
