/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, checks, migrates and opens the database file.
 *
 * fabricd creates a new file under another name, with its whole schema, and then renames the file.
 * So DIR/fabricd.db is either complete or missing, even if the process is killed. fabricd refuses
 * an existing file that is empty, truncated or of another program. It reads the header of the file
 * before SQLite opens the file, because SQLite may write to a file that it opens (recovery,
 * checkpoint).
 *
 * The schema version (PRAGMA user_version) is the number of migration steps that were applied. Each
 * step runs in its own transaction. Before the first step, fabricd makes a backup of an existing
 * file.
 */
#include "fabricd/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/store/sql.h"
#include "libfabmgr/base/status.h"

/* Times are Unix seconds or, if the name of a column ends in _us, microseconds. GUIDs are text: 0x
 * and 16 hexadecimal digits. The column `current` says whether the row is part of the fabric now.
 * The writer renews last_seen when tables are published, at most every five minutes, and when
 * fabricd stops. */
static const char step_1[] =
    "CREATE TABLE meta ("
    "  key TEXT PRIMARY KEY,"
    "  value TEXT NOT NULL"
    ") WITHOUT ROWID;"
    /* One row for each port that has, or had, a LID. A port that comes back gets the same LID
     * again. */
    "CREATE TABLE lease ("
    "  port_guid TEXT PRIMARY KEY,"
    "  lid INTEGER NOT NULL CHECK (lid > 0)," /* base LID of the port */
    "  lmc INTEGER NOT NULL CHECK (lmc BETWEEN 0 AND 7),"
    "  first_seen INTEGER NOT NULL,"
    "  last_seen INTEGER NOT NULL,"
    "  current INTEGER NOT NULL DEFAULT 1"
    ") WITHOUT ROWID;"
    "CREATE TABLE node ("
    "  guid TEXT PRIMARY KEY,"
    "  kind TEXT NOT NULL," /* switch, adapter, router, aggregation */
    "  description TEXT NOT NULL,"
    "  ports INTEGER NOT NULL,"
    "  vendor_id INTEGER NOT NULL,"
    "  device_id INTEGER NOT NULL,"
    "  system_guid TEXT,"
    "  first_seen INTEGER NOT NULL,"
    "  last_seen INTEGER NOT NULL,"
    "  current INTEGER NOT NULL DEFAULT 1"
    ") WITHOUT ROWID;"
    /* Ports that own a LID: ports of adapters and routers, and port 0 of each switch. */
    "CREATE TABLE port ("
    "  node_guid TEXT NOT NULL REFERENCES node(guid),"
    "  port INTEGER NOT NULL,"
    "  port_guid TEXT,"
    "  lid INTEGER NOT NULL," /* base LID; 0: the port has none */
    "  lmc INTEGER NOT NULL,"
    "  first_seen INTEGER NOT NULL,"
    "  last_seen INTEGER NOT NULL,"
    "  current INTEGER NOT NULL DEFAULT 1,"
    "  PRIMARY KEY (node_guid, port)"
    ") WITHOUT ROWID;"
    /* Links. End a is the end with the lower pair (node GUID, port). */
    "CREATE TABLE link ("
    "  node_a TEXT NOT NULL REFERENCES node(guid),"
    "  port_a INTEGER NOT NULL,"
    "  node_b TEXT NOT NULL REFERENCES node(guid),"
    "  port_b INTEGER NOT NULL,"
    "  width INTEGER NOT NULL," /* number of lanes */
    "  speed TEXT NOT NULL,"    /* speed of one lane, such as "EDR" */
    "  first_seen INTEGER NOT NULL,"
    "  last_seen INTEGER NOT NULL,"
    "  current INTEGER NOT NULL DEFAULT 1,"
    "  PRIMARY KEY (node_a, port_a, node_b, port_b)"
    ") WITHOUT ROWID;"
    /* One row for each generation of forwarding tables that was published. */
    "CREATE TABLE table_set ("
    "  generation INTEGER PRIMARY KEY,"
    "  time_us INTEGER NOT NULL,"
    "  engine TEXT NOT NULL,"
    "  duration_us INTEGER NOT NULL,"
    "  reason TEXT NOT NULL,"
    "  deadlock_free INTEGER NOT NULL,"
    "  unreachable_pairs INTEGER NOT NULL,"
    "  switches INTEGER NOT NULL,"
    "  hosts INTEGER NOT NULL,"
    "  links INTEGER NOT NULL"
    ");"
    "CREATE TABLE event ("
    "  seq INTEGER PRIMARY KEY,"
    "  time_us INTEGER NOT NULL,"
    "  severity TEXT NOT NULL," /* one of: debug, info, warning, error */
    "  type TEXT NOT NULL,"
    "  subject TEXT NOT NULL,"
    "  message TEXT NOT NULL,"
    "  guid TEXT,"
    "  port INTEGER NOT NULL"
    ");"
    /* Ports that an operator disabled. */
    "CREATE TABLE disabled_port ("
    "  node_guid TEXT NOT NULL,"
    "  port INTEGER NOT NULL,"
    "  since INTEGER NOT NULL,"
    "  PRIMARY KEY (node_guid, port)"
    ") WITHOUT ROWID;"
    /* SQL views for people who open the database with the program sqlite3. */
    "CREATE VIEW journal AS SELECT seq,"
    "  strftime('%Y-%m-%dT%H:%M:%f', time_us / 1e6, 'unixepoch') || 'Z' AS time,"
    "  severity, type, subject, message FROM event;"
    "CREATE VIEW cable AS SELECT a.description AS name_a, port_a, b.description AS name_b, port_b,"
    "  width || 'x ' || speed AS rate, datetime(link.first_seen, 'unixepoch') AS first_seen,"
    "  datetime(link.last_seen, 'unixepoch') AS last_seen, link.current AS current"
    "  FROM link JOIN node a ON a.guid = node_a JOIN node b ON b.guid = node_b;";

