/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the configuration file. Any input gives a configuration or an error message. The values of
 * a configuration must be within the limits of the policy.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/config/config.h"
#include "libfabmgr/base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config c;
    char why[600] = "";
    int rc = config_load_text((const char *)data, size, "f.yaml", &c, why, sizeof(why));
    if (rc != FAB_OK) {
        if (strncmp(why, "f.yaml:", 7) != 0)
            abort(); /* the input was refused without a message */
        return 0;
    }
    if (config_check(&c, why, sizeof(why)) != FAB_OK || c.policy.lmc > 7 || c.state_dir == NULL)
        abort();
    config_fini(&c);
    return 0;
}
