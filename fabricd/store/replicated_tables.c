/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of replicated tables, and the SQL that reads, writes and marks their rows. A table that
 * all managers must know needs only a line here.
 *
 * Some tables are not replicated: the journal, the audit log and the counters, and what each
 * manager sees in the fabric by itself (nodes, ports, links, records of published tables).
 */
#include "fabricd/store/replicated_tables.h"

#include <string.h>

const struct replicated_table replicated_tables[REPLICATED_TABLES] = {
    {"meta",
     {"key", "value"},
     1,
     "%s.key IN ('baseline', 'hosts_asked', 'freeze', 'policy_settled')"},
    {"lease", {"port_guid", "lid", "lmc", "current", "~first_seen", "~last_seen"}, 1, NULL},
    {"disabled_port", {"node_guid", "port", "since"}, 2, NULL},
    {"isolated_link",
     {"node_a", "port_a", "node_b", "port_b", "name_a", "name_b", "since_us", "operated", "cause"},
     2,
     NULL},
    {"drain", {"id", "kind", "name", "since_us", "until_us", "person", "reason", "force"}, 1, NULL},
    {"drain_node", {"drain", "guid"}, 2, NULL},
    {"drain_link", {"drain", "node_a", "port_a", "node_b", "port_b", "name_a", "name_b"}, 3, NULL},
    {"spared_link", {"node_guid", "port", "since"}, 2, NULL},
    {"service", {"id", "gid", "pkey", "ends_us", "owner", "#record"}, 3, NULL},
    {"subscription", {"gid", "number", "trusted", "#record"}, 2, NULL},
    {"multicast_group", {"mgid", "mlid", "#record"}, 1, NULL},
    {"multicast_member", {"mgid", "gid", "join_state", "proxy_join"}, 2, NULL},
    {"alias_guid", {"port_guid", "place", "guid"}, 2, NULL},
    {"policy_version", {"version", "time_us", "person", "reason", "hash", "text"}, 1, NULL},
    {"name_pin", {"node_guid", "name", "since_us", "approved_by"}, 1, NULL},
    {"approved_place",
     {"node_guid", "port", "port_guid", "near_guid", "near_port", "is_switch", "name", "since_us",
      "approved_by"},
     2,
     NULL},
    {"forgotten_node", {"node_guid", "time_s"}, 1, NULL},
    {"shared_key", {"name", "#sealed"}, 1, NULL},
};

const struct replicated_table *replicated_table(const char *name)
{
    for (size_t i = 0; i < REPLICATED_TABLES; i++)
        if (strcmp(replicated_tables[i].name, name) == 0)
            return &replicated_tables[i];
    return NULL;
}

/* Returns the name of column `i` without the sign '~' or '#' before it; NULL: there is no such
 * column. */
static const char *column(const struct replicated_table *t, int i)
{
    const char *name = i < REPLICATED_COLUMNS ? t->column[i] : NULL;
    return name != NULL && (name[0] == '~' || name[0] == '#') ? name + 1 : name;
}

/* Appends the SQL condition that selects the row with the key in parameter ?1. */
static void add_where(struct fab_text *to, const struct replicated_table *t)
{
    fab_base_text_add(to, " WHERE ");
    for (int i = 0; i < t->keys; i++)
        fab_base_text_addf(to, "%s%s = json_extract(?1, '$[%d]')", i > 0 ? " AND " : "",
                           column(t, i), i);
}

/* Appends an SQL expression for the key of a row as a JSON array. row: the SQL name of the row,
 * such as "NEW" or the name of the table. */
static void add_key(struct fab_text *to, const struct replicated_table *t, const char *row)
{
    fab_base_text_add(to, "json_array(");
    for (int i = 0; i < t->keys; i++)
        fab_base_text_addf(to, "%s%s.%s", i > 0 ? ", " : "", row, column(t, i));
    fab_base_text_add(to, ")");
}

static void add_only(struct fab_text *to, const struct replicated_table *t, const char *before,
                     const char *row)
{
    const char *rest = t->only != NULL ? strstr(t->only, "%s") : NULL;
    if (rest != NULL)
        fab_base_text_addf(to, "%s%s%s", before, row, rest + 2);
}

