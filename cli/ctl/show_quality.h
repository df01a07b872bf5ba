/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints quality figures. */
#ifndef CLI_CTL_SHOW_QUALITY_H
#define CLI_CTL_SHOW_QUALITY_H

#include "cli/ctl/output.h"
#include "fabric/v1/quality.pb-c.h"

/* JSON only: writes all figures to a record or row, with keys that begin with prefix
 * ("before_"). */
void out_quality_keys(struct out *o, const char *prefix, const Fabric__V1__Quality *q);
/* The figures as text lines, and the tables "hops" and "worst". */
void out_quality(struct out *o, const Fabric__V1__Quality *q);
/* A verdict as a word, such as "sound", and its tone. */
const char *show_verdict(const Fabric__V1__Verdict *v);
enum out_tone tone_verdict(const Fabric__V1__Verdict *v);
/* Writes the traffic classes that would have to share VLs with this engine; in text output after
 * the label, or not at all if it is NULL. */
void out_class_notes(struct out *o, const char *label, const Fabric__V1__EngineReport *r);

#endif