/* Reroutes: why the tables changed, and how long each step took. time_us is Unix time. The columns
 * after it whose names end in _us are times in microseconds after time_us; 0: the reroute did not
 * have this step. */
static const char step_2[] = "CREATE TABLE reroute ("
                             "  generation INTEGER PRIMARY KEY,"
                             "  time_us INTEGER NOT NULL,"
                             "  cause TEXT NOT NULL,"
                             "  engine TEXT NOT NULL,"
                             "  known_us INTEGER NOT NULL,"
                             "  computed_us INTEGER NOT NULL,"
                             "  proved_us INTEGER NOT NULL,"
                             "  first_write_us INTEGER NOT NULL,"
                             "  last_write_us INTEGER NOT NULL,"
                             "  entries INTEGER NOT NULL,"
                             "  blocks INTEGER NOT NULL,"
                             "  switches INTEGER NOT NULL,"
                             "  failed INTEGER NOT NULL,"
                             "  links_lost INTEGER NOT NULL,"
                             "  links_gained INTEGER NOT NULL,"
                             "  nodes_lost INTEGER NOT NULL,"
                             "  nodes_gained INTEGER NOT NULL"
                             ");";

/* Isolated links that are not released yet. */
static const char step_3[] = "CREATE TABLE isolated_link ("
                             "  node_a TEXT NOT NULL,"
                             "  port_a INTEGER NOT NULL,"
                             "  node_b TEXT NOT NULL,"
                             "  port_b INTEGER NOT NULL,"
                             /* Name of the port at end a, such as "leaf-1/12". */
                             "  name_a TEXT NOT NULL,"
                             "  name_b TEXT NOT NULL,"
                             "  since_us INTEGER NOT NULL,"
                             /* 0: the manager isolated the link because of its flaps or errors; 1:
                              * an operator isolated it; 2: the manager isolated it because its host
                              * misbehaved */
                             "  operated INTEGER NOT NULL,"
                             "  cause TEXT NOT NULL,"
                             "  PRIMARY KEY (node_a, port_a)"
                             ") WITHOUT ROWID;";

/* The registrations of hosts at subnet administration. The columns `record` have the wire format.
 * GIDs are text: eight groups of four hexadecimal digits. */
