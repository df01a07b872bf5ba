/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that an operator has forgotten (forgotten.h). */
#include "fabricd/store/forgotten.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabricd/base/clock.h"
#include "fabricd/store/sql.h"
#include "libfabmgr/base/status.h"

int forgotten_note(sqlite3 *db, const struct record_forget *forget)
{
    char which[80], sql[500];
    if (!forget->decided)
        return FAB_OK;
    if (forget->guid != 0)
        snprintf(which, sizeof(which), "guid = '0x%016" PRIx64 "'", forget->guid);
    else
        snprintf(which, sizeof(which), "gone_since < %" PRId64, forget->before);
    snprintf(sql, sizeof(sql),
             "INSERT OR REPLACE INTO forgotten_node(node_guid, time_s) SELECT guid, %" PRId64
             " FROM node WHERE current = 0 AND %s;"
             "DELETE FROM forgotten_node WHERE node_guid IN (SELECT node_guid FROM forgotten_node "
             "ORDER BY time_s DESC, node_guid LIMIT -1 OFFSET %d);",
             clock_unix_us() / 1000000, which, FORGOTTEN_KEPT);
    return sql_status(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

#define FORGOTTEN                                                                                  \
    "(SELECT guid FROM node JOIN forgotten_node ON node_guid = guid WHERE current = 0 AND "        \
    "last_seen <= time_s)"

int forgotten_apply(sqlite3 *db)
{
    return sql_status(sqlite3_exec(db,
                                   "DELETE FROM port WHERE node_guid IN " FORGOTTEN ";"
                                   "DELETE FROM inventory_device WHERE node_guid IN " FORGOTTEN ";"
                                   "DELETE FROM inventory_module WHERE node_guid IN " FORGOTTEN ";"
                                   "DELETE FROM link WHERE current = 0 AND (node_a IN " FORGOTTEN
                                   " OR node_b IN " FORGOTTEN ");"
                                   "DELETE FROM node WHERE guid IN " FORGOTTEN ";",
                                   NULL, NULL, NULL));
}
