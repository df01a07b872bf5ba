/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SIM_NEXT_ROUND_SEEN_H
#define TESTS_SIM_NEXT_ROUND_SEEN_H

#include <stdbool.h>

/* Returns false, and prints a line on stdout, if the manager chose a round by facts that the table
 * does not have. */
bool next_rounds_in_table(void);

#endif
