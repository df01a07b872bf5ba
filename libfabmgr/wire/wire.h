/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Management datagrams (MADs) and their attributes. The functions convert between bytes and structs
 * in host byte order (IBA volume 1, release 1.4 and later, chapters 13 to 16).
 *
 * Each attribute has one table of fields (struct fab_attr). The functions use this table to pack,
 * unpack, print and compare the attribute, and for the ComponentMask of subnet administration. The
 * functions check lengths before they read bytes, and never cast a buffer to a struct.
 */
#ifndef LIBFABMGR_WIRE_WIRE_H
#define LIBFABMGR_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_MAD_SIZE 256
#define FAB_SMP_DATA 64 /* size in bytes of the attribute in an SMP */
#define FAB_NODE_DESC_LEN 64
/* maximum length of a directed route (IBA 14.2.2) */
#define FAB_MAX_HOPS 63

/* ---- constants of the standard --------------------------------------------------------------- */

enum fab_mgmt_class {
    FAB_CLASS_SMP_LID = 0x01,
    FAB_CLASS_SA = 0x03,
    FAB_CLASS_PERF = 0x04,
    FAB_CLASS_VENDOR = 0x0a, /* vendor class of Mellanox (vendor.h) */
    FAB_CLASS_CC = 0x21,
    FAB_CLASS_SMP_DIRECTED = 0x81,
};
enum fab_method {
    FAB_METHOD_GET = 0x01,
    FAB_METHOD_SET = 0x02,
    FAB_METHOD_SEND = 0x03,
    FAB_METHOD_TRAP = 0x05,
    FAB_METHOD_REPORT = 0x06,
    FAB_METHOD_TRAP_REPRESS = 0x07,
    FAB_METHOD_GET_RESP = 0x81,
    FAB_METHOD_REPORT_RESP = 0x86,
    /* bit of the method field that is set in responses */
    FAB_METHOD_RESPONSE = 0x80,
};
enum fab_attr_id {
    FAB_ATTR_CLASS_PORT_INFO = 0x0001,
    FAB_ATTR_NOTICE = 0x0002,
    FAB_ATTR_INFORM_INFO = 0x0003,
    FAB_ATTR_NODE_DESC = 0x0010,
    FAB_ATTR_NODE_INFO = 0x0011,
    FAB_ATTR_SWITCH_INFO = 0x0012,
    FAB_ATTR_GUID_INFO = 0x0014,
    FAB_ATTR_PORT_INFO = 0x0015,
    FAB_ATTR_PKEY_TABLE = 0x0016,
    FAB_ATTR_SL2VL = 0x0017,
    FAB_ATTR_VLARB = 0x0018,
    FAB_ATTR_LFT = 0x0019,
    FAB_ATTR_RFT = 0x001a,
    FAB_ATTR_MFT = 0x001b,
    FAB_ATTR_SM_INFO = 0x0020,
    FAB_ATTR_VENDOR_DIAG = 0x0030,
    FAB_ATTR_LED_INFO = 0x0031,
    FAB_ATTR_MLNX_EXT_PORT_INFO = 0xff90,
};
enum fab_node_type { FAB_NODE_CA = 1, FAB_NODE_SWITCH = 2, FAB_NODE_ROUTER = 3 };
enum fab_port_state {
    FAB_STATE_NOP = 0,
    FAB_STATE_DOWN = 1,
    FAB_STATE_INIT = 2,
    FAB_STATE_ARMED = 3,
    FAB_STATE_ACTIVE = 4,
};
enum fab_phys_state {
    FAB_PHYS_NOP = 0,
    FAB_PHYS_SLEEP = 1,
    FAB_PHYS_POLLING = 2,
    FAB_PHYS_DISABLED = 3,
    FAB_PHYS_TRAINING = 4,
    FAB_PHYS_LINKUP = 5,
    FAB_PHYS_RECOVERY = 6,
    FAB_PHYS_TEST = 7,
};
/* Status of a MAD (IBA 13.4.7). Bit 0 means busy. Bits 2-4 tell which field of the request is
 * invalid. */
