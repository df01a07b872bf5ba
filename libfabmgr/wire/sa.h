/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subnet administration (IBA chapter 15): the headers of its MADs, and its records as structs in
 * host byte order.
 *
 * A record consists of parts: a key, and in many records an attribute of subnet management in its
 * usual layout. Each part has a table of fields (struct fab_attr). These tables also define the
 * bits of the ComponentMask.
 */
#ifndef LIBFABMGR_WIRE_SA_H
#define LIBFABMGR_WIRE_SA_H

#include "libfabmgr/wire/gs.h"
#include "libfabmgr/wire/wire.h"

enum fab_sa_method {
    FAB_METHOD_GET_TABLE = 0x12,
    FAB_METHOD_GET_TRACE_TABLE = 0x13,
    FAB_METHOD_GET_MULTI = 0x14,
    FAB_METHOD_DELETE = 0x15,
};
enum fab_sa_attr_id {
    FAB_SA_NODE_RECORD = 0x0011,
    FAB_SA_PORT_INFO_RECORD = 0x0012,
    FAB_SA_SL2VL_RECORD = 0x0013,
    FAB_SA_SWITCH_INFO_RECORD = 0x0014,
    FAB_SA_LFT_RECORD = 0x0015,
    FAB_SA_RFT_RECORD = 0x0016,
    FAB_SA_MFT_RECORD = 0x0017,
    FAB_SA_SM_INFO_RECORD = 0x0018,
    FAB_SA_LINK_RECORD = 0x0020,
    FAB_SA_GUID_INFO_RECORD = 0x0030,
    FAB_SA_SERVICE_RECORD = 0x0031,
    FAB_SA_PKEY_TABLE_RECORD = 0x0033,
    FAB_SA_PATH_RECORD = 0x0035,
    FAB_SA_VLARB_RECORD = 0x0036,
    FAB_SA_MC_MEMBER_RECORD = 0x0038,
    FAB_SA_TRACE_RECORD = 0x0039,
    FAB_SA_MULTI_PATH_RECORD = 0x003a,
    FAB_SA_INFORM_INFO_RECORD = 0x00f3,
};
/* status of an SA answer, in the high byte of Status (IBA 15.2.2) */
enum fab_sa_status {
    FAB_SA_NO_RESOURCES = 0x0100,
    FAB_SA_REQ_INVALID = 0x0200,
    FAB_SA_NO_RECORDS = 0x0300,
    FAB_SA_TOO_MANY_RECORDS = 0x0400,
    FAB_SA_INVALID_GID = 0x0500,
    FAB_SA_INSUFFICIENT_COMPONENTS = 0x0600,
    FAB_SA_REQ_DENIED = 0x0700,
};
/* Bits of CapabilityMask and CapabilityMask2 in the ClassPortInfo of subnet administration (IBA
 * 15.2.4). */
#define FAB_SA_CAP_OPTIONAL_RECORDS 0x0100
#define FAB_SA_CAP_UD_MULTICAST 0x0200
#define FAB_SA_CAP_MULTI_PATH 0x0400
#define FAB_SA_CAP_CAP_MASK_MATCH 0x2000
#define FAB_SA_CAP2_MCAST_TOP 0x0008
#define FAB_SA_CAP2_ALIAS_GUIDS 0x0020
#define FAB_SA_CAP2_FULL_PORT_INFO 0x0040
#define FAB_SA_CAP2_EXTENDED_SPEEDS 0x0080
#define FAB_SA_CAP2_CAP_MASK2_MATCH 0x0400
#define FAB_SA_CAP2_SEND_ONLY_FULL 0x1000 /* JoinState SendOnlyFullMember is supported */
#define FAB_SA_CAP2_WIDTH_2X 0x2000       /* PathRecord has rates of 2x links */
#define FAB_SA_CAP2_SPEED_HDR 0x8000
#define FAB_SA_CAP2_SPEED_NDR 0x20000

/* ---- headers --------------------------------------------------------------------------------- */

