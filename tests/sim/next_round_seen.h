/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SIM_NEXT_ROUND_SEEN_H
#define TESTS_SIM_NEXT_ROUND_SEEN_H

#include <stdbool.h>

/* Returns true if the table has a row for each state in which the manager chose its next round.
 * Otherwise prints the missing rows. */
bool next_rounds_in_table(void);

#endif
