/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings: every MAD that a manager sent and received, as bytes. Numbers are big-endian, as
 * everything else that this program exchanges.
 *
 *     header, 128 bytes
 *        0   8  "FABMADS\n"
 *        8   2  version: 1
 *       10   2  size of the header, for what may be added behind these fields
 *       12   4  window: MADs in flight that the transport bore
 *       16   8  when it began, Unix time in microseconds
 *       24   8  GUID of the port
 *       32  32  version of fabricd, NUL-padded
 *       64  64  name of the port, NUL-padded
 *
 *     entries, one after the other
 *        0   1  kind: enum fab_recording_kind; others are skipped
 *        1   1  flags: 1 = one of ours that came back undelivered, or was not sent
 *        2   2  size of the body
 *        4   8  microseconds since the beginning
 *       12      the body:
 *               MAD: dlid 2, slid 2, sl 1, qp 1, qpn 4, qkey 4, timeout in microseconds 4, length
 * 2, map 4: bit i (from the least) is set when the i-th 8 bytes of the MAD are not all zero; and
 * then these, in order lease: port GUID 8, LID 2, LMC 1 disabled port: node GUID 8, port 1
 *               settings: the text of the settings file
 *               end: reason 1, enum fab_recording_end
 *
 * A recording without an end was cut short (a crash, kill -9): all before the cut is good.
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
/* Room that any entry but settings needs. */
#define FAB_RECORDING_ENTRY_MAX 320

struct fab_recording_header {
    uint32_t window;
    int64_t began_us; /* Unix */
    uint64_t port_guid;
    char version[33], name[65];
};
enum fab_recording_kind {
    FAB_RECORDING_OUT = 1, /* a MAD that we sent */
    FAB_RECORDING_IN = 2,  /* a MAD that came in */
    FAB_RECORDING_LEASE = 3,
    FAB_RECORDING_DISABLED = 4,
    FAB_RECORDING_SETTINGS = 5,
    FAB_RECORDING_END = 6,
};
enum fab_recording_end {
    FAB_RECORDING_STOPPED = 1,   /* the manager was asked to end */
    FAB_RECORDING_LIMIT = 2,     /* the file reached its limit */
    FAB_RECORDING_DISK_SLOW = 3, /* the disk could not keep up */
};
struct fab_recording_entry {
    uint8_t kind;
    bool failed;
    uint64_t time_us;
    /* MADs */
    struct fab_mad_addr addr;
    uint8_t qp;
    uint16_t len;
    const uint8_t *bytes; /* FAB_MAD_SIZE of them, zeros from len on; settings: len of them */
    /* leases, disabled ports, ends */
    uint64_t guid;
    uint16_t lid;
    uint8_t small; /* LMC; port; enum fab_recording_end */
};

void fab_recording_pack_header(const struct fab_recording_header *h,
                               uint8_t bytes[FAB_RECORDING_HEADER]);
/* Reads it and stands behind it. FORMAT: it is no recording; TRUNCATED; UNSUPPORTED: a later
 * version. Names come from a file that anybody may have made: they can hold any bytes. */
int fab_recording_unpack_header(struct fab_reader *r, struct fab_recording_header *ret);

/* Writes an entry into room[]; its size. The bytes of a MAD not_judged len are not looked at. Not
 * for settings, which have a size of their own. */
size_t fab_recording_pack(const struct fab_recording_entry *e,
                          uint8_t room[FAB_RECORDING_ENTRY_MAX]);
/* The 12 bytes before the text of settings, which the caller writes after them. */
#define FAB_RECORDING_PREFIX 12
void fab_recording_pack_settings(uint64_t time_us, uint16_t len,
                                 uint8_t prefix[FAB_RECORDING_PREFIX]);
/* Reads the next entry and stands behind it. The bytes of a MAD go into mad[], to which ret->bytes
 * points. TRUNCATED: what is left is no whole entry (nothing is left: neither); FORMAT: it is none.
 * Kinds that are not known come with nothing but their kind and time. */
int fab_recording_unpack(struct fab_reader *r, uint8_t mad[FAB_MAD_SIZE],
                         struct fab_recording_entry *ret);

/* One line for people, without its end: "Get NodeInfo, modifier 0, by 0,1,4"; always
 * NUL-terminated when room > 0. `to`: the DLID, for what is not directed. */
void fab_recording_describe(const uint8_t mad[FAB_MAD_SIZE], uint16_t to, char *text, size_t room);

#endif