/* Byte offsets in a MAD, and lengths. */
/* offset of the RMPP header, which follows the common header */
#define FAB_RMPP_AT 24
#define FAB_RMPP_DATA 36 /* start of the RMPP payload, which has FAB_RMPP_SEGMENT bytes */
#define FAB_RMPP_SEGMENT 220
/* offset of the SA header; each segment of a transfer repeats this header */
#define FAB_SA_HEADER 36
#define FAB_SA_DATA 56 /* start of the SA attribute, which has FAB_SA_DATA_LEN bytes */
#define FAB_SA_DATA_LEN 200

enum fab_rmpp_type { FAB_RMPP_DATA_TYPE = 1, FAB_RMPP_ACK, FAB_RMPP_STOP, FAB_RMPP_ABORT };
enum fab_rmpp_flag { FAB_RMPP_ACTIVE = 1, FAB_RMPP_FIRST = 2, FAB_RMPP_LAST = 4 };
/* RMPPStatus, which tells why a transfer ended (IBA 13.6.2.1) */
enum fab_rmpp_status {
    FAB_RMPP_OK = 0,
    FAB_RMPP_NO_RESOURCES = 1,
    FAB_RMPP_TOO_LONG = 118, /* the transfer took too long */
    FAB_RMPP_BAD_LENGTH = 119,
    FAB_RMPP_BAD_FIRST = 120,
    FAB_RMPP_BAD_TYPE = 121,
    FAB_RMPP_WINDOW_TOO_SMALL = 122,
    FAB_RMPP_SEGMENT_TOO_BIG = 123,
    FAB_RMPP_BAD_STATUS = 124,
    FAB_RMPP_BAD_VERSION = 125,
    FAB_RMPP_TOO_MANY_RETRIES = 126,
    FAB_RMPP_UNSPECIFIED = 127,
};
struct fab_rmpp { /* defined in IBA 13.6.2.1 */
    uint8_t version, type;
    /* RespTimeValue (5 bits): a value n means 4.096 us * 2^n; 31: no time is given */
    uint8_t resp_time;
    uint8_t flags, status;
    /* SegmentNumber; in an ACK, the number of the last segment that the sender of the ACK has
     * received */
    uint32_t segment;
    uint32_t length; /* PayloadLength; in an ACK, NewWindowLast */
};
struct fab_sa_header { /* defined in IBA 15.2.1.1 */
    uint64_t sm_key;
    /* AttributeOffset: distance between the beginnings of successive records, in units of 8
     * bytes */
    uint16_t attr_offset;
    uint64_t comp_mask;
};
extern const struct fab_attr fab_wire_attr_rmpp, fab_wire_attr_sa_header;

/* ---- records --------------------------------------------------------------------------------- */

