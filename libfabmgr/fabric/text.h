/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes topology files: the format that ibnetdiscover prints and ibsim reads. */
#ifndef LIBFABMGR_FABRIC_TEXT_H
#define LIBFABMGR_FABRIC_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"

struct fab_text_error {
    uint32_t line, column; /* from 1 */
    char message[200];     /* what was found, and what was expected */
};

/* Reads `len` bytes of a topology file, which need not be NUL-terminated. Accepts the variants
 * found in practice: tabs or blanks, Ca/Hca/Rt/Switch, `[ext n]`, LID 65535, quotes and colons in
 * names, comments, switches with 65 ports, a shell prompt at the end. Speeds and widths are taken
 * from the comments; default: 4x EDR. Ports with a link become LinkUp and Init with LID 0, as after
 * power-on. FORMAT: *ret_error has the position and the reason. Also returns NOMEM. */
int fab_fabric_text_read(const char *text, size_t len, struct fab_builder **ret_builder,
                         struct fab_text_error *ret_error);

/* Writes the fabric in a form that fab_fabric_text_read and ibsim can read. *ret_text is
 * NUL-terminated and from malloc. Returns OK or NOMEM. */
int fab_fabric_text_write(const struct fab_fabric *f, char **ret_text, size_t *ret_len);

struct fab_text;
/* The next two functions write the text of fab_fabric_text_write in parts. fab_fabric_text_parts
 * returns the number of parts; fab_fabric_text_write_part appends part number `part` to *t. The
 * caller requests the parts in ascending order, from 0 on. A part has at most one node with its
 * links. */
uint32_t fab_fabric_text_parts(const struct fab_fabric *f);
void fab_fabric_text_write_part(const struct fab_fabric *f, uint32_t part, struct fab_text *t);

/* Sets the width and speed fields of PortInfo for a rate like "4x EDR". FORMAT: the text is not a
 * known rate. fab_wire_link_width and fab_wire_link_speed convert the fields back to text. */
int fab_fabric_text_parse_rate(const char *s, size_t len, struct fab_port_info *info);

#endif
