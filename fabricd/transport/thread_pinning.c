/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins all threads of the process to one CPU (one logical processor, not a socket), so that only
 * one of them runs at a time; thread_pinning.h says why. */
#include "fabricd/transport/thread_pinning.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/types.h>

static void bind_thread(pid_t tid, const cpu_set_t *one)
{
    const struct sched_param none = {0};
    if (sched_setaffinity(tid, sizeof(*one), one) == 0)
        /* With SCHED_BATCH, a thread that becomes ready does not interrupt the thread that is
         * running. */
        (void)sched_setscheduler(tid, SCHED_BATCH, &none);
}

void pin_threads(void)
{
    cpu_set_t one;
    int here = sched_getcpu();
    DIR *threads = opendir("/proc/self/task");
    if (!threads)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)(here < 0 ? 0 : here), &one);
    for (const struct dirent *entry; (entry = readdir(threads));) {
        long tid = strtol(entry->d_name, NULL, 10);
        if (tid > 0)
            bind_thread((pid_t)tid, &one);
    }
    closedir(threads);
}