struct fab_node_desc { /* defined in IBA 14.2.5.2 */
    uint8_t text[FAB_NODE_DESC_LEN];
};
struct fab_wire_node_record { /* defined in IBA 15.2.5.2 */
    uint16_t lid;
    struct fab_node_info info;
    struct fab_node_desc desc;
};
struct fab_wire_port_info_record { /* defined in IBA 15.2.5.3 */
    uint16_t lid;
    uint8_t port, options;
    struct fab_port_info info;
};
struct fab_wire_sl2vl_record { /* defined in IBA 15.2.5.4 */
    uint16_t lid;
    uint8_t in_port, out_port;
    struct fab_sl2vl table;
};
struct fab_wire_switch_info_record { /* defined in IBA 15.2.5.5 */
    uint16_t lid;
    struct fab_switch_info info;
};
struct fab_wire_lft_record { /* defined in IBA 15.2.5.6 */
    uint16_t lid, block;
    uint8_t port[64];
};
struct fab_wire_mft_record { /* defined in IBA 15.2.5.8 */
    uint16_t lid;
    /* number of the group of 16 ports (4 bits) */
    uint8_t position;
    /* number of the block of 32 MLIDs (9 bits) */
    uint16_t block;
    uint16_t mask[32];
};
struct fab_wire_vlarb_record { /* defined in IBA 15.2.5.9 */
    uint16_t lid;
    uint8_t port, block;
    struct fab_vlarb table;
};
struct fab_wire_sm_info_record { /* defined in IBA 15.2.5.10 */
    uint16_t lid;
    struct fab_sm_info info;
};
struct fab_wire_pkey_record { /* defined in IBA 15.2.5.11 */
    uint16_t lid, block;
    uint8_t port;
    struct fab_pkey_block table;
};
struct fab_inform_info { /* defined in IBA 13.4.8.3 */
    uint64_t gid[2];
    uint16_t lid_begin, lid_end;
    uint8_t generic, subscribe;
    /* type: notice type. trap: trap number; if the notice is not generic, the device id. */
    uint16_t type, trap;
    uint32_t qpn;
    uint8_t resp_time;
    /* producer type, 24 bits; if the notice is not generic, the vendor id */
    uint32_t producer;
};
struct fab_wire_inform_info_record { /* defined in IBA 15.2.5.12 */
    uint64_t subscriber_gid[2];
    uint16_t number;
    struct fab_inform_info info;
};
struct fab_wire_link_record { /* defined in IBA 15.2.5.13 */
    uint16_t from_lid;
    uint8_t from_port, to_port;
    uint16_t to_lid;
};
struct fab_wire_service_record { /* defined in IBA 15.2.5.14 */
    uint64_t id, gid[2];
    uint16_t pkey;
    /* ServiceLease in seconds; all bits 1: the service never expires */
    uint32_t lease;
    uint64_t key[2];
    uint8_t name[64];
    uint8_t data8[16];
    uint16_t data16[8];
    uint32_t data32[4];
    uint64_t data64[2];
};
struct fab_wire_path_record { /* defined in IBA 15.2.5.16 */
    uint8_t service_msb;
    uint64_t service_lsb; /* 56 bits */
    uint64_t dgid[2], sgid[2];
    uint16_t dlid, slid;
    uint8_t raw;
    uint32_t flow_label; /* 20 bits */
    uint8_t hop_limit, tclass, reversible, paths;
    uint16_t pkey, qos_class;
    uint8_t sl;
    /* each selector (enum fab_selector) has 2 bits; the values of MTU, rate and lifetime have 6
     * bits, in the encoding of IBA */
    uint8_t mtu_selector, mtu;
    uint8_t rate_selector, rate;
    uint8_t life_selector, life;
    uint8_t preference;
};
/* Selector of MTU, rate or lifetime in a request: how the values of paths are compared with the
 * requested value (IBA 15.2.5.16). */
enum fab_selector {
    FAB_SELECT_MORE = 0,
    FAB_SELECT_LESS = 1,
    FAB_SELECT_EXACTLY = 2,
    /* the request asks for the greatest MTU or rate that is available, or for the smallest
     * lifetime */
    FAB_SELECT_BEST = 3,
};
struct fab_wire_mc_member_record { /* defined in IBA 15.2.5.17 */
    uint64_t mgid[2], port_gid[2];
    uint32_t qkey;
    uint16_t mlid;
    uint8_t mtu_selector, mtu, tclass;
    uint16_t pkey;
    uint8_t rate_selector, rate, life_selector, life, sl;
    uint32_t flow_label;
    uint8_t hop_limit, scope, join_state, proxy_join;
};
struct fab_wire_guid_info_record { /* defined in IBA 15.2.5.18 */
    uint16_t lid;
    uint8_t block, reserved;
    struct fab_guid_block table;
};
struct fab_wire_trace_record { /* defined in IBA 15.2.5.19 */
    uint64_t gid_prefix;
    uint16_t generation;
    uint8_t node_type;
    uint64_t node, chassis, entry_guid, exit_guid;
    uint8_t entry_port, exit_port;
};
#define FAB_MULTI_PATH_GIDS 11      /* maximum number of GIDs in one MAD */
struct fab_wire_multi_path_record { /* defined in IBA 15.2.5.20 */
    uint8_t raw;
    uint32_t flow_label;
    uint8_t hop_limit, tclass, reversible, paths;
    uint16_t pkey, qos_class;
    uint8_t sl, mtu_selector, mtu, rate_selector, rate, life_selector, life;
    uint8_t service_msb, independence, sgids, dgids;
    uint64_t service_lsb;
    /* GIDs of the sources, then GIDs of the destinations */
    uint64_t gid[2 * FAB_MULTI_PATH_GIDS];
};