void replicated_select(struct fab_text *to, const struct replicated_table *t)
{
    fab_base_text_add(to, "SELECT json_object(");
    for (int i = t->keys; column(t, i) != NULL; i++)
        fab_base_text_addf(to, t->column[i][0] == '#' ? "%s'%s', hex(%s)" : "%s'%s', %s",
                           i > t->keys ? ", " : "", column(t, i), column(t, i));
    fab_base_text_addf(to, ") FROM %s", t->name);
    add_where(to, t);
    add_only(to, t, " AND ", t->name);
}

void replicated_put(struct fab_text *to, const struct replicated_table *t)
{
    fab_base_text_addf(to, "INSERT OR REPLACE INTO %s(", t->name);
    for (int i = 0; column(t, i) != NULL; i++)
        fab_base_text_addf(to, "%s%s", i > 0 ? ", " : "", column(t, i));
    fab_base_text_add(to, ") SELECT ");
    for (int i = 0; i < t->keys; i++)
        fab_base_text_addf(to, "%sjson_extract(?1, '$[%d]')", i > 0 ? ", " : "", i);
    for (int i = t->keys; column(t, i) != NULL; i++)
        fab_base_text_addf(to,
                           t->column[i][0] == '#' ? ", replica_bytes(json_extract(?2, '$.%s'))"
                                                  : ", json_extract(?2, '$.%s')",
                           column(t, i));
}

void replicated_delete(struct fab_text *to, const struct replicated_table *t)
{
    fab_base_text_addf(to, "DELETE FROM %s", t->name);
    add_where(to, t);
    add_only(to, t, " AND ", t->name);
}

/* Appends a trigger that marks a changed row. row: "NEW" or, for a trigger on deletions, "OLD". */
static void add_trigger(struct fab_text *to, const struct replicated_table *t, const char *event,
                        const char *row, const char *differs)
{
    fab_base_text_addf(to, "CREATE TEMP TRIGGER replica_%s_%s AFTER %s ON main.%s ", t->name, event,
                       event, t->name);
    fab_base_text_add(to, "WHEN replica_marks()");
    add_only(to, t, " AND ", row);
    fab_base_text_addf(
        to, "%s BEGIN DELETE FROM replica_pending WHERE tbl = '%s' AND key = ", differs, t->name);
    add_key(to, t, row);
    /* Use DELETE and INSERT instead of INSERT OR REPLACE. If the statement that fires the trigger
     * has a conflict clause, such as OR IGNORE, SQLite applies that clause in the trigger, too,
     * instead of OR REPLACE. */
    fab_base_text_addf(to, "; INSERT INTO replica_pending(tbl, key, version) VALUES ('%s', ",
                       t->name);
    add_key(to, t, row);
    fab_base_text_add(to, ", replica_version()); END;");
}

void replicated_triggers(struct fab_text *to, const struct replicated_table *t)
{
    struct fab_text differs = {0};
    fab_base_text_add(&differs, " AND (0");
    for (int i = t->keys; column(t, i) != NULL; i++)
        if (t->column[i][0] != '~')
            fab_base_text_addf(&differs, " OR OLD.%s IS NOT NEW.%s", column(t, i), column(t, i));
    fab_base_text_add(&differs, ")");
    add_trigger(to, t, "INSERT", "NEW", "");
    add_trigger(to, t, "UPDATE", "NEW", fab_base_text_get(&differs));
    add_trigger(to, t, "DELETE", "OLD", "");
    if (differs.status < 0)
        to->status = differs.status;
    fab_base_text_fini(&differs);
}

void replicated_mark_all(struct fab_text *to, const struct replicated_table *t)
{
    fab_base_text_addf(
        to, "INSERT OR REPLACE INTO replica_pending(tbl, key, version) SELECT '%s', ", t->name);
    add_key(to, t, t->name);
    fab_base_text_addf(to, ", replica_version() FROM %s", t->name);
    add_only(to, t, " WHERE ", t->name);
    fab_base_text_add(to, ";");
}

void replicated_delete_unseen(struct fab_text *to, const struct replicated_table *t)
{
    fab_base_text_addf(to,
                       "DELETE FROM %s WHERE NOT EXISTS (SELECT 1 FROM replica_seen AS s WHERE "
                       "s.tbl = '%s' AND s.key = ",
                       t->name, t->name);
    add_key(to, t, t->name);
    fab_base_text_add(to, ")");
    add_only(to, t, " AND ", t->name);
    fab_base_text_addf(to,
                       " AND NOT EXISTS (SELECT 1 FROM replica_pending AS p WHERE p.tbl = '%s' "
                       "AND p.key = ",
                       t->name);
    add_key(to, t, t->name);
    fab_base_text_add(to, ");");
}
