/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * old_database FILE: makes a database with the schema before the present one, that is, with all
 * migration steps except the last one, and prints its version.
 */
#include <stdio.h>

#include "fabricd/store/schema.h"
#include "libfabmgr/base/status.h"

int main(int argc, char **argv)
{
    const struct schema_steps before = {schema_steps.sql, schema_steps.count - 1};
    char why[600] = "";
    sqlite3 *db = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: old_database FILE\n");
        return 2;
    }
    if (schema_open(argv[1], &before, &db, why, sizeof(why)) != FAB_OK) {
        fprintf(stderr, "old_database: %s\n", why);
        return 1;
    }
    sqlite3_close(db);
    printf("%d\n", before.count);
    return 0;
}