static const char step_4[] = "CREATE TABLE service ("
                             "  id TEXT NOT NULL,"
                             "  gid TEXT NOT NULL,"
                             "  pkey INTEGER NOT NULL,"
                             /* Unix time at which the registration ends; 0: it does not end */
                             "  ends_us INTEGER NOT NULL,"
                             /* GUID of the port that registered the service. */
                             "  owner TEXT NOT NULL,"
                             "  record BLOB NOT NULL," /* the ServiceRecord in wire format */
                             "  PRIMARY KEY (id, gid, pkey)"
                             ") WITHOUT ROWID;"
                             "CREATE TABLE subscription ("
                             "  gid TEXT NOT NULL,"
                             "  number INTEGER NOT NULL,"
                             "  trusted INTEGER NOT NULL," /* 1: the subscriber gave the sa_key */
                             "  record BLOB NOT NULL,"     /* the InformInfoRecord in wire format */
                             "  PRIMARY KEY (gid, number)"
                             ") WITHOUT ROWID;"
                             "CREATE TABLE multicast_group ("
                             "  mgid TEXT PRIMARY KEY,"
                             "  mlid INTEGER NOT NULL,"
                             /* The MCMemberRecord of the group. Its fields about a single member
                              * (PortGID, JoinState, ProxyJoin) are 0. */
                             "  record BLOB NOT NULL"
                             ") WITHOUT ROWID;"
                             /* Members of all multicast groups. A group that only the configuration
                              * defines has no row in multicast_group. */
                             "CREATE TABLE multicast_member ("
                             "  mgid TEXT NOT NULL,"
                             "  gid TEXT NOT NULL,"
                             "  join_state INTEGER NOT NULL,"
                             "  proxy_join INTEGER NOT NULL,"
                             "  PRIMARY KEY (mgid, gid)"
                             ") WITHOUT ROWID;"
                             "CREATE TABLE alias_guid ("
                             "  port_guid TEXT NOT NULL,"
                             /* index of the alias GUID in the GUIDInfo attribute of the port */
                             "  place INTEGER NOT NULL,"
                             "  guid TEXT NOT NULL,"
                             "  PRIMARY KEY (port_guid, place)"
                             ") WITHOUT ROWID;";

/* Links that the manager must not isolate by itself, because an operator has released them.
 * node_guid and port are one end of the link. */
static const char step_5[] = "CREATE TABLE spared_link ("
                             "  node_guid TEXT NOT NULL,"
                             "  port INTEGER NOT NULL,"
                             "  since INTEGER NOT NULL," /* Unix time in seconds */
                             "  PRIMARY KEY (node_guid, port)"
                             ") WITHOUT ROWID;";

/* The fields of an event, as a JSON object that fabricd-events(7) describes. */
static const char step_6[] = "ALTER TABLE event ADD COLUMN fields TEXT NOT NULL DEFAULT '{}';"
                             "DROP VIEW journal;"
                             "CREATE VIEW journal AS SELECT seq,"
                             "  strftime('%Y-%m-%dT%H:%M:%f', time_us / 1e6, 'unixepoch') || 'Z'"
                             "  AS time, severity, type, subject, message, fields FROM event;";

/* Pins: node names that matched a policy, and the node GUIDs to which these names are bound. */
static const char step_7[] = "CREATE TABLE name_pin ("
                             "  node_guid TEXT PRIMARY KEY,"
                             "  name TEXT NOT NULL," /* the pinned NodeDescription */
                             /* Unix time of the pin, in microseconds. */
                             "  since_us INTEGER NOT NULL,"
                             /* the operator who approved the pin; "": nobody, because the node was
                              * the first one with this name */
                             "  approved_by TEXT NOT NULL"
                             ") WITHOUT ROWID;";

/* The baseline of approved devices: ports of adapters and routers at switch ports, and links
 * between switches. meta.baseline is 1 if a baseline exists. */
static const char step_8[] = "CREATE TABLE approved_place ("
                             "  node_guid TEXT NOT NULL,"
                             "  port INTEGER NOT NULL,"
                             "  port_guid TEXT NOT NULL,"
                             /* node GUID and port number of the other end of the link */
                             "  near_guid TEXT NOT NULL,"
                             "  near_port INTEGER NOT NULL,"
                             "  is_switch INTEGER NOT NULL,"
                             /* NodeDescription at the time of the approval. */
                             "  name TEXT NOT NULL,"
                             /* Unix time of the approval, in microseconds. */
                             "  since_us INTEGER NOT NULL,"
                             "  approved_by TEXT NOT NULL,"
                             "  PRIMARY KEY (node_guid, port)"
                             ") WITHOUT ROWID;";

