/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A waiter lets the loop wait for MADs on a descriptor of ibsim's preload library, which the kernel
 * does not know. A thread waits for the first MAD, makes an eventfd readable, and then sleeps until
 * the loop has read all MADs. The thread reads no MADs itself, so that a burst of MADs costs one
 * thread switch.
 */
#ifndef FABRICD_TRANSPORT_WAITER_H
#define FABRICD_TRANSPORT_WAITER_H

struct waiter;
/* Creates a waiter. Its thread waits for a MAD at once. NULL: out of memory, descriptors or
 * threads. */
struct waiter *waiter_new(int umad_port);
void waiter_free(struct waiter *w);    /* NULL is fine */
int waiter_fd(const struct waiter *w); /* readable from the first MAD until waiter_rearm */
/* Lets the thread wait for the next MAD; call it after all MADs were read. */
void waiter_rearm(struct waiter *w);

#endif
