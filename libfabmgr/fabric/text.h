/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics as text: what ibnetdiscover prints and ibsim loads, in and out. */
#ifndef LIBFABMGR_FABRIC_TEXT_H
#define LIBFABMGR_FABRIC_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"

struct fab_text_error {
    uint32_t line, column; /* from 1 */
    char message[200];     /* what was found, and what was expected */
};

/* Reads `len` bytes (need not be NUL-terminated). Accepts what is found in the field: tabs or
 * blanks, Ca/Hca/Rt/Switch, `[ext n]`, LID 65535, quotes and colons in names, comments, 65th
 * ports, a shell prompt at the end. Speeds and widths from the comments (default 4x EDR).
 * Ports come up as a device after power-on: LinkUp, Init, LID 0, whatever the text says, since
 * the text describes cabling. FORMAT: ret_error says where and why, nothing is built. */
int fab_fabric_text_read(const char *text, size_t len, struct fab_builder **ret_builder,
                         struct fab_text_error *ret_error);

/* Writes the fabric so that fab_fabric_text_read and ibsim load it again; *ret_text is malloc'd,
 * NUL-terminated. */
int fab_fabric_text_write(const struct fab_fabric *f, char **ret_text, size_t *ret_len);
/* The same piece by piece: parts 0 to fab_fabric_text_parts() - 1, in order, appended to t. A part
 * is a node with its cables at most. */
struct fab_text;
uint32_t fab_fabric_text_parts(const struct fab_fabric *f);
void fab_fabric_text_write_part(const struct fab_fabric *f, uint32_t part, struct fab_text *t);

/* "4x EDR" -> bits of PortInfo, and back. FORMAT where unknown. See fab_wire_link_rate in wire. */
int fab_fabric_text_parse_rate(const char *s, size_t len, struct fab_port_info *info);

#endif