/* lost_pairs: number of endport pairs that may have had no path while tables changed. lost_us: how
 * long these pairs may have had no path, in microseconds. */
static const char step_9[] = "ALTER TABLE reroute ADD COLUMN lost_pairs INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE reroute ADD COLUMN lost_us INTEGER NOT NULL DEFAULT 0;";

/* The audit log (audit.h). The manager only appends rows, and prunes the first ones. */
static const char step_10[] = "CREATE TABLE audit ("
                              "  seq INTEGER PRIMARY KEY,"
                              "  kind INTEGER NOT NULL," /* enum audit_kind */
                              "  time_us INTEGER NOT NULL,"
                              "  call INTEGER NOT NULL,"
                              "  result INTEGER NOT NULL," /* gRPC code of the result */
                              "  account TEXT NOT NULL,"
                              "  source TEXT NOT NULL,"
                              "  method TEXT NOT NULL,"
                              "  object TEXT NOT NULL,"
                              "  value_before TEXT NOT NULL,"
                              "  value_after TEXT NOT NULL,"
                              "  reason TEXT NOT NULL,"
                              "  message TEXT NOT NULL,"
                              "  mac BLOB NOT NULL"
                              ");"
                              /* These indexes find the END row of a call, and the newest
                               * checkpoint row. */
                              "CREATE INDEX audit_call ON audit(call) WHERE kind = 2;"
                              "CREATE INDEX audit_checkpoint ON audit(seq) WHERE kind = 4;";

/* gone_since: the time at which the manager noticed that the node or link had left the fabric. If
 * it left while fabricd was stopped, gone_since is later than last_seen. For rows of the present
 * fabric, gone_since has no meaning. */
static const char step_11[] = "ALTER TABLE node ADD COLUMN gone_since INTEGER NOT NULL DEFAULT 0;"
                              "ALTER TABLE link ADD COLUMN gone_since INTEGER NOT NULL DEFAULT 0;"
                              "UPDATE node SET gone_since = last_seen WHERE NOT current;"
                              "UPDATE link SET gone_since = last_seen WHERE NOT current;"
                              "CREATE INDEX node_gone ON node(gone_since) WHERE current = 0;"
                              "CREATE INDEX link_gone ON link(gone_since) WHERE current = 0;"
                              "CREATE INDEX link_end_b ON link(node_b, port_b);";

/* Snapshots of the topology (snapshots.h). The column hash is a hash of the topology. */
static const char step_12[] = "CREATE TABLE snapshot ("
                              "  name TEXT PRIMARY KEY,"
                              "  time INTEGER NOT NULL,"
                              /* 1: the manager made it by itself; 0: an operator made it */
                              "  automatic INTEGER NOT NULL,"
                              "  made_by TEXT NOT NULL,"
                              "  hash INTEGER NOT NULL,"
                              "  nodes INTEGER NOT NULL,"
                              "  links INTEGER NOT NULL,"
                              "  size INTEGER NOT NULL," /* size of the topology in bytes */
                              /* the topology in the format of ibnetdiscover */
                              "  topology BLOB NOT NULL"
                              ");";

