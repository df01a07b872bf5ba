/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rounds and struct sm_wiring, for the files of fabricd/sm/wiring. */
#ifndef FABRICD_SM_WIRING_WIRING_H
#define FABRICD_SM_WIRING_WIRING_H

#include "fabricd/sm/core/core.h"

extern const struct sm_round sm_rounds[SM_ROUND_KINDS];
extern const struct sm_wiring sm_wiring;

#endif
