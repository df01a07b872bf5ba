/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's socket: Unix, or TCP with TLS. Every operation has a deadline. */
#ifndef LIBFABMGR_CLIENT_SOCKET_H
#define LIBFABMGR_CLIENT_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libfabmgr/client/client.h"

uint64_t fab_client_now_ms(void);
#define CLIENT_NEVER UINT64_MAX

struct client_socket;
/* Connects to the address in the options. Returns INVAL (the address or its TLS files are not
 * valid), IO (the connection failed, or was not made in time) or NOMEM, with a sentence for the
 * user in why[] (not always after NOMEM). */
int fab_client_socket_open(const struct fab_client_options *o, uint64_t deadline_ms,
                           struct client_socket **ret, char *why, size_t why_len);
/* Another thread may call this function: it makes the running and all later reads and writes fail.
 */
void fab_client_socket_interrupt(struct client_socket *s);
void fab_client_socket_close(struct client_socket *s); /* s may be NULL */
/* Writes all bytes. Returns OK, IO, TIMEOUT (the deadline has passed) or TRUNCATED (the server
 * closed the TLS connection). */
int fab_client_socket_write(struct client_socket *s, const uint8_t *data, size_t len,
                            uint64_t deadline_ms);
/* Reads at least one byte. Returns the number of bytes; 0: the server has closed the connection; or
 * the error IO or TIMEOUT. */
ssize_t fab_client_socket_read(struct client_socket *s, uint8_t *data, size_t len,
                               uint64_t deadline_ms);
/* Returns why the server refused the client's certificate, in static memory; NULL: the server did
 * not refuse it. Call this function after a read or write has failed. */
const char *fab_client_socket_refusal(const struct client_socket *s);

#endif