/* Drains that have not ended, the nodes that they name, and the links that routes avoid. */
static const char step_13[] = "CREATE TABLE drain ("
                              "  id INTEGER PRIMARY KEY,"
                              "  kind INTEGER NOT NULL," /* enum sm_drain_kind */
                              "  name TEXT NOT NULL,"
                              /* Unix times in microseconds; until_us 0: the drain has no time
                               * limit */
                              "  since_us INTEGER NOT NULL,"
                              "  until_us INTEGER NOT NULL,"
                              "  person TEXT NOT NULL,"
                              "  reason TEXT NOT NULL,"
                              "  force INTEGER NOT NULL"
                              ");"
                              "CREATE TABLE drain_node ("
                              "  drain INTEGER NOT NULL,"
                              "  guid TEXT NOT NULL,"
                              "  PRIMARY KEY (drain, guid)"
                              ") WITHOUT ROWID;"
                              "CREATE TABLE drain_link ("
                              "  drain INTEGER NOT NULL,"
                              "  node_a TEXT NOT NULL,"
                              "  port_a INTEGER NOT NULL,"
                              "  node_b TEXT NOT NULL,"
                              "  port_b INTEGER NOT NULL,"
                              "  name_a TEXT NOT NULL,"
                              "  name_b TEXT NOT NULL,"
                              "  PRIMARY KEY (drain, node_a, port_a)"
                              ") WITHOUT ROWID;";

/* The versions of the applied policy (policies.h). */
static const char step_14[] = "CREATE TABLE policy_version ("
                              "  version INTEGER PRIMARY KEY,"
                              "  time_us INTEGER NOT NULL," /* Unix time in microseconds */
                              "  person TEXT NOT NULL,"
                              "  reason TEXT NOT NULL,"
                              "  hash TEXT NOT NULL," /* SHA-256 of the text, hexadecimal */
                              "  text TEXT NOT NULL"  /* YAML, as it was applied */
                              ");";

/* What devices and modules said about themselves when the manager last read them. The columns alarm
 * and warning are temperature limits of a module in units of 0.125 degrees Celsius; 0: the module
 * has no such limit. */
static const char step_15[] = "CREATE TABLE inventory_device ("
                              "  node_guid TEXT PRIMARY KEY,"
                              "  name TEXT NOT NULL,"
                              "  type INTEGER NOT NULL," /* enum fab_node_type */
                              "  vendor_id INTEGER NOT NULL,"
                              "  device_id INTEGER NOT NULL,"
                              "  hw_revision INTEGER NOT NULL,"
                              "  firmware TEXT NOT NULL,"
                              "  firmware_date TEXT NOT NULL,"
                              "  psid TEXT NOT NULL,"
                              "  part TEXT NOT NULL,"
                              "  serial TEXT NOT NULL,"
                              "  revision TEXT NOT NULL,"
                              "  product TEXT NOT NULL,"
                              "  read_us INTEGER NOT NULL" /* Unix time in microseconds */
                              ") WITHOUT ROWID;"
                              "CREATE TABLE inventory_module ("
                              "  node_guid TEXT NOT NULL,"
                              "  port INTEGER NOT NULL,"
                              "  module INTEGER NOT NULL,"
                              "  identifier INTEGER NOT NULL," /* SFF-8024 */
                              "  medium INTEGER NOT NULL,"     /* enum fab_medium */
                              "  vendor TEXT NOT NULL,"
                              "  part TEXT NOT NULL,"
                              "  serial TEXT NOT NULL,"
                              "  date TEXT NOT NULL,"
                              "  length_cm INTEGER NOT NULL,"
                              "  power_mw INTEGER NOT NULL,"
                              "  alarm INTEGER NOT NULL,"
                              "  warning INTEGER NOT NULL,"
                              "  revision TEXT NOT NULL,"
                              "  damaged INTEGER NOT NULL,"
                              "  PRIMARY KEY (node_guid, port)"
                              ") WITHOUT ROWID;";

/* All nodes or ports that a summary event is about (places.h). */
static const char step_16[] = "ALTER TABLE event ADD COLUMN places BLOB;"
                              "CREATE INDEX event_with_places ON event(seq, length(places))"
                              "  WHERE places IS NOT NULL;";

static const char *const steps_sql[] = {step_1,  step_2,  step_3,  step_4,  step_5,  step_6,
                                        step_7,  step_8,  step_9,  step_10, step_11, step_12,
                                        step_13, step_14, step_15, step_16};
const struct schema_steps schema_steps = {steps_sql, 16};

/* ---- helpers ---- */

