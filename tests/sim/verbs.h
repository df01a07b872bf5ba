/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the verbs share. */
#ifndef TESTS_SIM_VERBS_H
#define TESTS_SIM_VERBS_H

#include "tests/sim/scenario.h"

scenario_act scenario_expect;
/* "NODE/PORT". False: there is no such place. */
bool verb_place(struct stage *s, const char *word, uint32_t *ret_node, uint8_t *ret_port);

#endif
