/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length-prefixed framing of gRPC: finds the messages in a stream of bytes.
 *
 * The bytes arrive in pieces, which are the contents of HTTP/2 DATA frames. A piece may begin and
 * end anywhere in a message. The reader checks the length that a message announces against the
 * limit, but its buffer grows only with the bytes that arrive. So a false length costs no memory.
 */
#include "libfabmgr/grpc/grpc.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

void fab_grpc_prefix(uint8_t prefix[FAB_GRPC_PREFIX], uint32_t len)
{
    prefix[0] = 0;
    for (int i = 0; i < 4; i++)
        prefix[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}

void fab_grpc_reader_init(struct fab_grpc_reader *r, uint32_t max)
{
    memset(r, 0, sizeof *r);
    r->max = max;
}

void fab_grpc_reader_fini(struct fab_grpc_reader *r)
{
    free(r->body);
    r->body = NULL;
    r->cap = 0;
}

bool fab_grpc_reader_idle(const struct fab_grpc_reader *r)
{
    return r->prefix_len == 0 || r->complete;
}

static void next_message(struct fab_grpc_reader *r)
{
    r->complete = false;
    r->prefix_len = 0;
    r->len = 0;
    r->need = 0;
}

static size_t take(const uint8_t **data, size_t *len, uint8_t *to, size_t want)
{
    size_t n = want < *len ? want : *len;
    if (n > 0)
        memcpy(to, *data, n);
    *data += n;
    *len -= n;
    return n;
}

static int read_prefix(struct fab_grpc_reader *r, const uint8_t **data, size_t *len)
{
    size_t n = take(data, len, r->prefix + r->prefix_len, FAB_GRPC_PREFIX - r->prefix_len);
    r->prefix_len += (uint32_t)n;
    if (r->prefix_len < FAB_GRPC_PREFIX)
        return 0;
    if (r->prefix[0] != 0)
        return FAB_E_UNSUPPORTED;
    r->need = (uint32_t)r->prefix[1] << 24 | (uint32_t)r->prefix[2] << 16 |
              (uint32_t)r->prefix[3] << 8 | r->prefix[4];
    return r->need > r->max ? FAB_E_LIMIT : 0;
}

/* Makes room in body[] for `more` bytes and one additional byte. Because of the additional byte,
 * body is not NULL even for an empty message. */
static int grow(struct fab_grpc_reader *r, size_t more)
{
    size_t want = r->len + more + 1;
    if (want <= r->cap)
        return 0;
    size_t cap = want < 256 ? 256 : want * 2;
    if (cap > (size_t)r->max + 1)
        cap = (size_t)r->max + 1;
    uint8_t *body = realloc(r->body, cap);
    if (body == NULL)
        return FAB_E_NOMEM;
    r->body = body;
    r->cap = cap;
    return 0;
}

int fab_grpc_reader_feed(struct fab_grpc_reader *r, const uint8_t **data, size_t *len)
{
    if (r->complete)
        next_message(r);
    if (r->prefix_len < FAB_GRPC_PREFIX) {
        int rc = read_prefix(r, data, len);
        if (rc < 0 || r->prefix_len < FAB_GRPC_PREFIX)
            return rc;
    }
    size_t want = r->need - r->len;
    size_t n = want < *len ? want : *len;
    if (grow(r, n) < 0)
        return FAB_E_NOMEM;
    r->len += take(data, len, r->body + r->len, n);
    r->complete = r->len == r->need;
    return r->complete ? 1 : 0;
}
