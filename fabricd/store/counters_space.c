/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a part of the disk free. The database of the manager is usually on the same disk, and if
 * this disk is full, the manager refuses all changes. The history must therefore stop growing
 * before the disk is full.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "fabricd/base/log.h"
#include "fabricd/store/counters_state.h"

/* The history leaves a 20th of the disk free, but at most 1 GiB. */
#define PART 20
#define RESERVE_MOST (UINT64_C(1) << 30)

uint64_t counters_space_limit(struct counters_space *s, uint64_t limit, uint64_t disk,
                              uint64_t unused, uint64_t bytes)
{
    uint64_t reserve = disk / PART < RESERVE_MOST ? disk / PART : RESERVE_MOST;
    if (unused >= reserve)
        s->low = false;
    else if (!s->low)
        *s = (struct counters_space){.low = true, .bytes = bytes};
    return s->low && s->bytes < limit ? s->bytes : limit;
}

uint64_t counters_limit_now(struct counters *c, uint64_t limit)
{
    struct statvfs v;
    struct stat st;
    bool was_low = c->space.low;
    if (statvfs(c->dir, &v) != 0)
        return limit;
    limit = counters_space_limit(&c->space, limit, (uint64_t)v.f_blocks * v.f_frsize,
                                 (uint64_t)v.f_bavail * v.f_frsize,
                                 stat(c->path, &st) == 0 ? (uint64_t)st.st_size : 0);
    if (c->space.low && !was_low)
        log_warning(
            "store",
            "the disk of %s is almost full: the history of counters does not grow, and loses "
            "its oldest samples; free space on the disk, or lower counters.max_size",
            c->path);
    return limit;
}
