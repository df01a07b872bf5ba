/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the names of abstract sockets in the same way as ibsim and libumad2sim. */
#ifndef CLI_SIM_SOCKET_H
#define CLI_SIM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SOCKET_BASE_MAX 80 /* maximum length of a base name in bytes */
#define SOCKET_COMMANDS "fabsim"

struct socket_name {
    struct sockaddr_un address;
    socklen_t len;
};
/* The next two functions return the name of a socket: "BASE:ROLE", or "BASE:ROLE123" with a number.
 * As in ibsim, the name ends with a NUL, which counts in its length. */
struct socket_name socket_name(const char *base, const char *role);
struct socket_name socket_name_numbered(const char *base, const char *role, uint32_t number);
/* Returns the number at the end of a name "BASE:ROLE123". Returns 0 if the name does not have this
 * form. */
uint32_t socket_name_number(const struct sockaddr_un *address, socklen_t len, const char *base,
                            const char *role);
/* Returns the base of the socket names: the environment variable IBSIM_SOCKNAME or, if it is not
 * set, "sim". Clients with the same environment use the same base. */
const char *socket_base(void);
/* Returns whether this base name can be used. If not, prints the reason. */
bool socket_base_check(const char *base);
/* Returns true if the process at the other end of the socket belongs to root, or to the user who
 * runs this process. */
bool socket_peer_trusted(int fd);

#endif
