/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that share a lock for every MAD, made to take turns of many. */
#ifndef FABRICD_TRANSPORT_TURNS_H
#define FABRICD_TRANSPORT_TURNS_H

/*
 * The preload library of ibsim reads in a thread of its own and takes one lock with each MAD that
 * comes or goes. On two processors that thread and ours stumble over the lock all the time, and
 * each time one wakes the other. On one processor, where they do not preempt each other, one reads
 * what there is, and then the other sends what may go. (Bring-up of 11,664 hosts on ibsim with two
 * processors: 1.9 s instead of 3.8, at 1.8 s of CPU time instead of 3.2.)
 *
 * Puts all threads of the process, and those they start later, on the processor we run on. Where
 * the system does not allow it nothing is lost but time.
 */
void turns_take(void);

#endif
