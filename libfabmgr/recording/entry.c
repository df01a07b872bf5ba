/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs and unpacks entries of a recording; the layout is in recording.h.
 *
 * A MAD is mostly zeros: reserved fields, unused hops of paths, the end of the attribute. An entry
 * has only those 8-byte words that are not zero, and a bit map that shows which ones they are. So
 * an entry has a third of the size of the MAD. Packing takes only 32 comparisons, so the event
 * loop, which records each MAD, loses little time.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/recording/recording.h"

#define WORDS (FAB_MAD_SIZE / 8)
/* size in bytes of the fields of a MAD entry after its header (12 bytes) and before the words of
 * the MAD */
#define MAD_FIELDS 24
#define FLAG_FAILED 1

static const uint8_t magic[8] = {'F', 'A', 'B', 'M', 'A', 'D', 'S', '\n'};

/* ---- header ---- */

static void write_name(uint8_t *to, const char *name, size_t size)
{
    memset(to, 0, size);
    memcpy(to, name, strnlen(name, size));
}

void fab_recording_pack_header(const struct fab_recording_header *h,
                               uint8_t bytes[FAB_RECORDING_HEADER])
{
    memcpy(bytes, magic, sizeof(magic));
    fab_base_put_be16(bytes + 8, FAB_RECORDING_VERSION);
    fab_base_put_be16(bytes + 10, FAB_RECORDING_HEADER);
    fab_base_put_be32(bytes + 12, h->window);
    fab_base_put_be64(bytes + 16, (uint64_t)h->began_us);
    fab_base_put_be64(bytes + 24, h->port_guid);
    write_name(bytes + 32, h->version, sizeof(h->version) - 1);
    write_name(bytes + 64, h->name, sizeof(h->name) - 1);
}

static void read_name(struct fab_base_reader *r, char *name, size_t size)
{
    const uint8_t *bytes = fab_base_read_bytes(r, size);
    if (bytes)
        memcpy(name, bytes, size);
    name[size] = '\0';
}

int fab_recording_unpack_header(struct fab_base_reader *r, struct fab_recording_header *ret)
{
    struct fab_recording_header h = {0};
    struct fab_base_reader at = *r;
    const uint8_t *is = fab_base_read_bytes(&at, sizeof(magic));
    if (!is || memcmp(is, magic, sizeof(magic)) != 0)
        return FAB_E_FORMAT;
    uint16_t version = fab_base_read_u16(&at), size = fab_base_read_u16(&at);
    if (at.status == FAB_OK && version != FAB_RECORDING_VERSION)
        return FAB_E_UNSUPPORTED;
    h.window = fab_base_read_u32(&at);
    h.began_us = (int64_t)fab_base_read_u64(&at);
    h.port_guid = fab_base_read_u64(&at);
    read_name(&at, h.version, sizeof(h.version) - 1);
    read_name(&at, h.name, sizeof(h.name) - 1);
    if (at.status == FAB_OK && size < FAB_RECORDING_HEADER)
        return FAB_E_FORMAT;
    (void)fab_base_read_bytes(&at, at.status == FAB_OK ? (size_t)size - FAB_RECORDING_HEADER : 0);
    if (at.status != FAB_OK)
        return at.status;
    *r = at;
    *ret = h;
    return FAB_OK;
}

/* ---- writing ---- */

static void write_prefix(uint8_t *to, const struct fab_recording_entry *e, size_t body)
{
    to[0] = e->kind;
    to[1] = e->failed ? FLAG_FAILED : 0;
    fab_base_put_be16(to + 2, (uint16_t)body);
    fab_base_put_be64(to + 4, e->time_us);
}

/* Writes those 8-byte words of the MAD that are not zero, and returns their size in bytes. *ret_map
 * has a bit for each of them. To avoid branches, every word is copied, and the word after a zero
 * overwrites it. So `to` must have room for one word more than is returned. */
static size_t write_words(uint8_t *to, const uint8_t bytes[FAB_MAD_SIZE], uint32_t *ret_map)
{
    size_t size = 0;
    uint32_t map = 0;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, sizeof(word));
        memcpy(to + size, &word, sizeof(word));
        uint32_t some = word != 0;
        size += 8 * some;
        map |= some << i;
    }
    *ret_map = map;
    return size;
}

static size_t write_short(uint8_t *to, const uint8_t *bytes, size_t len, uint32_t *ret_map)
{
    uint8_t whole[FAB_MAD_SIZE] = {0};
    memcpy(whole, bytes, len);
    return write_words(to, whole, ret_map);
}

static size_t write_mad(uint8_t *to, const struct fab_recording_entry *e)
{
    uint32_t map;
    size_t len = e->len < FAB_MAD_SIZE ? e->len : FAB_MAD_SIZE;
    fab_base_put_be16(to, e->addr.dlid);
    fab_base_put_be16(to + 2, e->addr.slid);
    to[4] = e->addr.sl;
    to[5] = e->qp;
    fab_base_put_be32(to + 6, e->addr.qpn);
    fab_base_put_be32(to + 10, e->addr.qkey);
    fab_base_put_be32(to + 14, e->addr.timeout_us);
    fab_base_put_be16(to + 18, (uint16_t)len);
    size_t words = len == FAB_MAD_SIZE ? write_words(to + MAD_FIELDS, e->bytes, &map)
                                       : write_short(to + MAD_FIELDS, e->bytes, len, &map);
    fab_base_put_be32(to + 20, map);
    return MAD_FIELDS + words;
}

