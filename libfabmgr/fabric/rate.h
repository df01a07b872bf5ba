/* SPDX-License-Identifier: BSD-3-Clause */
/* Width and speed of a link, as text and as bits of PortInfo. For this room's files only; the face
 * is fab_fabric_text_parse_rate in text.h. */
#ifndef LIBFABMGR_FABRIC_RATE_H
#define LIBFABMGR_FABRIC_RATE_H

#include "libfabmgr/wire/wire.h"

/* Masks as ibsim's options w=, s= and e= give them: enabled are these, active is the best. RANGE:
 * a bit has no meaning, or none is set. */
int fab_fabric_rate_width_mask(struct fab_port_info *info, uint64_t mask);
int fab_fabric_rate_speed_mask(struct fab_port_info *info, uint64_t mask);
int fab_fabric_rate_extended_mask(struct fab_port_info *info,
                                  uint64_t mask); /* 0: none, plain speeds */

/* "4x" and "EDR" of the active values, "" where unknown. */
const char *fab_fabric_rate_width_name(const struct fab_port_info *info);
const char *fab_fabric_rate_speed_name(const struct fab_port_info *info);

#endif
