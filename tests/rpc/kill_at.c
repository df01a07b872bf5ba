/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A preload library that simulates a power failure. It counts the calls of renameat, unlinkat and
 * fsync, beginning with 0. The process kills itself before the call with the number in the
 * environment variable KILL_AT.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void count_step(void)
{
    static long steps;
    const char *last = getenv("KILL_AT");
    if (last != NULL && steps++ == strtol(last, NULL, 10))
        kill(getpid(), SIGKILL);
}

int fsync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    count_step();
    return next(fd);
}

int unlinkat(int dir, const char *name, int flags)
{
    int (*next)(int, const char *, int) =
        (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
    count_step();
    return next(dir, name, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    int (*next)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
    count_step();
    return next(from_dir, from, to_dir, to);
}
