/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts width and speed of a link between text and bits of PortInfo. For this folder only; other
 * folders use fab_fabric_text_parse_rate of text.h.
 */
#ifndef LIBFABMGR_FABRIC_RATE_H
#define LIBFABMGR_FABRIC_RATE_H

#include "libfabmgr/wire/wire.h"

/* The next two functions apply a mask that an option of ibsim gives: w= for the width, s= for the
 * speed. All bits of the mask become enabled, and the greatest width or speed among them becomes
 * active. RANGE: a bit has no meaning, or no bit is set. */
int fab_fabric_rate_width_mask(struct fab_port_info *info, uint64_t mask);
int fab_fabric_rate_speed_mask(struct fab_port_info *info, uint64_t mask);
/* Applies the mask that the option e= of ibsim gives for the extended speed. All bits of the mask
 * become enabled, and the highest becomes active; mask 0: no extended speed. RANGE: a bit has no
 * meaning. */
int fab_fabric_rate_extended_mask(struct fab_port_info *info, uint64_t mask);

/* The next two functions return the name of the active width, such as "4x", or of the active speed,
 * such as "EDR"; "": not known. */
const char *fab_fabric_rate_width_name(const struct fab_port_info *info);
const char *fab_fabric_rate_speed_name(const struct fab_port_info *info);

#endif
