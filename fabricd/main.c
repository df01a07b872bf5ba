/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for fabricd until it is here. */
#include "libfabmgr/base/version.h"

#include <stdio.h>

int main(void)
{
    printf("fabricd %s\n", fab_version());
    return 0;
}
