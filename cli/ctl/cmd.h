/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of fabricctl. Each command is a const struct cmd in the file of its noun, such as
 * cmd_link.c. commands.c has a table of all commands, options.c parses the command line, and run.c
 * connects to the manager and runs the command. A command sends requests to the manager and prints
 * the answers.
 */
#ifndef CLI_CTL_CMD_H
#define CLI_CTL_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/ctl/output.h"
#include "libfabmgr/client/client.h"

/* Exit codes, as documented in fabricctl(1). */
enum exit_code {
    EXIT_OK = 0,
    /* the manager refused the request, or an error occurred */
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,       /* the command line is invalid */
    EXIT_UNAVAILABLE = 3, /* no manager answered in time */
    EXIT_NOT_FOUND = 4,   /* the named object does not exist */
    EXIT_UNSOUND = 5,     /* a check of routes, cables or the audit log has failed */
};

struct cmd;
struct session {
    const struct cmd *cmd; /* the command that is run */
    struct fab_client *client;
    const struct fab_client_options *connection; /* how fabricctl connects to the manager */
    struct out *out;
    enum out_format out_format;
    /* number of arguments after the noun and verb of the command */
    int argc;
    char **argv;
    /* node name that parse_port has returned; freed when the session ends */
    char *node;
    /* bit i: argument i is the name of a host with several adapters, or of a rack (expand.c) */
    uint32_t several;
    uint32_t count; /* option -n: maximum number of items */
    /* option --after: sequence number of the event after which the list begins; 0: the option was
     * not given */
    uint64_t after;
    /* option --severity: the minimum severity of the events to list, encoded as in the API */
    int severity;
    /* options --hosts, --job and --engine; NULL: not given */
    const char *hosts, *job, *engine;
    const char *jobs; /* option --jobs; NULL: not given */
    uint32_t samples; /* option --samples; 0: not given */
    uint64_t seed;
    char **fails; /* [fail_count] arguments of the options --fail */
    size_t fail_count;
    /* each is true if its option was given: --cc, --give-up-absent, --no-writes */
    bool cc, give_up_absent, no_writes;
    bool explain, roce; /* each is true if its option was given: --explain, --roce */
    /* each is true if its option was given: --waiting, --all, --forget */
    bool waiting, all, forget;
    bool degraded, gone; /* each is true if its option was given: --degraded, --gone */
    /* each is true if its option was given: --odd, --hot */
    bool odd, hot;
    bool watch;           /* true if the option --watch was given */
    const char *duration; /* option --for; NULL: not given */
    const char *keep;     /* option --keep; NULL: not given */
    /* each is true if its option was given: --yes, --wait, --force, --diff, --reconnect */
    bool yes, wait, force, diff, reconnect;
    const char *older_than;    /* option --older-than; NULL: not given */
    const char *rack;          /* option --rack; NULL: not given */
    const char *to;            /* option --to; NULL: not given */
    const char *width, *speed; /* options --width and --speed; NULL: not given */
    const char *dir;           /* option --dir; NULL: not given */
    uint32_t days;             /* option --days; 0: not given */
    const char *cache;         /* option --cache; NULL: not given */
    bool dry_run;              /* true if the option --dry-run was given */
    uint32_t sl;               /* option --sl: service level */
    const char *format;        /* option --format; NULL: not given */
    /* options --passphrase-file and --state-dir; NULL: not given */
    const char *passphrase_file, *state_dir;
    /* each is true if its option was given: --replace, --verify */
    bool replace, verify;
    bool anonymize;  /* true if the option --anonymize was given */
    const char *map; /* option --map; NULL: not given */
    /* options --since, --until, --by, --object, --method and --result of the audit log; NULL: not
     * given */
    const char *since, *until, *by, *object, *method, *result;
    const char *counter;        /* option --counter; NULL: not given */
    const char *subject, *type; /* options --subject and --type of events; NULL: not given */
    const char *file;           /* option --file; NULL: not given */
    const char *hook;           /* option --hook; NULL: not given */
    bool slurm;                 /* true if the option --slurm was given */
    /* options --sort, --state and --rate of lists; NULL: not given */
    const char *sort, *state, *rate;
};

