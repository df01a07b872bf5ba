/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and parses the names of abstract sockets, and checks the credentials of peers. */
#include "cli/sim/socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct socket_name finish(struct sockaddr_un *address, int len)
{
    return (struct socket_name){
        .address = *address,
        .len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len + 1)};
}

struct socket_name socket_name(const char *base, const char *role)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    return finish(&address, snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%.*s:%s",
                                     SOCKET_BASE_MAX, base, role));
}

struct socket_name socket_name_numbered(const char *base, const char *role, uint32_t number)
{
    char numbered[32];
    snprintf(numbered, sizeof numbered, "%s%u", role, number);
    return socket_name(base, numbered);
}

uint32_t socket_name_number(const struct sockaddr_un *address, socklen_t len, const char *base,
                            const char *role)
{
    char prefix[SOCKET_BASE_MAX + 32];
    int prefix_len = snprintf(prefix, sizeof prefix, "%.*s:%s", SOCKET_BASE_MAX, base, role);
    size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
    if (len <= head + (size_t)prefix_len || len > sizeof *address || address->sun_path[0] != '\0' ||
        memcmp(address->sun_path + 1, prefix, (size_t)prefix_len) != 0)
        return 0;
    uint64_t number = 0;
    for (const char *p = address->sun_path + 1 + prefix_len; p < (const char *)address + len && *p;
         p++) {
        if (*p < '0' || *p > '9' || number > UINT32_MAX)
            return 0;
        number = number * 10 + (unsigned)(*p - '0');
    }
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

const char *socket_base(void)
{
    const char *base = getenv("IBSIM_SOCKNAME");
    return base != NULL ? base : "sim";
}

bool socket_base_check(const char *base)
{
    if (*base != '\0' && strlen(base) <= SOCKET_BASE_MAX)
        return true;
    fprintf(stderr, "fabsim: a socket name has 1 to %d characters\n", SOCKET_BASE_MAX);
    return false;
}

bool socket_peer_trusted(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}
