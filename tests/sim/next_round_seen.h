/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SIM_NEXT_ROUND_SEEN_H
#define TESTS_SIM_NEXT_ROUND_SEEN_H

#include <stdbool.h>

/* False, with a line on stdout: the manager chose a round by facts that the table lacks. */
bool next_rounds_in_table(void);

#endif
