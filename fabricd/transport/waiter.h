/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A waiter makes a umad descriptor that the kernel does not know (the preload library's) usable
 * by the loop: a thread waits for the first MAD, makes an eventfd readable, and then sleeps
 * until the loop has read all MADs. The thread reads none itself, so that a burst of MADs costs
 * one thread switch.
 */
#ifndef FABRICD_TRANSPORT_WAITER_H
#define FABRICD_TRANSPORT_WAITER_H

struct waiter;
struct waiter *waiter_new(int umad_port); /* armed; NULL: out of memory, descriptors or threads */
void waiter_free(struct waiter *w);       /* NULL is fine */
int waiter_fd(const struct waiter *w);    /* readable from the first MAD until waiter_rearm */
void waiter_rearm(struct waiter *w); /* call after everything was read: waits for the next MAD */

#endif
