/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that several files of verbs use. */
#ifndef TESTS_SIM_VERBS_H
#define TESTS_SIM_VERBS_H

#include "tests/sim/scenario.h"

scenario_act scenario_expect;
/* Reads "NODE/PORT". *ret_node: node id. *ret_port: port number. Returns false if the fabric has no
 * such port. */
bool verb_place(struct stage *s, const char *word, uint32_t *ret_node, uint8_t *ret_port);

#endif