struct cmd {
    /* the words of the command, such as "link" and "list"; verb == NULL: the noun alone is the
     * command */
    const char *noun, *verb;
    /* the arguments of the command as the help shows them, such as "NODE/PORT" */
    const char *args;
    const char *summary;
    int min_args, max_args;
    /* letters of those options of the command that not all commands have; the table own_options in
     * options.c gives each option its letter */
    const char *options;
    /* Full name of the method that the command calls, such as
     * "fabric.v1.FabricService/DisablePort". The command may call other methods that need no higher
     * role. NULL: the command needs no manager. */
    const char *method;
    /* Another method, which needs a higher role than `method`. Only some uses of the command call
     * it, so the command is useful without this role, too. NULL: there is none. */
    const char *optional;
    /* true: the command may take minutes on a large fabric, so it has a longer time limit */
    bool slow;
    const char *formats; /* values of the option --format, separated by spaces; NULL: none */
    bool is_list;        /* true: the command prints one list, and takes the options of all lists */
    /* true: either the command itself or the manager expands patterns in the arguments, so expand.c
     * does not */
    bool takes_patterns;
    /* true: an argument NODE may be the name of a rack, or of a host with several adapters; the
     * command then runs once for each node of the rack or host (expand.c) */
    bool takes_hosts;
    bool one_manager; /* true: the command cannot run with --all-contexts */
    bool asks;        /* true: the command itself asks for a confirmation */
    bool picture;     /* true: the command has the output format svg (plot.h) */
    /* the JSON output in the notation of schema.h; NULL: the command prints a text or nothing */
    const char *json;
    int (*run)(struct session *s);
};

extern const struct cmd cmd_status, cmd_version, cmd_help, cmd_sweep, cmd_reroute, cmd_reroute_list,
    cmd_reroute_show, cmd_node_list, cmd_node_show, cmd_node_pins, cmd_node_approve, cmd_port_list,
    cmd_port_show, cmd_port_disable, cmd_port_enable, cmd_link_list, cmd_link_flapping,
    cmd_link_release, cmd_path, cmd_route_show, cmd_route_verify, cmd_event_list, cmd_event_watch,
    cmd_sim_unlink, cmd_sim_relink, cmd_sim_degrade, cmd_topo_export, cmd_route_export,
    cmd_route_certify, cmd_route_quality, cmd_route_compare, cmd_route_whatif,
    cmd_route_contingency, cmd_route_rebalance, cmd_link_unhealthy, cmd_link_isolate,
    cmd_port_counters, cmd_class_list, cmd_class_show, cmd_multicast_list, cmd_multicast_show,
    cmd_partition_list, cmd_partition_show, cmd_service_list, cmd_subscription_list, cmd_cc_status,
    cmd_cc_show, cmd_cc_congested, cmd_cc_log, cmd_cc_export, cmd_key_show, cmd_key_rotate,
    cmd_topo_approve, cmd_topo_disapprove, cmd_topo_baseline, cmd_audit_list, cmd_audit_export,
    cmd_audit_verify, cmd_whoami, cmd_backup, cmd_restore, cmd_support_bundle, cmd_diagnostics,
    cmd_inventory_nodes, cmd_inventory_cables, cmd_node_forget, cmd_history, cmd_topo_snapshot,
    cmd_topo_list, cmd_topo_diff, cmd_cert_init, cmd_cert_issue, cmd_cert_list, cmd_cert_renew,
    cmd_cert_revoke, cmd_topo_check, cmd_topo_infer, cmd_topo_isolate, cmd_host_list, cmd_host_show,
    cmd_rack_list, cmd_port_top, cmd_port_history, cmd_link_history, cmd_route_explain,
    cmd_ha_status, cmd_ha_handover, cmd_ha_priority, cmd_import_opensm, cmd_export_opensm,
    cmd_drain_link, cmd_drain_switch, cmd_drain_rack, cmd_drain_pod, cmd_drain_host, cmd_drain_list,
    cmd_drain_plan, cmd_undrain, cmd_manager_status, cmd_manager_freeze, cmd_manager_resume,
    cmd_apply, cmd_policy_show, cmd_policy_history, cmd_policy_diff, cmd_policy_rollback,
    cmd_context_list, cmd_context_show, cmd_context_use, cmd_job_affected, cmd_top, cmd_schema;

