/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses singular or plural in messages: "1 switch", "2 switches". */
#ifndef LIBFABMGR_BASE_PLURAL_H
#define LIBFABMGR_BASE_PLURAL_H

#include <stdint.h>

/* fab_base_plural returns `one` if `n` is 1, otherwise `many`, as in fab_base_plural(n, "is",
 * "are"). fab_base_plural_s and fab_base_plural_es return the ending of a plural, or "" if `n` is
 * 1, as in "%u switch%s" with `n` and fab_base_plural_es(n). */
static inline const char *fab_base_plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}
static inline const char *fab_base_plural_s(uint64_t n)
{
    return fab_base_plural(n, "", "s");
}
static inline const char *fab_base_plural_es(uint64_t n)
{
    return fab_base_plural(n, "", "es");
}

#endif
