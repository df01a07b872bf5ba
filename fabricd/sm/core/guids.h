/* SPDX-License-Identifier: BSD-3-Clause */
/* Short sets of node GUIDs, in the order in which they were added. */
#ifndef FABRICD_SM_CORE_GUIDS_H
#define FABRICD_SM_CORE_GUIDS_H

#include <stdbool.h>
#include <stdint.h>

#define SM_GUIDS_MOST 256 /* more suspects than this lead to a heavy sweep */

struct sm_guids {
    uint64_t guid[SM_GUIDS_MOST];
    uint32_t count;
    bool many; /* GUIDs were left out because the set is full */
};
bool sm_guids_have(const struct sm_guids *g, uint64_t guid);
void sm_guids_add(struct sm_guids *g, uint64_t guid);
void sm_guids_remove(struct sm_guids *g, uint64_t guid);

#endif