/* ---- roles ----------------------------------------------------------------------------------- */

/* Returns the role (enum Role of access.proto) that callers of the method need, which the proto
 * files give as an option of the method. A method without this option needs the role administrator.
 * `method` is a full name as in struct cmd. */
unsigned role_of(const char *method);
const char *role_name(unsigned role); /* returns "viewer", for example */

/* ---- requests to the manager ----------------------------------------------------------------- */

/* Calls a method of FabricService and returns the exit code. On success the caller owns the reply
 * *ret; if ret is NULL, the reply is freed. On failure prints the error. */
int ask(struct session *s, const char *method, const ProtobufCMessage *request,
        const ProtobufCMessageDescriptor *reply, void *ret);
/* Like ask, but calls a method of any service, such as "fabric.v1.SimService/Unlink". */
int ask_service(struct session *s, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *reply, void *ret);
/* Checks that the manager supports dry runs of `method`, a full name as in struct cmd. An older
 * manager would ignore the field dry_run, and make the change. If the manager does not support dry
 * runs of the method, prints an error. Returns the exit code. `ask` and ask_service make this
 * check, too. */
int check_dry_run(struct session *s, const char *method);
void free_reply(void *message); /* `message` may be NULL */
/* say_error and `complain`, which is declared below, print an error message on standard error, and
 * return the exit code for it. */
int say_error(const struct fab_client_error *e);
/* Sets the format of error messages: OUT_JSON: one JSON object for each message; every other
 * format: text. */
void complain_as(enum out_format format);
/* From now on, all error messages begin with `context` and with `object`, the object that they are
 * about. A message that already contains the object does not get it a second time. context, object:
 * NULL if there is none; both texts must stay valid. */
void complain_about(const char *context, const char *object);
int complain(int exit_code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Finds a word in a list that ends with NULL; case does not matter. *ret: the index of the word.
 * Returns false if the word is not in the list. */
bool find_word(const char *word, const char *const *words, size_t *ret);
/* Like find_word, but returns an exit code. If the word is not in the list, prints an error that
 * lists the accepted words, and suggests a similar one. what: the option or the kind of argument,
 * such as "--by". */
int accept_word(const char *what, const char *word, const char *const *words, size_t *ret);
/* Returns the only word of the list that begins with `word`. If no word or several words do,
 * returns the word that is most similar to `word`; NULL: no word is similar to it. */
const char *near_word(const char *word, const char *const *words);
/* From now on, error messages with the exit code EXIT_NOT_FOUND end with this sentence. The text
 * must stay valid. */
void complain_hint(const char *hint);

/* Asks the user on the terminal to confirm a change, unless the option --yes was given. Returns
 * EXIT_OK if the change is confirmed. If standard input is no terminal, or the output is not text,
 * prints `refusal` and returns EXIT_USAGE. If the user does not confirm, prints that nothing was
 * changed, and returns EXIT_FAILED. */
int confirm(const struct session *s, const char *question, const char *refusal);
/* Returns the argument `given` of an option in the form that a field of a request needs: "" if the
 * option was not given (NULL), otherwise the argument itself. */
char *word_of(const char *given);
/* Checks that no file of this name exists. If one exists, prints an error. Returns the exit
 * code. */
int check_absent(const char *file);

/* Parses the first argument of the command, "NODE/PORT", into the node name and the port number.
 * *ret_node is valid until the session ends. If this fails, prints the reason. Returns the exit
 * code. */
int parse_port(struct session *s, char **ret_node, uint32_t *ret_number);

#endif
