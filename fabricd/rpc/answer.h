/* SPDX-License-Identifier: BSD-3-Clause */
/* An answer owns the memory of one reply of an RPC, and frees all of it at once. If an allocation
 * fails, the service continues, and leaves out a part of the reply. answer_reply or answer_send
 * then sends an error instead of the incomplete message. */
#ifndef FABRICD_RPC_ANSWER_H
#define FABRICD_RPC_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/rpc/call.h"
#include "libfabmgr/base/arena.h"

struct answer {
    /* arena.failed is true if an allocation failed; a part of the reply is then missing */
    struct fab_arena arena;
};
/* Allocates zeroed memory for `count` items of `item` bytes, which is freed with the answer.
 * Returns NULL if memory ran out. */
void *answer_alloc(struct answer *a, size_t count, size_t item);
/* Allocates and initializes a protobuf message of type `Type`. `prefix` is the prefix of the
 * functions that protobuf-c generates for this type, such as fabric__v1__node. The value of the
 * macro is NULL if memory ran out. */
#define ANSWER_NEW(a, Type, prefix)                                                                \
    ({                                                                                             \
        Type *new_ = answer_alloc(a, 1, sizeof *new_);                                             \
        if (new_ != NULL)                                                                          \
            prefix##__init(new_);                                                                  \
        new_;                                                                                      \
    })
/* answer_text copies a text, and replaces control characters and bytes that are not valid UTF-8.
 * The functions that return a text never return NULL; if memory ran out, they return an empty
 * string. */
char *answer_text(struct answer *a, const char *text);
/* Returns `text` itself, not a copy. Only for constant texts of the program, such as "EDR". */
char *answer_constant(const char *text);
/* Like answer_text, but keeps line breaks. */
char *answer_lines(struct answer *a, const char *text);
/* Returns a GUID as a text such as "0x0002c90300a1b2c3"; "" if guid is 0. */
char *answer_guid(struct answer *a, uint64_t guid);
/* Returns a GID as a text such as "fe80::2:c903:a1:b2c3". */
char *answer_gid(struct answer *a, const uint64_t gid[2]);

/* Sends the message as the reply of the call, and frees the answer. */
void answer_reply(struct answer *a, struct call *c, const ProtobufCMessage *message);
/* Sends one message of a streaming reply, and frees the answer. Returns the errors of call_send. */
int answer_send(struct answer *a, struct call *c, const ProtobufCMessage *message);

#endif