static int run(sqlite3 *db, const char *sql)
{
    return sql_status(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int run_number(sqlite3 *db, const char *format, int number)
{
    char sql[100];
    snprintf(sql, sizeof(sql), format, number);
    return run(db, sql);
}

/* Runs an SQL query. Its result is the first column of the first row: *ret_number gets it as a
 * number, and *ret_text as a text that the caller frees. Both pointers may be NULL. */
static int query(sqlite3 *db, const char *sql, int64_t *ret_number, char **ret_text)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW && ret_number != NULL)
        *ret_number = sqlite3_column_int64(stmt, 0);
    if (code == SQLITE_ROW && ret_text != NULL) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        *ret_text = strdup(text != NULL ? text : "");
        code = *ret_text != NULL ? code : SQLITE_NOMEM;
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

static int open_connection(const char *path, int flags, sqlite3 **ret)
{
    sqlite3 *db = NULL;
    int status = sql_status(sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL));
    if (status == FAB_OK) {
        sqlite3_busy_timeout(db, 5000);
        *ret = db;
    } else {
        sqlite3_close(db);
    }
    return status;
}

/* ---- refusals ---- */

/* Replaces the line ends in an error message of SQLite, so that the message is a single line. */
static char *one_line(char *text)
{
    for (char *at = strchr(text, '\n'); at != NULL; at = strchr(at, '\n'))
        *at = ' ';
    return text;
}

static int refuse_damaged(const char *path, const char *what, char *why, size_t why_len)
{
    snprintf(why, why_len,
             "%s is damaged (%s); nothing was changed. Move it aside with its -wal and -shm files "
             "and start again: LIDs are then taken from the devices",
             path, what);
    return FAB_E_FORMAT;
}

static int refuse_newer(const char *path, int64_t version, int known, char *why, size_t why_len)
{
    snprintf(why, why_len,
             "%s has schema version %lld, this fabricd knows versions up to %d; nothing was "
             "changed. Run the fabricd that wrote it, or move it aside and start again: LIDs are "
             "then taken from the devices",
             path, (long long)version, known);
    return FAB_E_UNSUPPORTED;
}

static int refuse_foreign(const char *path, int64_t id, char *why, size_t why_len)
{
    snprintf(why, why_len,
             "%s is not a database of fabricd (application id 0x%08x, expected 0x%08x); nothing "
             "was changed. Name another directory with --state-dir, or move the file aside",
             path, (unsigned)id, SCHEMA_APPLICATION_ID);
    return FAB_E_FORMAT;
}

/* Writes to why[] that the file cannot be used, with a reason: the message of SQLite or, if `db` is
 * NULL, the text for `status`. Returns `status`. */
static int refuse(int status, sqlite3 *db, const char *path, char *why, size_t why_len)
{
    const char *reason = db != NULL ? sqlite3_errmsg(db) : fab_base_status_text(status);
    if (status == FAB_E_FORMAT)
        return refuse_damaged(path, reason, why, why_len);
    snprintf(why, why_len, "%s cannot be used: %s", path, reason);
    return status;
}

/* ---- the header, read without SQLite ---- */

static uint32_t big_endian(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Checks that the file is an SQLite database, and two numbers in its header: the schema version at
 * byte 60, and the application id at byte 68 (https://www.sqlite.org/fileformat2.html, section
 * 1.3). */
static int check_header(const char *path, int known, char *why, size_t why_len)
{
    unsigned char header[100];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, header, sizeof(header), 0) : -1;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0) {
        snprintf(why, why_len, "%s cannot be read: %s", path, strerror(error));
        return error == EACCES ? FAB_E_DENIED : FAB_E_IO;
    }
    if (n < (ssize_t)sizeof(header))
        return refuse_damaged(path, n == 0 ? "it is empty" : "it is cut", why, why_len);
    if (memcmp(header, "SQLite format 3", 16) != 0)
        return refuse_damaged(path, "it is not a database", why, why_len);
    if (big_endian(header + 68) != SCHEMA_APPLICATION_ID)
        return refuse_foreign(path, big_endian(header + 68), why, why_len);
    if (big_endian(header + 60) > (uint32_t)known)
        return refuse_newer(path, big_endian(header + 60), known, why, why_len);
    return FAB_OK;
}

/* ---- steps ---- */

