/* SPDX-License-Identifier: BSD-3-Clause */
/* Small sets of node GUIDs, in the order in which the GUIDs were added. Only sm_guids_remove
 * changes the order: the last GUID takes the place of the removed one. */
#ifndef FABRICD_SM_CORE_GUIDS_H
#define FABRICD_SM_CORE_GUIDS_H

#include <stdbool.h>
#include <stdint.h>

/* maximum number of GUIDs in a set; if more nodes are suspects, the manager does a heavy sweep
 * instead of a targeted sweep */
#define SM_GUIDS_MOST 256

struct sm_guids {
    uint64_t guid[SM_GUIDS_MOST];
    uint32_t count;
    /* More GUIDs were added than the set can hold, so some are missing. */
    bool many;
};
bool sm_guids_have(const struct sm_guids *g, uint64_t guid);
void sm_guids_add(struct sm_guids *g, uint64_t guid);
void sm_guids_remove(struct sm_guids *g, uint64_t guid);

#endif
