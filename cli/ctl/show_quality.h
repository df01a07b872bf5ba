/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the quality figures of routes. */
#ifndef CLI_CTL_SHOW_QUALITY_H
#define CLI_CTL_SHOW_QUALITY_H

#include "cli/ctl/output.h"
#include "fabric/v1/quality.pb-c.h"

/* Writes all quality figures to a record or row, in JSON output only. The keys begin with `prefix`,
 * such as "before_". */
void out_quality_keys(struct out *o, const char *prefix, const Fabric__V1__Quality *q);
/* Writes the quality figures as text lines, and as the tables "hops" and "worst". */
void out_quality(struct out *o, const Fabric__V1__Quality *q);
/* show_verdict returns a word for the result of a verification, such as "sound". tone_verdict
 * returns the tone (output.h) in which this word is shown. */
const char *show_verdict(const Fabric__V1__Verdict *v);
enum out_tone tone_verdict(const Fabric__V1__Verdict *v);
/* Writes which traffic classes would have to share VLs if the engine of report `r` made the routes.
 * Text output has the label before the text; label == NULL: JSON output only. */
void out_class_notes(struct out *o, const char *label, const Fabric__V1__EngineReport *r);

#endif
