/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A waiter makes a umad descriptor that the kernel does not know (the preload library's) look like
 * one that the loop can watch: a thread waits for the first MAD and makes an eventfd readable, then
 * rests until the loop has taken all that was there. It reads nothing itself, so that a burst of
 * MADs costs one change of threads.
 */
#ifndef FABRICD_TRANSPORT_WAITER_H
#define FABRICD_TRANSPORT_WAITER_H

struct waiter;
struct waiter *waiter_new(int umad_port); /* armed; NULL: no memory, descriptor or thread */
void waiter_free(struct waiter *w);       /* NULL is fine */
int waiter_fd(const struct waiter *w);    /* readable from the first MAD until waiter_rearm */
void waiter_rearm(struct waiter *w);      /* everything was read: wait for the next MAD */

#endif
