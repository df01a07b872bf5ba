/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes a member of a struct in host byte order. The member has 1, 2, 4 or 8 bytes. */
#ifndef LIBFABMGR_WIRE_MEMBER_H
#define LIBFABMGR_WIRE_MEMBER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t fab_wire_load_member(const uint8_t *p, size_t size)
{
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (size) {
    case 1:
        return *p;
    case 2:
        memcpy(&u16, p, sizeof u16);
        return u16;
    case 4:
        memcpy(&u32, p, sizeof u32);
        return u32;
    default:
        memcpy(&u64, p, sizeof u64);
        return u64;
    }
}

static inline void fab_wire_store_member(uint8_t *p, size_t size, uint64_t value)
{
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    switch (size) {
    case 1:
        *p = (uint8_t)value;
        break;
    case 2:
        memcpy(p, &u16, sizeof u16);
        break;
    case 4:
        memcpy(p, &u32, sizeof u32);
        break;
    default:
        memcpy(p, &value, sizeof value);
        break;
    }
}

#endif
