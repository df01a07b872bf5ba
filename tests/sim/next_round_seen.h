/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SIM_NEXT_ROUND_SEEN_H
#define TESTS_SIM_NEXT_ROUND_SEEN_H

#include <stdbool.h>

/* Returns false, and prints lines on stdout, if the manager chose a round in a state for which the
 * table has no row. */
bool next_rounds_in_table(void);

#endif