static size_t write_body(uint8_t *to, const struct fab_recording_entry *e)
{
    switch (e->kind) {
    case FAB_RECORDING_OUT:
    case FAB_RECORDING_IN:
        return write_mad(to, e);
    case FAB_RECORDING_LEASE:
        fab_base_put_be64(to, e->guid);
        fab_base_put_be16(to + 8, e->lid);
        to[10] = e->small;
        return 11;
    case FAB_RECORDING_DISABLED:
        fab_base_put_be64(to, e->guid);
        to[8] = e->small;
        return 9;
    case FAB_RECORDING_PIN:
        fab_base_put_be64(to, e->guid);
        memcpy(to + 8, e->bytes, e->len <= FAB_NODE_DESC_LEN ? e->len : FAB_NODE_DESC_LEN);
        return 8u + (e->len <= FAB_NODE_DESC_LEN ? e->len : FAB_NODE_DESC_LEN);
    case FAB_RECORDING_END:
        to[0] = e->small;
        return 1;
    default:
        return 0;
    }
}

size_t fab_recording_pack(const struct fab_recording_entry *e,
                          uint8_t room[FAB_RECORDING_ENTRY_MAX])
{
    size_t body = write_body(room + FAB_RECORDING_PREFIX, e);
    write_prefix(room, e, body);
    return FAB_RECORDING_PREFIX + body;
}

void fab_recording_pack_settings(uint64_t time_us, uint16_t len,
                                 uint8_t prefix[FAB_RECORDING_PREFIX])
{
    const struct fab_recording_entry e = {.kind = FAB_RECORDING_SETTINGS, .time_us = time_us};
    write_prefix(prefix, &e, len);
}

/* ---- reading ---- */

static int read_mad(struct fab_base_reader *r, uint8_t mad[FAB_MAD_SIZE],
                    struct fab_recording_entry *e)
{
    e->addr.dlid = fab_base_read_u16(r);
    e->addr.slid = fab_base_read_u16(r);
    e->addr.sl = fab_base_read_u8(r);
    e->qp = fab_base_read_u8(r);
    e->addr.qpn = fab_base_read_u32(r);
    e->addr.qkey = fab_base_read_u32(r);
    e->addr.timeout_us = fab_base_read_u32(r);
    e->len = fab_base_read_u16(r);
    uint32_t map = fab_base_read_u32(r);
    if (e->len > FAB_MAD_SIZE)
        return FAB_E_FORMAT;
    memset(mad, 0, FAB_MAD_SIZE);
    for (size_t i = 0; i < WORDS && map >> i; i++) {
        const uint8_t *word = map >> i & 1 ? fab_base_read_bytes(r, 8) : NULL;
        if (word)
            memcpy(mad + 8 * i, word, 8);
    }
    memset(mad + e->len, 0, FAB_MAD_SIZE - e->len);
    e->bytes = mad;
    return FAB_OK;
}

static int read_body(struct fab_base_reader *r, uint8_t mad[FAB_MAD_SIZE],
                     struct fab_recording_entry *e)
{
    switch (e->kind) {
    case FAB_RECORDING_OUT:
    case FAB_RECORDING_IN:
        return read_mad(r, mad, e);
    case FAB_RECORDING_LEASE:
        e->guid = fab_base_read_u64(r);
        e->lid = fab_base_read_u16(r);
        e->small = fab_base_read_u8(r);
        return FAB_OK;
    case FAB_RECORDING_DISABLED:
        e->guid = fab_base_read_u64(r);
        e->small = fab_base_read_u8(r);
        return FAB_OK;
    case FAB_RECORDING_SETTINGS:
        e->len = (uint16_t)fab_base_read_left(r);
        e->bytes = fab_base_read_bytes(r, e->len);
        return FAB_OK;
    case FAB_RECORDING_PIN:
        e->guid = fab_base_read_u64(r);
        e->len = (uint16_t)fab_base_read_left(r);
        e->bytes = fab_base_read_bytes(r, e->len);
        return e->len <= FAB_NODE_DESC_LEN ? FAB_OK : FAB_E_FORMAT;
    case FAB_RECORDING_END:
        e->small = fab_base_read_u8(r);
        return FAB_OK;
    default:
        /* Unknown kinds are skipped, but kind 0 is invalid: after a crash, the file system may have
         * filled the end of the file with zeros. */
        return e->kind ? FAB_OK : FAB_E_FORMAT;
    }
}

int fab_recording_unpack(struct fab_base_reader *r, uint8_t mad[FAB_MAD_SIZE],
                         struct fab_recording_entry *ret)
{
    struct fab_base_reader at = *r;
    struct fab_recording_entry e = {.kind = fab_base_read_u8(&at)};
    e.failed = fab_base_read_u8(&at) & FLAG_FAILED;
    uint16_t size = fab_base_read_u16(&at);
    e.time_us = fab_base_read_u64(&at);
    const uint8_t *body = fab_base_read_bytes(&at, size);
    if (at.status != FAB_OK)
        return at.status;
    struct fab_base_reader in = fab_base_reader(body, size);
    int status = read_body(&in, mad, &e);
    if (status != FAB_OK || in.status != FAB_OK)
        return FAB_E_FORMAT;
    *r = at;
    *ret = e;
    return FAB_OK;
}