enum fab_smp_status {
    FAB_SMP_BUSY = 0x0001,
    FAB_SMP_BAD_VERSION = 0x0004,
    FAB_SMP_BAD_METHOD = 0x0008,
    FAB_SMP_BAD_ATTR = 0x000c,
    FAB_SMP_BAD_VALUE = 0x001c,
};
#define FAB_LID_PERMISSIVE 0xffff
/* The bits of Status without the D bit of directed-route SMPs (IBA 14.2.1.2). */
#define FAB_SMP_STATUS_MASK 0x7fff

/* ---- MADs ------------------------------------------------------------------------------------ */

/* A directed route: port[1] to port[hops] are the numbers of the output ports along the route. If
 * hops is 0, the route ends at the local node. */
struct fab_path {
    uint8_t hops;
    uint8_t port[FAB_MAX_HOPS + 1];
};

/* The common header of a MAD and, for SMPs, the further header fields (IBA 13.4.3, 14.2.1). */
struct fab_mad {
    uint8_t mgmt_class, class_version, method;
    uint16_t status;
    uint64_t tid;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t m_key; /* only in SMPs */
    /* `directed` is true for a directed-route SMP (class 0x81), and `returning` if its D bit is
     * set, that is, if the SMP is a response. */
    bool directed, returning;
    uint8_t hop_pointer;
    /* the initial path of a directed-route SMP (class 0x81); responses have it, too */
    struct fab_path path;
    uint16_t dr_slid, dr_dlid;
};
/* Writes a whole SMP of 256 bytes. `data` has FAB_SMP_DATA bytes; NULL means zeros. A class_version
 * of 0 is written as 1. In a directed-route SMP, a dr_slid or dr_dlid of 0 is written as 0xffff
 * (the permissive LID). The return path is zero, because the nodes on the route fill it. Returns
 * INVAL if there are more than 63 hops, or if the class is not an SMP class. */
int fab_wire_smp_pack(const struct fab_mad *mad, const uint8_t *data, uint8_t bytes[FAB_MAD_SIZE]);
#define FAB_GMP_DATA 232
/* Writes a whole GMP of 256 bytes: the common header, at most FAB_GMP_DATA bytes of data (including
 * class headers), and zeros. A class_version of 0 is written as 2 for subnet administration and
 * congestion control, and as 1 for other classes. Returns INVAL if there is too much data, or if
 * the class is an SMP class. */
int fab_wire_gmp_pack(const struct fab_mad *mad, const uint8_t *data, size_t len,
                      uint8_t bytes[FAB_MAD_SIZE]);
/* Writes the response to a received SMP. The request determines the method of the response (Get and
 * Set: GetResp; Trap: TrapRepress; Report: ReportResp). In a directed-route SMP, both paths stay
 * unchanged, because the SMI sends the response back along them. `data` has FAB_SMP_DATA bytes;
 * NULL: the response repeats the data of the request. `request` and `answer` may be the same
 * memory. Returns INVAL if `request` is not an SMP, or has a method without a response. */
int fab_wire_smp_answer(const uint8_t request[FAB_MAD_SIZE], uint16_t status, const uint8_t *data,
                        uint8_t answer[FAB_MAD_SIZE]);
/* Reads the header of a MAD. Sets *ret_data to a place in `bytes`: in an SMP to the 64 bytes of the
 * attribute, otherwise to the bytes after the common header. Returns TRUNCATED if `len` is too
 * small, or FORMAT if the base version is unknown, the class version is 0 or (in an SMP) not 1, or
 * the hop count or hop pointer is out of range. */
int fab_wire_mad_unpack(const uint8_t *bytes, size_t len, struct fab_mad *ret_mad,
                        const uint8_t **ret_data, size_t *ret_data_len);

/* ---- attributes as host-order structs -------------------------------------------------------- */

