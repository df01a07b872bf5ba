/* SPDX-License-Identifier: BSD-3-Clause */
/* Damping of hand-overs. If a manager repeatedly becomes master and loses the role again, for
 * example because it crashes, this manager does not hand over to it for some time. This time
 * doubles with each further loss. The functions do no I/O. Times are microseconds of any monotonic
 * clock. */
#ifndef LIBFABMGR_SMSTATE_HOLDS_H
#define LIBFABMGR_SMSTATE_HOLDS_H

#include <stdint.h>

/* Maximum number of managers whose losses are remembered. */
#define FAB_SMSTATE_HELD 16
/* Maximum time in us for which this manager does not hand over to another manager that lost the
 * role of master. The losses of a manager are forgotten if it does not lose the role again for
 * twice this time. */
#define FAB_SMSTATE_HOLD_MAX_US UINT64_C(3600000000)

struct fab_smstate_loss {
    uint64_t guid;
    uint32_t losses;
    uint64_t last_us; /* time in us of the last loss of the role */
};
struct fab_smstate_holds {
    struct fab_smstate_loss of[FAB_SMSTATE_HELD];
    uint32_t count;
};
/* Notes that the manager `guid` lost the role of master without handing it over. If h->of[] is
 * full, first forgets the manager whose last loss is the oldest. */
void fab_smstate_holds_lost(struct fab_smstate_holds *h, uint64_t guid, uint64_t now_us);
/* Returns the time until which this manager must not hand over to the manager `guid`; 0: it may
 * hand over now. The first loss has no effect. After the second loss, this manager does not hand
 * over for first_us; each further loss doubles this duration, up to FAB_SMSTATE_HOLD_MAX_US. If
 * `first_us` is 0, losses have no effect. */
uint64_t fab_smstate_holds_until(const struct fab_smstate_holds *h, uint64_t guid,
                                 uint64_t first_us, uint64_t now_us);

#endif
