/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints drains and their cost. */
#ifndef CLI_CTL_SHOW_DRAIN_H
#define CLI_CTL_SHOW_DRAIN_H

#include "cli/ctl/output.h"
#include "fabric/v1/drain.pb-c.h"
#include "fabric/v1/quality.pb-c.h"

const char *show_drain_kind(Fabric__V1__DrainKind kind);    /* returns "switch", for example */
const char *show_drain_state(Fabric__V1__DrainState state); /* returns "moving", for example */
enum out_tone tone_drain_state(Fabric__V1__DrainState state);
/* Writes the values of a drain that appear in JSON output. */
void out_drain_keys(struct out *o, const Fabric__V1__Drain *d);
/* Writes a drain that has just started or is complete: a line in text output, the record "drain" in
 * JSON. */
void say_drain(struct out *o, const Fabric__V1__Drain *d);
/* Writes what a drain would cost. cost NULL: the quality of the routes after the drain is not
 * known. */
void say_drain_cost(struct out *o, Fabric__V1__DrainKind kind,
                    const Fabric__V1__GetDrainPreviewResponse *p,
                    const Fabric__V1__WhatIfResponse *cost);
/* Writes how many hosts of a job are connected to the drained switches. */
void say_drain_job(struct out *o, uint32_t hosts);

#endif
