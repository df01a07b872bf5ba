/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gRPC's own words (the protocol over HTTP/2), shared by the server and the client: status codes,
 * message framing, time-outs and the coding of messages in trailers. Bytes in, bytes out.
 *
 * Source: grpc/doc/PROTOCOL-HTTP2.md, "gRPC over HTTP2".
 */
#ifndef LIBFABMGR_GRPC_GRPC_H
#define LIBFABMGR_GRPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fab_grpc_code {
    FAB_GRPC_OK = 0,
    FAB_GRPC_CANCELLED = 1,
    FAB_GRPC_UNKNOWN = 2,
    FAB_GRPC_INVALID_ARGUMENT = 3,
    FAB_GRPC_DEADLINE_EXCEEDED = 4,
    FAB_GRPC_NOT_FOUND = 5,
    FAB_GRPC_ALREADY_EXISTS = 6,
    FAB_GRPC_PERMISSION_DENIED = 7,
    FAB_GRPC_RESOURCE_EXHAUSTED = 8,
    FAB_GRPC_FAILED_PRECONDITION = 9,
    FAB_GRPC_ABORTED = 10,
    FAB_GRPC_OUT_OF_RANGE = 11,
    FAB_GRPC_UNIMPLEMENTED = 12,
    FAB_GRPC_INTERNAL = 13,
    FAB_GRPC_UNAVAILABLE = 14,
    FAB_GRPC_DATA_LOSS = 15,
    FAB_GRPC_UNAUTHENTICATED = 16,
};
/* "NOT_FOUND"; "UNKNOWN" for what is no code. */
const char *fab_grpc_code_name(int code);
/* The gRPC code that fits an enum fab_status. */
enum fab_grpc_code fab_grpc_code_of(int status);

/* ---- messages: one byte "compressed", four bytes of length, the bytes ----------------------- */

#define FAB_GRPC_PREFIX 5

void fab_grpc_prefix(uint8_t prefix[FAB_GRPC_PREFIX], uint32_t len);

/* Puts messages together from pieces. Takes memory as bytes arrive, not as they are announced. */
struct fab_grpc_reader {
    uint32_t max; /* longest message accepted */
    uint8_t prefix[FAB_GRPC_PREFIX];
    uint32_t prefix_len;
    uint32_t need; /* announced length */
    uint8_t *body; /* [len] */
    size_t len, cap;
    bool complete; /* the message in body was given out */
};
void fab_grpc_reader_init(struct fab_grpc_reader *r, uint32_t max);
void fab_grpc_reader_fini(struct fab_grpc_reader *r);
/* Eats from data and len. 1: body[len] holds a whole message until the next call. 0: all was eaten,
 * none is complete. UNSUPPORTED: compressed. LIMIT: longer than max. NOMEM. */
int fab_grpc_reader_feed(struct fab_grpc_reader *r, const uint8_t **data, size_t *len);
/* True between two messages: where a stream may end. */
bool fab_grpc_reader_idle(const struct fab_grpc_reader *r);

/* ---- header values -------------------------------------------------------------------------- */

/* "100m" -> 100000 us. FORMAT. Longer than a year counts as a year. */
int fab_grpc_timeout_parse(const char *text, uint64_t *ret_us);
/* Writes the time-out in at most 8 digits and a unit, rounded up. */
void fab_grpc_timeout_format(uint64_t us, char text[16]);

/* grpc-message: everything but printable ASCII, and '%', as %XX. Always NUL-terminated, cut at a
 * whole character where ret is too small; returns the length. */
size_t fab_grpc_percent_encode(const char *text, char *ret, size_t ret_len);
/* The reverse, forgiving: what is no %XX stays as it is. */
size_t fab_grpc_percent_decode(const char *text, size_t len, char *ret, size_t ret_len);

/* ---- text of others ---------------------------------------------------------------------------
 */

/* Copies text as valid UTF-8: bytes that are none, and control characters, become U+FFFD. Always
 * NUL-terminated, cut at a whole character where ret is too small; returns the length. A byte
 * becomes at most three. */
size_t fab_grpc_utf8_clean(const char *text, size_t len, char *ret, size_t ret_len);

#endif
