/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes names of abstract sockets in the same way as ibsim and libumad2sim. */
#ifndef CLI_SIM_SOCKET_H
#define CLI_SIM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SOCKET_BASE_MAX 80 /* bytes of a base name */
#define SOCKET_COMMANDS "fabsim"

struct socket_name {
    struct sockaddr_un address;
    socklen_t len;
};
/* Make the name "BASE:ROLE" or "BASE:ROLE123". Its length includes a NUL after the name, as in
 * ibsim. */
struct socket_name socket_name(const char *base, const char *role);
struct socket_name socket_name_numbered(const char *base, const char *role, uint32_t number);
/* Returns the number at the end of "BASE:ROLE123"; 0: the name does not have this form. */
uint32_t socket_name_number(const struct sockaddr_un *address, socklen_t len, const char *base,
                            const char *role);
/* Returns the base name that clients with the same environment use: the value of IBSIM_SOCKNAME,
 * otherwise "sim". */
const char *socket_base(void);
/* Returns whether a base name can be used; if not, prints the reason. */
bool socket_base_check(const char *base);
/* Returns whether the peer process belongs to our user or to root. */
bool socket_peer_trusted(int fd);

#endif