struct fab_node_info { /* defined in IBA 14.2.5.3 */
    uint8_t base_version, class_version, node_type, num_ports;
    uint64_t system_guid, node_guid, port_guid;
    uint16_t partition_cap, device_id;
    uint32_t revision;
    uint8_t local_port;
    uint32_t vendor_id; /* 24 bits */
};
struct fab_switch_info { /* defined in IBA 14.2.5.4 */
    uint16_t linear_fdb_cap, random_fdb_cap, multicast_fdb_cap, linear_fdb_top;
    uint8_t default_port, default_mcast_primary_port, default_mcast_not_primary_port;
    uint8_t life_time;         /* 5 bits */
    uint8_t port_state_change; /* 1 bit */
    uint8_t optimized_sl2vl;   /* 2 bits */
    uint16_t lids_per_port, partition_enforcement_cap;
    uint8_t inbound_enforcement, outbound_enforcement, filter_raw_inbound, filter_raw_outbound;
    uint8_t enhanced_port0;
    uint16_t multicast_fdb_top;
};
struct fab_port_info { /* defined in IBA 14.2.5.6 */
    uint64_t m_key, gid_prefix;
    uint16_t lid, sm_lid;
    uint32_t cap_mask;
    uint16_t diag_code, m_key_lease;
    uint8_t local_port, width_enabled, width_supported, width_active;
    uint8_t speed_supported, port_state, phys_state, down_default_state;
    uint8_t m_key_protect, lmc, speed_active, speed_enabled;
    uint8_t neighbor_mtu, sm_sl, vl_cap, init_type, vl_high_limit, vlarb_high_cap, vlarb_low_cap;
    uint8_t init_type_reply, mtu_cap, vl_stall_count, hoq_life, op_vls;
    uint8_t part_enforce_in, part_enforce_out, filter_raw_in, filter_raw_out;
    uint16_t m_key_violations, p_key_violations, q_key_violations;
    uint8_t guid_cap, client_reregister, mcast_pkey_trap_suppression, subnet_timeout, resp_time;
    uint8_t local_phy_errors, overrun_errors;
    uint16_t max_credit_hint;
    uint32_t link_round_trip; /* 24 bits */
    uint16_t cap_mask2;
    /* Bitsets of lane speeds: FDR 1, EDR 2, HDR 4, NDR 8. */
    uint8_t speed_ext_active, speed_ext_supported, speed_ext_enabled;
    /* Bitsets of lane speeds: XDR 1 (no other bit is defined). */
    uint8_t speed_ext2_active, speed_ext2_supported, speed_ext2_enabled;
};
struct fab_sm_info { /* defined in IBA 14.2.5.13 */
    uint64_t guid, sm_key;
    uint32_t activity;
    uint8_t priority, state; /* state: enum fab_sm_state */
};
enum fab_sm_state {
    FAB_SM_NOT_ACTIVE = 0,
    FAB_SM_DISCOVERING = 1,
    FAB_SM_STANDBY = 2,
    FAB_SM_MASTER = 3
};
struct fab_notice { /* defined in IBA 13.4.8.2 */
    uint8_t generic, type;
    /* producer type, 24 bits; if the notice is not generic, the vendor id */
    uint32_t producer_type;
    /* trap number; if the notice is not generic, the device id */
    uint16_t trap;
    uint16_t issuer_lid;
    uint8_t toggle;
    uint16_t count; /* 15 bits */
    /* DataDetails of the trap, IBA 14.2.5.1 */
    uint8_t details[54];
};
/* Returns the LID in the DataDetails of traps 128-131, 144 and 145 (IBA 14.2.5.1); 0 for other
 * traps, and for notices that are not generic. */
uint16_t fab_wire_notice_lid(const struct fab_notice *n);

#define FAB_VIOLATION_HOPS 30
/* What a port reports about a packet with a wrong key (IBA 14.2.5.1): trap 256 (M_Key), 257
 * (P_Key), 258 (Q_Key) or 259 (P_Key, at a switch port). The keys in traps 256 and 258 are secret
 * and therefore left out. */
