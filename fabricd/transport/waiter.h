/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A waiter lets the loop wait for MADs on a descriptor of ibsim's preload library. The kernel does
 * not know such descriptors, so the loop cannot watch them itself. The waiter's thread waits for
 * the first MAD, makes an eventfd readable, and then sleeps until the loop has read all MADs. The
 * thread itself reads no MADs, so a burst of MADs causes only one thread switch.
 */
#ifndef FABRICD_TRANSPORT_WAITER_H
#define FABRICD_TRANSPORT_WAITER_H

struct waiter;
/* Creates a waiter. Its thread starts to wait for a MAD immediately. Returns NULL if memory,
 * descriptors or threads ran out. */
struct waiter *waiter_new(int umad_port);
void waiter_free(struct waiter *w); /* w may be NULL */
/* Returns a descriptor for the loop. It becomes readable when a MAD arrives, and stays readable
 * until waiter_rearm is called. */
int waiter_fd(const struct waiter *w);
/* Lets the thread wait for the next MAD. Call this function when all MADs that arrived have been
 * read. */
void waiter_rearm(struct waiter *w);

#endif
