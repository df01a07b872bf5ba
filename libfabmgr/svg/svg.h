/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes pictures as SVG 1.1. A picture has its own background, and its colours follow the viewer's
 * choice of a light or dark scheme. The colours of series can be told apart by readers with the
 * common kinds of colour blindness (Okabe and Ito).
 *
 * Elements get their colours from classes: "text" (default of all text), "dim", "grid" and "axis";
 * "s0", "s1", ... (strokes) and "f0", "f1", ... (fills) for series number 0, 1, ... (below
 * FAB_SVG_SERIES); and "good", "warn" and "bad" (fills) for states.
 */
#ifndef LIBFABMGR_SVG_SVG_H
#define LIBFABMGR_SVG_SVG_H

#include "libfabmgr/base/text.h"

#define FAB_SVG_SERIES 6

/* Begins a picture of `width` by `height` pixels. title: name of the picture that viewers show.
 * style: further CSS rules; NULL: none. */
void fab_svg_begin(struct fab_text *t, unsigned width, unsigned height, const char *title,
                   const char *style);
void fab_svg_end(struct fab_text *t);
/* Appends text between tags. The text may have any bytes: invalid UTF-8 and control characters
 * become U+FFFD, and the characters <, > and & become entities. */
void fab_svg_add_escaped(struct fab_text *t, const char *text);

#endif
