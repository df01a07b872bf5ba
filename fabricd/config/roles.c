/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads rpc.roles: the users, groups and certificates that have a role. Looks up the uid of each
 * user and the gid of each group when the configuration is read, so that RPC calls need not do so.
 */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "libfabmgr/base/status.h"

const char *config_role_name(unsigned role)
{
    static const char *const names[CONFIG_ROLES] = {"none", "tenant", "viewer", "operator",
                                                    "administrator"};
    return names[role < CONFIG_ROLES ? role : 0];
}

const char *config_subject_name(enum config_subject subject)
{
    static const char *const names[] = {"user", "group", "cn", "san"};
    return names[subject];
}

/* Sets *ret to the uid or gid that `name` stands for. `name` is a number, or the name of a user or
 * group. Returns false if the system does not know the name. */
static bool look_up(enum config_subject subject, const char *name, uint32_t *ret)
{
    uint64_t number;
    if (setting_parse_number(name, &number) == FAB_OK && number < UINT32_MAX) {
        *ret = (uint32_t)number;
        return true;
    }
    if (subject == CONFIG_SUBJECT_USER) {
        const struct passwd *p = getpwnam(name);
        *ret = p != NULL ? p->pw_uid : 0;
        return p != NULL;
    }
    const struct group *g = getgrnam(name);
    *ret = g != NULL ? g->gr_gid : 0;
    return g != NULL;
}

static bool is_san(const char *text)
{
    static const char *const kinds[] = {"DNS:", "email:", "URI:", "IP:"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0 && text[strlen(kinds[i])] != '\0')
            return true;
    return false;
}

/* Finds which of the keys user, group, cn and san an entry of rpc.roles has. Returns FORMAT if the
 * entry has none or several of these keys. */
static int find_subject(const struct raw_role_entry *raw, enum config_subject *ret,
                        const char **ret_name)
{
    const char *const names[] = {raw->user, raw->group, raw->cn, raw->san};
    unsigned count = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (names[i] == NULL)
            continue;
        *ret = (enum config_subject)i;
        *ret_name = names[i];
        count++;
    }
    return count == 1 ? FAB_OK : FAB_E_FORMAT;
}

/* Returns an earlier entry for the same user, group, CN or SAN; NULL: there is none. */
static const struct config_role_entry *find_same(const struct config_roles *roles,
                                                 const struct config_role_entry *e)
{
    bool is_number = e->known && e->subject <= CONFIG_SUBJECT_GROUP;
    for (size_t i = 0; i < roles->count; i++) {
        const struct config_role_entry *o = &roles->entry[i];
        if (o->subject == e->subject &&
            (is_number && o->known ? o->id == e->id : strcmp(o->name, e->name) == 0))
            return o;
    }
    return NULL;
}

static int append(struct config_roles *roles, const struct config_role_entry *e)
{
    struct config_role_entry *more =
        reallocarray(roles->entry, roles->count + 1, sizeof(*roles->entry));
    if (more == NULL)
        return FAB_E_NOMEM;
    roles->entry = more;
    more[roles->count] = *e;
    more[roles->count].name = strdup(e->name);
    if (more[roles->count].name == NULL)
        return FAB_E_NOMEM;
    roles->count++;
    return FAB_OK;
}

static int take_entry(const struct raw_role_entry *raw, const char *path, struct report *report,
                      struct config_role_entry *e, struct config_roles *roles)
{
    const char *name = "";
    if (find_subject(raw, &e->subject, &name) < 0)
        return report_key(report, path,
                          "%s: expected exactly one of user, group, cn or san in each entry, such "
                          "as {user: alice}",
                          path);
    e->name = (char *)(uintptr_t)name;
    if (e->subject == CONFIG_SUBJECT_SAN && !is_san(name))
        return report_key(report, path,
                          "%s: san is '%s', expected 'DNS:', 'email:', 'URI:' or 'IP:' and the "
                          "name, such as 'DNS:ci.example.com'",
                          path, name);
    if (e->subject <= CONFIG_SUBJECT_GROUP)
        e->known = look_up(e->subject, name, &e->id);
    const struct config_role_entry *same = find_same(roles, e);
    if (same != NULL) {
        report_key(report, path, "%s: %s '%s' is also in rpc.roles.%s, expected one role for each",
                   path, config_subject_name(e->subject), name, config_role_name(same->role));
        return FAB_E_EXISTS;
    }
    if (e->subject <= CONFIG_SUBJECT_GROUP && !e->known)
        log_warning(
            "config",
            "%s: this system has no %s '%s', so that the entry gives nobody a role; correct "
            "the name, or reload the settings when the name service knows it",
            path, config_subject_name(e->subject), name);
    return append(roles, e);
}

static int take_role(const struct raw_role_entry *list, unsigned count, enum config_role role,
                     struct report *report, struct config_roles *roles)
{
    char path[64];
    int rc = FAB_OK;
    for (unsigned i = 0; i < count && rc == FAB_OK; i++) {
        struct config_role_entry e = {.role = role};
        snprintf(path, sizeof(path), "rpc.roles.%s[%u]", config_role_name(role), i);
        rc = take_entry(&list[i], path, report, &e, roles);
    }
    return rc;
}

int roles_take(const struct raw_rpc *raw, struct report *report, struct config_roles *ret)
{
    const struct raw_roles *r = raw != NULL ? raw->roles : NULL;
    if (r == NULL)
        return FAB_OK;
    int rc = take_role(r->tenant, r->tenant_count, CONFIG_ROLE_TENANT, report, ret);
    if (rc == FAB_OK)
        rc = take_role(r->viewer, r->viewer_count, CONFIG_ROLE_VIEWER, report, ret);
    if (rc == FAB_OK)
        rc = take_role(r->operator, r->operator_count, CONFIG_ROLE_OPERATOR, report, ret);
    if (rc == FAB_OK)
        rc = take_role(r->administrator, r->administrator_count, CONFIG_ROLE_ADMINISTRATOR, report,
                       ret);
    return rc;
}

void roles_fini(struct config_roles *roles)
{
    for (size_t i = 0; i < roles->count; i++)
        free(roles->entry[i].name);
    free(roles->entry);
    *roles = (struct config_roles){0};
}
