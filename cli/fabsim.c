/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for fabsim until it is here. */
#include "libfabmgr/base/version.h"

#include <stdio.h>

int main(void)
{
    printf("fabsim %s\n", fab_version());
    return 0;
}