struct fab_part {
    const struct fab_attr *attr;
    /* offset of the part on the wire, in bytes from the start of the record */
    uint16_t at;
    /* offset of the part in the record's struct, in bytes */
    uint16_t member;
    /* true: the whole part is one component of the ComponentMask; false: each field of the part is
     * one component */
    bool whole;
};
struct fab_rec {
    const char *name;
    uint16_t id;
    /* size of the record on the wire, and size of its struct, in bytes */
    uint16_t wire_size, struct_size;
    const struct fab_part *parts;
    size_t part_count;
};
/* maximum size of a record on the wire, in bytes */
#define FAB_REC_MAX 200
extern const struct fab_rec fab_wire_node_record, fab_wire_port_info_record, fab_wire_sl2vl_record,
    fab_wire_switch_info_record, fab_wire_lft_record, fab_wire_mft_record, fab_wire_vlarb_record,
    fab_wire_sm_info_record, fab_wire_pkey_record, fab_wire_inform_info_record,
    fab_wire_link_record, fab_wire_service_record, fab_wire_path_record, fab_wire_mc_member_record,
    fab_wire_guid_info_record, fab_wire_trace_record, fab_wire_multi_path_record;
extern const struct fab_attr fab_wire_attr_inform_info;
#define FAB_RECS 17
/* descriptions of all records, in ascending order of their attribute ids */
extern const struct fab_rec *const fab_wire_recs[FAB_RECS];
/* Returns the description of the record with this attribute id; NULL if there is none. */
const struct fab_rec *fab_wire_rec_by_id(uint16_t attr_id);

/* fab_wire_rec_unpack and fab_wire_rec_pack do for a record what fab_wire_attr_unpack and
 * fab_wire_attr_pack do for an attribute, and return the same errors. */
int fab_wire_rec_unpack(const struct fab_rec *r, const uint8_t *bytes, size_t len,
                        void *ret_struct);
int fab_wire_rec_pack(const struct fab_rec *r, const void *from, uint8_t *bytes, size_t len);
#define FAB_PATH_RECORD_LEN 64
/* These two functions unpack and pack a PathRecord faster than fab_wire_rec_unpack and
 * fab_wire_rec_pack. The pack function drops the high bits of a value that does not fit its
 * field. */
void fab_wire_path_record_unpack(const uint8_t bytes[FAB_PATH_RECORD_LEN],
                                 struct fab_wire_path_record *ret);
void fab_wire_path_record_pack(const struct fab_wire_path_record *r,
                               uint8_t ret[FAB_PATH_RECORD_LEN]);
/* Returns the distance in bytes between the beginnings of two successive records in a response. It
 * is a multiple of 8, because AttributeOffset counts in units of 8 bytes (15.2.1.1). */
static inline uint16_t fab_wire_rec_stride(const struct fab_rec *r)
{
    return (uint16_t)((r->wire_size + 7u) & ~7u);
}

/* Returns a ComponentMask with the bit of the field called `field`; 0 if there is no such
 * component. Components (15.2.1.2) are the fields in wire order and the gaps between them. For an
 * array in which each element is a component, the mask has the bits of all elements. */
uint64_t fab_wire_rec_component(const struct fab_rec *r, const char *field);
/* Writes a mask of r->wire_size bytes for the record on the wire: the bits of the components in
 * `comp_mask` are set, all others are clear. For a reserved component, no bits are set. Two records
 * agree in the selected components if they agree in all bits that are set in the mask. */
void fab_wire_rec_mask_bytes(const struct fab_rec *r, uint64_t comp_mask, uint8_t *ret_bytes);
/* Writes a mask for the record's struct: all bits of the members in `comp_mask` are set, all others
 * are clear. */
void fab_wire_rec_mask_struct(const struct fab_rec *r, uint64_t comp_mask, void *ret_struct);

#endif
