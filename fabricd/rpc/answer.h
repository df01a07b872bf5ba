/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An answer is the memory of one reply, which is freed as a whole. If an allocation fails, the
 * caller continues without that part, and answer_reply sends an error instead of the incomplete
 * message.
 */
#ifndef FABRICD_RPC_ANSWER_H
#define FABRICD_RPC_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/rpc/call.h"
#include "libfabmgr/base/arena.h"

struct answer {
    struct fab_arena arena; /* its flag `failed` says that a part of the reply is missing */
};
/* Allocates zeroed memory. NULL: out of memory. */
void *answer_alloc(struct answer *a, size_t count, size_t item);
/* Allocates and initializes a message of `Type`. prefix: how the functions that protobuf-c
 * generates for the type begin, such as fabric__v1__node. NULL: out of memory. */
#define ANSWER_NEW(a, Type, prefix)                                                                \
    ({                                                                                             \
        Type *new_ = answer_alloc(a, 1, sizeof *new_);                                             \
        if (new_ != NULL)                                                                          \
            prefix##__init(new_);                                                                  \
        new_;                                                                                      \
    })
/* These functions never return NULL: if out of memory, they return an empty string. answer_text
 * replaces bytes that are not valid UTF-8. */
char *answer_text(struct answer *a, const char *text);
char *answer_guid(struct answer *a, uint64_t guid);        /* "0x0002c90300a1b2c3", or "" for 0 */
char *answer_gid(struct answer *a, const uint64_t gid[2]); /* "fe80::2:c903:a1:b2c3" */

/* Replies with the message and frees the answer. */
void answer_reply(struct answer *a, struct call *c, const ProtobufCMessage *message);
/* Sends one message of a stream and frees the answer. Errors as in call_send. */
int answer_send(struct answer *a, struct call *c, const ProtobufCMessage *message);

#endif
