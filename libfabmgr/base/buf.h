/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader and a writer of big-endian fields. Both check the bounds of their buffer. After the
 * first attempt to go beyond the end, every read returns zero and every write does nothing, so the
 * caller needs to check the status only once, at the end. The functions fab_base_get_be* and
 * fab_base_put_be* do not check bounds. */
#ifndef LIBFABMGR_BASE_BUF_H
#define LIBFABMGR_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libfabmgr/base/status.h"

static inline uint16_t fab_base_get_be16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
}
static inline uint32_t fab_base_get_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
}
static inline uint64_t fab_base_get_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
}
static inline void fab_base_put_be16(uint8_t *p, uint16_t v)
{
    v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
    memcpy(p, &v, sizeof v);
}
static inline void fab_base_put_be32(uint8_t *p, uint32_t v)
{
    v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
    memcpy(p, &v, sizeof v);
}
static inline void fab_base_put_be64(uint8_t *p, uint64_t v)
{
    v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
    memcpy(p, &v, sizeof v);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct fab_base_reader {
    const uint8_t *at, *end;
    /* FAB_OK, or FAB_E_TRUNCATED after a read beyond the end of the buffer */
    int status;
};
static inline struct fab_base_reader fab_base_reader(const uint8_t *bytes, size_t len)
{
    return (struct fab_base_reader){
        .at = bytes, .end = len > 0 ? bytes + len : bytes, .status = FAB_OK};
}
static inline size_t fab_base_read_left(const struct fab_base_reader *r)
{
    return (size_t)(r->end - r->at);
}
/* Returns a pointer to the next n bytes of the buffer; NULL: fewer bytes are left. */
static inline const uint8_t *fab_base_read_bytes(struct fab_base_reader *r, size_t n)
{
    const uint8_t *p = r->at;
    if (r->status != FAB_OK || n > fab_base_read_left(r)) {
        r->status = FAB_E_TRUNCATED;
        return NULL;
    }
    r->at += n;
    return p;
}
static inline uint8_t fab_base_read_u8(struct fab_base_reader *r)
{
    const uint8_t *p = fab_base_read_bytes(r, 1);
    return p != NULL ? *p : 0;
}
static inline uint16_t fab_base_read_u16(struct fab_base_reader *r)
{
    const uint8_t *p = fab_base_read_bytes(r, 2);
    return p != NULL ? fab_base_get_be16(p) : 0;
}
static inline uint32_t fab_base_read_u32(struct fab_base_reader *r)
{
    const uint8_t *p = fab_base_read_bytes(r, 4);
    return p != NULL ? fab_base_get_be32(p) : 0;
}
static inline uint64_t fab_base_read_u64(struct fab_base_reader *r)
{
    const uint8_t *p = fab_base_read_bytes(r, 8);
    return p != NULL ? fab_base_get_be64(p) : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct fab_base_writer {
    uint8_t *at, *end;
    /* FAB_OK, or FAB_E_TRUNCATED after a write that did not fit into the buffer */
    int status;
};
static inline struct fab_base_writer fab_base_writer(uint8_t *bytes, size_t len)
{
    return (struct fab_base_writer){
        .at = bytes, .end = len > 0 ? bytes + len : bytes, .status = FAB_OK};
}
/* Reserves the next n bytes, which the caller must write. Returns a pointer to them; NULL: fewer
 * bytes are left. */
static inline uint8_t *fab_base_write_room(struct fab_base_writer *w, size_t n)
{
    uint8_t *p = w->at;
    if (w->status != FAB_OK || n > (size_t)(w->end - w->at)) {
        w->status = FAB_E_TRUNCATED;
        return NULL;
    }
    w->at += n;
    return p;
}
static inline void fab_base_write_u8(struct fab_base_writer *w, uint8_t v)
{
    uint8_t *p = fab_base_write_room(w, 1);
    if (p != NULL)
        *p = v;
}
static inline void fab_base_write_u16(struct fab_base_writer *w, uint16_t v)
{
    uint8_t *p = fab_base_write_room(w, 2);
    if (p != NULL)
        fab_base_put_be16(p, v);
}
static inline void fab_base_write_u32(struct fab_base_writer *w, uint32_t v)
{
    uint8_t *p = fab_base_write_room(w, 4);
    if (p != NULL)
        fab_base_put_be32(p, v);
}
static inline void fab_base_write_u64(struct fab_base_writer *w, uint64_t v)
{
    uint8_t *p = fab_base_write_room(w, 8);
    if (p != NULL)
        fab_base_put_be64(p, v);
}
static inline void fab_base_write_bytes(struct fab_base_writer *w, const uint8_t *bytes, size_t n)
{
    uint8_t *p = fab_base_write_room(w, n);
    if (p != NULL && n > 0)
        memcpy(p, bytes, n);
}
static inline void fab_base_write_zeros(struct fab_base_writer *w, size_t n)
{
    uint8_t *p = fab_base_write_room(w, n);
    if (p != NULL && n > 0)
        memset(p, 0, n);
}

#endif
