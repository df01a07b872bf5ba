/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates the messages and strings of a reply in an arena (answer.h). If an allocation fails, the
 * arena records the failure. */
#include "fabricd/rpc/answer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

void *answer_alloc(struct answer *a, size_t count, size_t item)
{
    return fab_base_arena_alloc(&a->arena, count, item);
}

/* Returns the number of bytes before the first byte that is not a printable ASCII character. */
static size_t plain_length(const char *text)
{
    size_t len = 0;
    while (text[len] >= ' ' && text[len] <= '~')
        len++;
    return len;
}

char *answer_text(struct answer *a, const char *text)
{
    size_t len = plain_length(text);
    if (text[len] == '\0') { /* almost every text is ASCII, and can be copied unchanged */
        const char *copy = fab_base_arena_text(&a->arena, text, len);
        return (char *)(uintptr_t)(copy != NULL ? copy : protobuf_c_empty_string);
    }
    len += strlen(text + len);
    char *clean = answer_alloc(a, 3 * len + 1, 1);
    if (clean == NULL)
        return (char *)(uintptr_t)protobuf_c_empty_string;
    fab_grpc_utf8_clean(text, len, clean, 3 * len + 1);
    return clean;
}

char *answer_constant(const char *text)
{
    /* the cast is safe, because nobody writes to the texts of a reply */
    return (char *)(uintptr_t)text;
}

char *answer_lines(struct answer *a, const char *text)
{
    size_t room = 3 * strlen(text) + 1, used = 0;
    char *clean = answer_alloc(a, room, 1);
    if (clean == NULL)
        return (char *)(uintptr_t)protobuf_c_empty_string;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        used += fab_grpc_utf8_clean(text, len, clean + used, room - used);
        text += len;
        if (*text == '\n') {
            clean[used++] = '\n';
            text++;
        }
    }
    clean[used] = '\0';
    return clean;
}

char *answer_guid(struct answer *a, uint64_t guid)
{
    char *text = guid != 0 ? answer_alloc(a, 19, 1) : NULL;
    if (text == NULL)
        return (char *)(uintptr_t)protobuf_c_empty_string;
    text[0] = '0';
    text[1] = 'x';
    for (int i = 0; i < 16; i++)
        text[2 + i] = "0123456789abcdef"[guid >> (60 - 4 * i) & 15];
    text[18] = '\0';
    return text;
}

char *answer_gid(struct answer *a, const uint64_t gid[2])
{
    uint8_t bytes[16];
    char text[INET6_ADDRSTRLEN] = "";
    fab_base_put_be64(bytes, gid[0]);
    fab_base_put_be64(bytes + 8, gid[1]);
    (void)inet_ntop(AF_INET6, bytes, text, sizeof text);
    return answer_text(a, text);
}

int answer_send(struct answer *a, struct call *c, const ProtobufCMessage *message)
{
    int rc = FAB_E_NOMEM;
    if (a->arena.failed || message == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else
        rc = call_send(c, message);
    fab_base_arena_fini(&a->arena);
    return rc;
}

void answer_reply(struct answer *a, struct call *c, const ProtobufCMessage *message)
{
    if (answer_send(a, c, message) == FAB_OK)
        call_finish(c, FAB_GRPC_OK, NULL);
}