struct fab_violation {
    /* LIDs of the packet with the wrong key; 0: not known. If trap 256 is about a directed-route
     * packet, slid is 0xffff. */
    uint16_t slid, dlid;
    /* only for trap 256: method, attribute id and attribute modifier of the refused request */
    uint8_t method;
    uint16_t attr_id;
    uint32_t attr_mod;
    /* Only for trap 256. true: the packet was a directed-route SMP. The next four members are valid
     * only in this case. */
    bool directed;
    /* DrSLID of the packet; 0xffff: the path of the packet began with a directed route, at the node
     * that sent the packet */
    uint16_t dr_slid;
    /* true: the return path of the packet is longer than the notice shows, or the hop count of the
     * notice is too large (then hops is 0) */
    bool truncated;
    uint8_t hops;
    /* The return path of the packet: return_path[hops - 1] is the port through which the packet
     * arrived. */
    uint8_t return_path[FAB_VIOLATION_HOPS];
    /* The following members are only for traps 257 to 259. */
    uint16_t p_key; /* traps 257 and 259: the wrong P_Key */
    /* in traps 257 and 258: queue pairs of the sender and of the receiver of the packet */
    uint32_t qp[2];
    /* trap 259: number of the switch port that detected the wrong P_Key; 0: not known */
    uint8_t port;
};
/* Reads the DataDetails of traps 256 to 259. Returns false for other traps. */
bool fab_wire_notice_violation(const struct fab_notice *n, struct fab_violation *ret);

struct fab_sl2vl { /* defined in IBA 14.2.5.8 */
    uint8_t vl[16];
};
/* one block of the VLArbitrationTable, IBA 14.2.5.9 */
struct fab_vlarb {
    struct {
        uint8_t vl, weight;
    } entry[32];
};
struct fab_pkey_block { /* defined in IBA 14.2.5.7 */
    uint16_t pkey[32];
};
struct fab_guid_block {
    uint64_t guid[8];
};

/* ---- one table per attribute ----------------------------------------------------------------- */

struct fab_field {
    const char *name; /* name in the specification, such as "NeighborMTU" */
    /* Offset of the field's most significant bit, in bits from the first bit of the attribute. */
    uint16_t bit;
    /* number of bits of the field, or of one element of an array, 1 to 64 */
    uint8_t bits;
    /* size of the member in the struct in bytes: 1, 2, 4 or 8 */
    uint8_t member_size;
    /* offset of the member in the struct, in bytes */
    uint16_t member;
    /* number of elements of an array; 1: no array */
    uint16_t repeat;
    /* for an array: distance of its elements in the attribute, in bits */
    uint16_t bit_stride;
    /* for an array: distance of its elements in the struct, in bytes */
    uint8_t stride;
    uint8_t print;     /* enum fab_print */
    uint8_t component; /* enum fab_component */
};
/* tells which components of the ComponentMask (sa.h) belong to a field */
enum fab_component {
    FAB_COMPONENT_ONE, /* the field is one component */
    /* the field is an array, and each of its elements is a component */
    FAB_COMPONENT_EACH,
    /* the field is no component, because its bits were reserved when IBA numbered the components */
    FAB_COMPONENT_NONE,
};
enum fab_print {
    FAB_PRINT_DEC,
    FAB_PRINT_HEX,
    FAB_PRINT_NODE_TYPE,
    FAB_PRINT_PORT_STATE,
    FAB_PRINT_PHYS_STATE,
    FAB_PRINT_MTU,
    FAB_PRINT_VLS,
    FAB_PRINT_SM_STATE,
    /* fields of this kind and of the kinds below are bitsets */
    FAB_PRINT_WIDTHS,
    FAB_PRINT_SPEEDS,
    FAB_PRINT_SPEEDS_EXT,
    FAB_PRINT_SPEEDS_EXT2,
};
struct fab_attr {
    const char *name;
    uint16_t id;
    /* size of the attribute on the wire, and size of its struct, in bytes */
    uint16_t wire_size, struct_size;
    const struct fab_field *fields;
    size_t field_count;
};
extern const struct fab_attr fab_wire_attr_node_info, fab_wire_attr_switch_info,
    fab_wire_attr_port_info, fab_wire_attr_sm_info, fab_wire_attr_notice, fab_wire_attr_sl2vl,
    fab_wire_attr_vlarb, fab_wire_attr_pkey_block, fab_wire_attr_guid_block;
