/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/commands.h"

#include <stdio.h>
#include <string.h>

#define COMMANDS_MAX 200u

/* All commands, in the order in which the help shows them. fabricctl takes the first command that
 * matches. Therefore a command without a verb comes after all commands that have the same noun and
 * a verb. */
const struct cmd *const commands[] = {
    &cmd_status,
    &cmd_top,
    &cmd_version,
    &cmd_help,
    &cmd_schema,
    &cmd_whoami,
    &cmd_context_list,
    &cmd_context_show,
    &cmd_context_use,
    &cmd_node_list,
    &cmd_node_show,
    &cmd_node_pins,
    &cmd_node_approve,
    &cmd_node_forget,
    &cmd_host_list,
    &cmd_host_show,
    &cmd_rack_list,
    &cmd_inventory_nodes,
    &cmd_inventory_cables,
    &cmd_port_list,
    &cmd_port_show,
    &cmd_port_counters,
    &cmd_port_top,
    &cmd_port_history,
    &cmd_port_disable,
    &cmd_port_enable,
    &cmd_link_list,
    &cmd_link_flapping,
    &cmd_link_unhealthy,
    &cmd_link_history,
    &cmd_link_isolate,
    &cmd_link_release,
    &cmd_drain_link,
    &cmd_drain_switch,
    &cmd_drain_rack,
    &cmd_drain_pod,
    &cmd_drain_host,
    &cmd_drain_list,
    &cmd_drain_plan,
    &cmd_undrain,
    &cmd_ha_status,
    &cmd_ha_handover,
    &cmd_ha_priority,
    &cmd_manager_status,
    &cmd_manager_freeze,
    &cmd_manager_resume,
    &cmd_apply,
    &cmd_policy_show,
    &cmd_policy_history,
    &cmd_policy_diff,
    &cmd_policy_rollback,
    &cmd_key_show,
    &cmd_key_rotate,
    &cmd_class_list,
    &cmd_class_show,
    &cmd_partition_list,
    &cmd_partition_show,
    &cmd_multicast_list,
    &cmd_multicast_show,
    &cmd_service_list,
    &cmd_subscription_list,
    &cmd_cc_status,
    &cmd_cc_show,
    &cmd_cc_congested,
    &cmd_cc_log,
    &cmd_cc_export,
    &cmd_path,
    &cmd_route_show,
    &cmd_route_verify,
    &cmd_route_explain,
    &cmd_route_quality,
    &cmd_route_compare,
    &cmd_route_whatif,
    &cmd_job_affected,
    &cmd_route_contingency,
    &cmd_route_rebalance,
    &cmd_route_export,
    &cmd_route_certify,
    &cmd_reroute_list,
    &cmd_reroute_show,
    &cmd_reroute,
    &cmd_sweep,
    &cmd_topo_check,
    &cmd_topo_infer,
    &cmd_topo_isolate,
    &cmd_topo_export,
    &cmd_topo_baseline,
    &cmd_topo_approve,
    &cmd_topo_disapprove,
    &cmd_topo_snapshot,
    &cmd_topo_list,
    &cmd_topo_diff,
    &cmd_event_list,
    &cmd_event_watch,
    &cmd_history,
    &cmd_audit_list,
    &cmd_audit_export,
    &cmd_audit_verify,
    &cmd_backup,
    &cmd_restore,
    &cmd_diagnostics,
    &cmd_support_bundle,
    &cmd_cert_init,
    &cmd_cert_issue,
    &cmd_cert_list,
    &cmd_cert_renew,
    &cmd_cert_revoke,
    &cmd_import_opensm,
    &cmd_export_opensm,
    &cmd_sim_unlink,
    &cmd_sim_relink,
    &cmd_sim_degrade,
    NULL,
};
void usage_of(const struct cmd *c, char line[USAGE_LEN])
{
    snprintf(line, USAGE_LEN, "%s%s%s%s%s", c->noun, c->verb != NULL ? " " : "",
             c->verb != NULL ? c->verb : "", c->args != NULL ? " " : "",
             c->args != NULL ? c->args : "");
}

bool next_argument(const char **usage, char word[40], bool *ret_repeated)
{
    bool option = false;
    for (;;) {
        *usage += strspn(*usage, " |");
        size_t len = strcspn(*usage, " ");
        if (len == 0)
            return false;
        const char *text = *usage;
        *usage += len;
        if (text[0] == '-' || strncmp(text, "[-", 2) == 0) {
            option = text[len - 1] != ']';
            continue;
        }
        if (option) { /* the word is the argument of an option */
            option = false;
            continue;
        }
        size_t n = 0, end = len;
        *ret_repeated = memchr(text, '.', len) != NULL;
        while (text[end - 1] == '.')
            end--;
        bool brackets = text[0] == '[' && text[end - 1] == ']';
        for (size_t i = brackets; i + brackets < end && n + 1 < 40; i++)
            if (text[i] != '.')
                word[n++] = text[i];
        word[n] = '\0';
        return true;
    }
}

const struct cmd *find_command(int argc, char **argv)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        const struct cmd *c = commands[i];
        if (argc < 1 || strcmp(c->noun, argv[0]) != 0)
            continue;
        if (c->verb == NULL || (argc > 1 && strcmp(c->verb, argv[1]) == 0))
            return c;
    }
    return NULL;
}

/* Returns the verb of `noun` that is most similar to `word`; with noun == NULL, the most similar
 * noun. Returns NULL if none is similar. */
static const char *nearest(const char *noun, const char *word)
{
    const char *words[COMMANDS_MAX + 1] = {NULL};
    for (size_t i = 0, n = 0; commands[i] != NULL && n < COMMANDS_MAX; i++) {
        const char *candidate = noun == NULL ? commands[i]->noun : commands[i]->verb;
        if (candidate != NULL && (noun == NULL || strcmp(noun, commands[i]->noun) == 0))
            words[n++] = candidate;
    }
    return near_word(word, words);
}

int complain_verbs(const char *noun, const char *verb)
{
    char verbs[120] = "", suggestion[100] = "";
    for (size_t i = 0; commands[i] != NULL; i++) {
        size_t n = strlen(verbs);
        if (strcmp(commands[i]->noun, noun) == 0 && commands[i]->verb != NULL)
            snprintf(verbs + n, sizeof verbs - n, "%s%s", n > 0 ? ", " : "", commands[i]->verb);
    }
    const char *near = nearest(verbs[0] != '\0' ? noun : NULL, verbs[0] != '\0' ? verb : noun);
    if (near != NULL)
        snprintf(suggestion, sizeof suggestion, "; did you mean \"%s\"?", near);
    if (verbs[0] == '\0')
        return complain(EXIT_USAGE, "no command \"%s\"%s", noun,
                        near != NULL ? suggestion : "; 'fabricctl -h' lists all commands");
    return complain(EXIT_USAGE, "no command \"%s%s%s\"; after %s, %s%s is expected%s", noun,
                    *verb ? " " : "", verb, noun, strchr(verbs, ',') != NULL ? "one of " : "",
                    verbs, suggestion);
}
