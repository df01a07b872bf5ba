/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins all threads of the process to one CPU (one logical processor, not a socket). */
#ifndef FABRICD_TRANSPORT_THREAD_PINNING_H
#define FABRICD_TRANSPORT_THREAD_PINNING_H

/*
 * Pins all threads of the process, and threads that they start later, to the CPU of the calling
 * thread. If the system refuses the pinning, fabricd works more slowly.
 *
 * The preload library of ibsim receives MADs in its own thread. All its functions take the same
 * lock, once for each MAD that is sent or received. On two CPUs, the library's thread and the loop
 * thread contend for the lock and wake each other for every MAD. On one CPU, the thread that runs
 * handles all waiting MADs before the other thread runs. (On a machine with two CPUs, pinning
 * shortened the bring-up of 11,664 hosts on ibsim from 3.8 s to 1.9 s, and its CPU time from 3.2 s
 * to 1.8 s.)
 */
void pin_threads(void);

#endif
