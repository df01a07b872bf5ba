/* SPDX-License-Identifier: BSD-3-Clause */
/* Damping of hand-overs. A manager that repeatedly became master and lost the role again, for
 * example because it crashes, is not handed the role for some time. This time doubles with each
 * further loss. The functions do no I/O. Times are microseconds of any monotonic clock. */
#ifndef LIBFABMGR_SMSTATE_HOLDS_H
#define LIBFABMGR_SMSTATE_HOLDS_H

#include <stdint.h>

/* Maximum number of managers whose losses are remembered. */
#define FAB_SMSTATE_HELD 16
/* The longest hold in us. If the last loss of a manager is at least twice this time ago, all its
 * losses are forgotten. */
#define FAB_SMSTATE_HOLD_MAX_US UINT64_C(3600000000)

struct fab_smstate_loss {
    uint64_t guid;
    uint32_t losses;
    uint64_t last_us; /* time of the last loss */
};
struct fab_smstate_holds {
    struct fab_smstate_loss of[FAB_SMSTATE_HELD];
    uint32_t count;
};
/* Notes that the manager lost the role of master without handing it over. If the list is full, the
 * manager whose last loss is longest ago is forgotten. */
void fab_smstate_holds_lost(struct fab_smstate_holds *h, uint64_t guid, uint64_t now_us);
/* Returns the time until which the manager is not handed the role; 0: it may be handed the role
 * now. The first loss causes no hold, and the second loss causes a hold of first_us. If first_us is
 * 0, no loss causes a hold. */
uint64_t fab_smstate_holds_until(const struct fab_smstate_holds *h, uint64_t guid,
                                 uint64_t first_us, uint64_t now_us);

#endif
