/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the gRPC protocol over HTTP/2 that the server and the client share: status codes,
 * message framing, time-outs and the encoding of error texts in trailers. The functions do no I/O.
 *
 * Source: grpc/doc/PROTOCOL-HTTP2.md, "gRPC over HTTP2".
 */
#ifndef LIBFABMGR_GRPC_GRPC_H
#define LIBFABMGR_GRPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/grpc/code.h"

/* Returns the gRPC code for an enum fab_status. */
enum fab_grpc_code fab_grpc_code_of(int status);

/* ---- framing: a byte "compressed", the length of the message in four bytes, the message ------ */

#define FAB_GRPC_PREFIX 5

void fab_grpc_prefix(uint8_t prefix[FAB_GRPC_PREFIX], uint32_t len);

/* A reader assembles messages from the pieces in which they arrive. It allocates memory only for
 * bytes that have arrived, not for the length that a message announces. */
struct fab_grpc_reader {
    uint32_t max; /* maximum length of a message in bytes */
    uint8_t prefix[FAB_GRPC_PREFIX];
    uint32_t prefix_len;
    uint32_t need; /* length of the message, which its prefix announces */
    uint8_t *body; /* [len] the bytes of the message that have arrived */
    size_t len, cap;
    /* true: body[] has a complete message, which the last call has returned to the caller */
    bool complete;
};
void fab_grpc_reader_init(struct fab_grpc_reader *r, uint32_t max);
void fab_grpc_reader_fini(struct fab_grpc_reader *r);
/* Takes received bytes, at most to the end of one message: moves *data forward and reduces *len.
 * Returns 1 if r->body now has a complete message of r->len bytes, which is valid until the next
 * call. Returns 0 if all bytes are taken and the message is not yet complete. Returns UNSUPPORTED
 * (the message is compressed), LIMIT (the message is longer than `max`) or NOMEM. */
int fab_grpc_reader_feed(struct fab_grpc_reader *r, const uint8_t **data, size_t *len);
/* Returns true if the stream may end here, because no message is incomplete. */
bool fab_grpc_reader_idle(const struct fab_grpc_reader *r);

/* ---- header values -------------------------------------------------------------------------- */

/* Parses the value of the header grpc-timeout; for "100m" (100 ms), *ret_us is 100000. A time-out
 * of more than a year becomes a year. Returns FORMAT if the text is no gRPC time-out. */
int fab_grpc_timeout_parse(const char *text, uint64_t *ret_us);
/* Writes the value of the header grpc-timeout: at most 8 digits and a unit. Rounds the time up;
 * more than a year becomes a year. */
void fab_grpc_timeout_format(uint64_t us, char text[16]);

/* Encodes the value of the header grpc-message. Each '%', and each byte that is not printable
 * ASCII, becomes %XX. The result is always NUL-terminated. If ret[] is too small, the result is
 * cut, but never within a %XX. Returns its length. */
size_t fab_grpc_percent_encode(const char *text, char *ret, size_t ret_len);
/* Decodes the value of the header grpc-message. A '%' that does not begin a valid %XX is copied as
 * it is. The result is always NUL-terminated; if ret[] is too small, it is cut. Returns its length.
 */
size_t fab_grpc_percent_decode(const char *text, size_t len, char *ret, size_t ret_len);

/* ---- text from devices and clients ----------------------------------------------------------- */

/* Copies text as valid UTF-8: invalid bytes and control characters become U+FFFD. The copy is
 * always NUL-terminated; if ret[] is too small, the copy is cut after a whole character. Returns
 * the length of the copy, which is at most three times the length of the text. */
size_t fab_grpc_utf8_clean(const char *text, size_t len, char *ret, size_t ret_len);

#endif
