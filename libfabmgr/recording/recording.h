/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording holds all MADs that a manager sent and received. This is its format; numbers are
 * big-endian.
 *
 *     header, 128 bytes
 *        0   8  "FABMADS\n"
 *        8   2  version: 1
 *       10   2  size of the header; later versions may append fields
 *       12   4  window: MADs in flight that the transport allowed
 *       16   8  start, Unix time in microseconds
 *       24   8  GUID of the port
 *       32  32  version of fabricd, NUL-padded
 *       64  64  name of the port, NUL-padded
 *
 *     entries, one after the other
 *        0   1  kind: enum fab_recording_kind; unknown kinds are skipped
 *        1   1  flags: 1 = MAD of the manager that came back as undeliverable or was not sent
 *        2   2  size of the body
 *        4   8  microseconds since the start
 *       12      the body:
 *               MAD: dlid 2, slid 2, sl 1, qp 1, qpn 4, qkey 4, timeout in microseconds 4,
 *                   length 2, map 4: bit i (bit 0 is the lowest) is set if the i-th 8 bytes
 *                   of the MAD are not all zero; then these words, in order
 *               lease: port GUID 8, LID 2, LMC 1
 *               disabled port: node GUID 8, port 1
 *               pinned name: node GUID 8, the name, at most 64 bytes without a NUL
 *               settings: the text of the settings file
 *               end: reason 1, enum fab_recording_end
 *
 * A recording without an end entry was cut off (crash, kill -9); its entries are valid.
 */
#ifndef LIBFABMGR_RECORDING_RECORDING_H
#define LIBFABMGR_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/mads/mads.h"

#define FAB_RECORDING_HEADER 128
#define FAB_RECORDING_VERSION 1
#define FAB_RECORDING_BODY_MAX 0xffff
/* maximum size in bytes of a packed entry, except entries with the settings of the manager */
#define FAB_RECORDING_ENTRY_MAX 320

struct fab_recording_header {
    uint32_t window;
    int64_t began_us; /* Unix time in us at which the recording starts */
    uint64_t port_guid;
    char version[33], name[65];
};
enum fab_recording_kind {
    FAB_RECORDING_OUT = 1, /* a MAD that the manager sent */
    FAB_RECORDING_IN = 2,  /* a MAD that the manager received */
    FAB_RECORDING_LEASE = 3,
    FAB_RECORDING_DISABLED = 4,
    FAB_RECORDING_SETTINGS = 5,
    FAB_RECORDING_END = 6,
    FAB_RECORDING_PIN = 7,
};
enum fab_recording_end {
    FAB_RECORDING_STOPPED = 1,   /* the manager was stopped */
    FAB_RECORDING_LIMIT = 2,     /* the file reached its size limit */
    FAB_RECORDING_DISK_SLOW = 3, /* the disk was too slow to write all entries */
};
struct fab_recording_entry {
    uint8_t kind;
    bool failed;
    uint64_t time_us;
    /* The next members are for MADs. */
    struct fab_mad_addr addr;
    uint8_t qp;
    uint16_t len;
    /* The bytes of a MAD (FAB_MAD_SIZE bytes, zero from bytes[len] on), or the `len` bytes of
     * settings or of a pinned name. */
    const uint8_t *bytes;
    /* port GUID of a lease; node GUID of a disabled port or pinned name */
    uint64_t guid;
    uint16_t lid;
    /* LMC of a lease, port number of a disabled port, or reason of the end (enum
     * fab_recording_end) */
    uint8_t small;
};

void fab_recording_pack_header(const struct fab_recording_header *h,
                               uint8_t bytes[FAB_RECORDING_HEADER]);
/* Reads the header. Returns OK, FORMAT (the bytes are no recording), TRUNCATED (the header is not
 * complete) or UNSUPPORTED (the recording has a later version). The names in the header are
 * untrusted and can contain any bytes. */
int fab_recording_unpack_header(struct fab_base_reader *r, struct fab_recording_header *ret);

/* Packs an entry into room[] and returns its size in bytes. If the entry is a MAD, only the first
 * `len` bytes of the MAD are read. Does not pack settings, which may be larger than room[]; use
 * fab_recording_pack_settings. */
size_t fab_recording_pack(const struct fab_recording_entry *e,
                          uint8_t room[FAB_RECORDING_ENTRY_MAX]);
#define FAB_RECORDING_PREFIX 12
/* Packs the first FAB_RECORDING_PREFIX bytes of an entry with settings; in the file, the text of
 * the settings comes after them. */
void fab_recording_pack_settings(uint64_t time_us, uint16_t len,
                                 uint8_t prefix[FAB_RECORDING_PREFIX]);
/* Reads the next entry. If the entry is a MAD, mad[] has its bytes, and ret->bytes points to mad[].
 * Returns OK, TRUNCATED (the remaining bytes are not a complete entry) or FORMAT (the entry is
 * invalid). In an entry of an unknown kind, only the kind, the time and `failed` are set. */
int fab_recording_unpack(struct fab_base_reader *r, uint8_t mad[FAB_MAD_SIZE],
                         struct fab_recording_entry *ret);

/* Writes to text[room] a description of a MAD in one line without a newline, such as "Get NodeInfo,
 * modifier 0, by 0,1,4". The text is always NUL-terminated if `room` is not 0. `to` is the DLID,
 * which is shown if the MAD has no directed route. */
void fab_recording_describe(const uint8_t mad[FAB_MAD_SIZE], uint16_t to, char *text, size_t room);

#endif