static int apply_step(sqlite3 *db, const char *sql, int version)
{
    int status = run(db, "BEGIN IMMEDIATE");
    if (status == FAB_OK)
        status = run(db, sql);
    if (status == FAB_OK)
        status = run_number(db, "PRAGMA user_version = %d", version);
    if (status == FAB_OK)
        status = run(db, "COMMIT");
    if (status != FAB_OK && !sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static int apply_steps(sqlite3 *db, const struct schema_steps *steps, int from)
{
    int status = FAB_OK;
    for (int i = from; i < steps->count && status == FAB_OK; i++)
        status = apply_step(db, steps->sql[i], i + 1);
    return status;
}

/* Makes a backup in the folder of the database, such as fabricd.db.v1-20261120T110709Z. The backup
 * has another name until it is complete. So if the process is killed while it makes a backup, the
 * next backup replaces the incomplete file. */
static int back_up(sqlite3 *db, const char *path, int version)
{
    char stamp[32], copy[PATH_MAX], part[PATH_MAX];
    struct tm utc;
    time_t now = time(NULL);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    if ((size_t)snprintf(copy, sizeof(copy), "%s.v%d-%s", path, version, stamp) >= sizeof(copy))
        return FAB_E_LIMIT;
    if ((size_t)snprintf(part, sizeof(part), "%s.backup", path) >= sizeof(part))
        return FAB_E_LIMIT;
    if (unlink(part) != 0 && errno != ENOENT)
        return FAB_E_IO;
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", part);
    int status = sql != NULL ? run(db, sql) : FAB_E_NOMEM;
    sqlite3_free(sql);
    return status == FAB_OK && rename(part, copy) != 0 ? FAB_E_IO : status;
}

static int upgrade(sqlite3 *db, const char *path, const struct schema_steps *steps, char *why,
                   size_t why_len)
{
    int64_t version = 0;
    int status = query(db, "PRAGMA user_version", &version, NULL);
    if (status != FAB_OK)
        return refuse(status, db, path, why, why_len);
    if (version > steps->count)
        return refuse_newer(path, version, steps->count, why, why_len);
    if (version == steps->count)
        return FAB_OK;
    status = back_up(db, path, (int)version);
    if (status == FAB_OK)
        status = apply_steps(db, steps, (int)version);
    if (status != FAB_OK)
        snprintf(why, why_len,
                 "%s could not be brought from schema version %lld to %d: %s; it was left as it "
                 "is",
                 path, (long long)version, steps->count, sqlite3_errmsg(db));
    return status;
}

/* ---- creating and opening ---- */

/* Renames a WAL, index or journal file if there is no database file for it. SQLite would apply it
 * to the new database, for example if somebody moved only the database away. */
static int put_orphan_aside(const char *path, const char *suffix)
{
    char from[PATH_MAX], to[PATH_MAX];
    int len = snprintf(from, sizeof(from), "%s%s", path, suffix);
    if (len < 0 || (size_t)len >= sizeof(from))
        return FAB_E_LIMIT;
    if (access(from, F_OK) != 0)
        return FAB_OK;
    if ((size_t)snprintf(to, sizeof(to), "%s.orphan-%lld", from, (long long)time(NULL)) >=
        sizeof(to))
        return FAB_E_LIMIT;
    return rename(from, to) == 0 ? FAB_OK : FAB_E_IO;
}

static int put_orphans_aside(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    int status = FAB_OK;
    for (size_t i = 0; i < 3 && status == FAB_OK; i++)
        status = put_orphan_aside(path, suffixes[i]);
    return status;
}

/* Creates an empty file with mode 0640, reduced by the umask. */
static int make_file(const char *path)
{
    char journal[PATH_MAX];
    if ((size_t)snprintf(journal, sizeof(journal), "%s-journal", path) >= sizeof(journal))
        return FAB_E_LIMIT;
    /* processes that were killed may have left these files */
    unlink(journal);
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (fd < 0)
        return errno == EACCES || errno == EROFS ? FAB_E_DENIED : FAB_E_IO;
    close(fd);
    return FAB_OK;
}

static int make_schema(sqlite3 *db, const struct schema_steps *steps)
{
    int status = run_number(db, "PRAGMA application_id = %d", SCHEMA_APPLICATION_ID);
    return status == FAB_OK ? apply_steps(db, steps, 0) : status;
}

/* Renames the finished file, and syncs the folder so that the new name survives a power failure. */
static int publish_file(const char *fresh, const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof(dir), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
             slash != NULL ? path : ".");
    if (rename(fresh, path) != 0)
        return FAB_E_IO;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 && fsync(fd) == 0 ? FAB_OK : FAB_E_IO;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int create(const char *path, const struct schema_steps *steps, char *why, size_t why_len)
{
    char fresh[PATH_MAX];
    sqlite3 *db = NULL;
    int status = FAB_E_LIMIT;
    if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", path) < sizeof(fresh))
        status = make_file(fresh);
    if (status == FAB_OK)
        status = open_connection(fresh, SQLITE_OPEN_READWRITE, &db);
    if (status == FAB_OK)
        status = make_schema(db, steps);
    if (status == FAB_OK)
        status = put_orphans_aside(path);
    if (status != FAB_OK)
        refuse(status, db, path, why, why_len);
    sqlite3_close(db);
    if (status == FAB_OK && (status = publish_file(fresh, path)) != FAB_OK)
        snprintf(why, why_len, "%s cannot be made: %s", path, strerror(errno));
    return status;
}

static int check_integrity(sqlite3 *db, const char *path, char *why, size_t why_len)
{
    char *text = NULL;
    int status = query(db, "PRAGMA quick_check(1)", NULL, &text);
    if (status != FAB_OK)
        status = refuse(status, db, path, why, why_len);
    else if (strcmp(text, "ok") != 0)
        status = refuse_damaged(path, one_line(text), why, why_len);
    free(text);
    return status;
}

/* Checks that the file can be written. SQLite opens a read-only file without an error, and would
 * fail only at the first write. */
static int check_writable(sqlite3 *db, const char *path, char *why, size_t why_len)
{
    if (sqlite3_db_readonly(db, "main") == 0)
        return FAB_OK;
    snprintf(why, why_len, "%s is not writable for user %u", path, (unsigned)geteuid());
    return FAB_E_DENIED;
}

static int set_up(sqlite3 *db)
{
    return run(db, "PRAGMA journal_mode = WAL;"
                   "PRAGMA synchronous = NORMAL;"
                   "PRAGMA foreign_keys = ON;"
                   "PRAGMA journal_size_limit = 16777216;"
                   "PRAGMA cache_size = -8000;"
                   "PRAGMA temp_store = MEMORY;");
}

static int open_existing(const char *path, const struct schema_steps *steps, sqlite3 **ret,
                         char *why, size_t why_len)
{
    sqlite3 *db = NULL;
    int status = check_header(path, steps->count, why, why_len);
    if (status != FAB_OK)
        return status;
    status = open_connection(path, SQLITE_OPEN_READWRITE, &db);
    if (status != FAB_OK)
        return refuse(status, NULL, path, why, why_len);
    /* A file that a check below refuses must stay unchanged, so SQLite must not write the WAL into
     * it when it is closed. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    status = check_integrity(db, path, why, why_len);
    if (status == FAB_OK)
        status = check_writable(db, path, why, why_len);
    if (status == FAB_OK)
        status = upgrade(db, path, steps, why, why_len);
    if (status == FAB_OK && (status = set_up(db)) != FAB_OK)
        refuse(status, db, path, why, why_len);
    if (status == FAB_OK) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        *ret = db;
    } else {
        sqlite3_close(db);
    }
    return status;
}

int schema_open(const char *path, const struct schema_steps *steps, sqlite3 **ret, char *why,
                size_t why_len)
{
    struct stat st;
    int status = FAB_OK;
    if (lstat(path, &st) != 0 && errno == ENOENT)
        status = create(path, steps, why, why_len);
    if (status == FAB_OK)
        status = open_existing(path, steps, ret, why, why_len);
    return status;
}

int schema_open_reader(const char *path, sqlite3 **ret, char *why, size_t why_len)
{
    int status = open_connection(path, SQLITE_OPEN_READONLY, ret);
    if (status != FAB_OK)
        refuse(status, NULL, path, why, why_len);
    return status;
}