/* Returns the field table of an attribute of subnet management; NULL if there is none. */
const struct fab_attr *fab_wire_attr_by_id(uint16_t id);

/* Unpacks an attribute into its struct; ignores reserved bits. Returns TRUNCATED if len <
 * wire_size. */
int fab_wire_attr_unpack(const struct fab_attr *a, const uint8_t *bytes, size_t len,
                         void *ret_struct);
/* Packs an attribute: writes its wire_size bytes, with reserved bits zero, and fills the rest of
 * the `len` bytes with zeros. Returns RANGE if a value does not fit its field, or TRUNCATED if len
 * < wire_size; then it has written nothing. */
int fab_wire_attr_pack(const struct fab_attr *a, const void *from, uint8_t *bytes, size_t len);
/* Prints the attribute into text[], one line "Name: value\n" for each field. The line of an array
 * is "Name: value value ...". The text ends with a NUL if len > 0. Returns the length of the whole
 * text without the NUL, even if text[] is too short. */
size_t fab_wire_attr_print(const struct fab_attr *a, const void *from, char *text, size_t len);
/* Returns the first field, in wire order, in which x and y differ; NULL: all fields are equal. */
const struct fab_field *fab_wire_attr_diff(const struct fab_attr *a, const void *x, const void *y);

/* ---- links ----------------------------------------------------------------------------------- */

/* The three functions below describe a link by the active width and speed of one of its ports: the
 * width in lanes (1, 2, 4, 8, 12; 0: unknown), the name of the lane speed ("EDR"; "?": unknown),
 * and the nominal rate in Mb/s (4x EDR: 100000; 0: unknown). FDR10, a vendor's extension, counts as
 * QDR, because only MLNX_EXT_PORT_INFO shows FDR10. */
unsigned fab_wire_link_width(const struct fab_port_info *info);
const char *fab_wire_link_speed(const struct fab_port_info *info);
uint32_t fab_wire_link_rate(const struct fab_port_info *info);

/* selects widths and speeds of a port: those that it supports, those that are enabled, or those in
 * use */
enum fab_link_setting { FAB_LINK_SUPPORTED, FAB_LINK_ENABLED, FAB_LINK_ACTIVE };
#define FAB_LINK_WIDTHS 5
#define FAB_LINK_SPEEDS 8
/* Two bitsets, in which a higher bit is a better mode. widths: 1x is bit 0, then 2x, 4x, 8x, 12x.
 * speeds: SDR is bit 0, then DDR, QDR, FDR, EDR, HDR, NDR, XDR. */
struct fab_link_modes {
    uint8_t widths, speeds;
};
/* Reads from PortInfo the widths and speeds that `setting` selects. If a port shows no enabled
 * widths, all supported widths count as enabled; the same holds for speeds. */
struct fab_link_modes fab_wire_link_modes(const struct fab_port_info *info,
                                          enum fab_link_setting setting);
/* The three functions below describe the best mode in a bitset: they return the number of lanes,
 * the name of the speed, and the rate of one lane at this speed in Mb/s. For an empty set, they
 * return 0, "?" and 0. */
unsigned fab_wire_best_lanes(uint8_t widths);
const char *fab_wire_best_speed(uint8_t speeds);
uint32_t fab_wire_best_lane_rate(uint8_t speeds);
/* Returns the rate in Mb/s of one lane at the speed with this name, such as "EDR"; 0: unknown. */
uint32_t fab_wire_speed_rate(const char *speed);

const char *fab_wire_port_state_name(uint8_t state); /* returns a name such as "Active" */
const char *fab_wire_phys_state_name(uint8_t state); /* returns a name such as "LinkUp" */
/* Converts an encoded MTU to bytes, 256 to 4096; 0: the code is not valid. */
unsigned fab_wire_mtu_bytes(uint8_t mtu_enum);
/* Returns the number of data VLs for a code of OperationalVLs or VLCap: 1, 2, 4, 8 or 15; 0: the
 * code is not valid. */
unsigned fab_wire_op_vls_count(uint8_t op_vls);

#endif
