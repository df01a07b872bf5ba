/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the role of a caller with the role that a method needs. Refuses the call if the caller's
 * role is too low.
 */
#include "fabricd/rpc/access.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/v1/access.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/descriptor.h"
#include "proto/descriptors.h"

/* field number of the method option fabric.v1.role in access.proto */
#define ROLE_OPTION 50501
/* minimum time in us between two events about refused calls of the same caller */
#define REFUSALS_US 60000000ull

static_assert((int)CONFIG_ROLE_TENANT == FABRIC__V1__ROLE__ROLE_TENANT &&
                  (int)CONFIG_ROLE_VIEWER == FABRIC__V1__ROLE__ROLE_VIEWER &&
                  (int)CONFIG_ROLE_OPERATOR == FABRIC__V1__ROLE__ROLE_OPERATOR &&
                  (int)CONFIG_ROLE_ADMINISTRATOR == FABRIC__V1__ROLE__ROLE_ADMINISTRATOR &&
                  CALL_COUNTS_ROLES == CONFIG_ROLES,
              "the roles of the settings and of the API have the same numbers");

/* ---- the role of a caller -------------------------------------------------------------------- */

static bool is_member(const struct caller *who, uint32_t gid)
{
    bool member = who->gid == gid;
    for (size_t i = 0; i < who->group_count && !member; i++)
        member = who->groups[i] == gid;
    return member;
}

static bool has_san(const struct caller *who, const char *name)
{
    for (size_t i = 0; i < who->san_count; i++)
        if (strcmp(who->sans[i], name) == 0)
            return true;
    return false;
}

static bool matches(const struct config_role_entry *e, const struct caller *who)
{
    switch (e->subject) {
    case CONFIG_SUBJECT_USER:
        return who->transport == CALLER_UNIX && e->known && who->uid == e->id;
    case CONFIG_SUBJECT_GROUP:
        return who->transport == CALLER_UNIX && e->known && is_member(who, e->id);
    case CONFIG_SUBJECT_CN:
        return who->transport == CALLER_TLS && who->cn != NULL && strcmp(who->cn, e->name) == 0;
    case CONFIG_SUBJECT_SAN:
        return who->transport == CALLER_TLS && has_san(who, e->name);
    }
    return false;
}

struct access_grant access_grant(const struct config *c, const struct caller *who)
{
    struct access_grant g = {CONFIG_ROLE_NONE, NULL};
    if (who->transport == CALLER_UNIX && (who->uid == 0 || who->uid == geteuid()))
        return (struct access_grant){CONFIG_ROLE_ADMINISTRATOR, NULL};
    for (size_t i = 0; i < c->roles.count; i++)
        if (c->roles.entry[i].role > g.role && matches(&c->roles.entry[i], who))
            g = (struct access_grant){c->roles.entry[i].role, &c->roles.entry[i]};
    return g.entry != NULL ? g : (struct access_grant){CONFIG_ROLE_VIEWER, NULL};
}

enum config_role access_needed(const char *service, const char *method)
{
    static const char grpc[] = "grpc.";
    uint64_t role;
    if (strncmp(service, grpc, sizeof grpc - 1) == 0)
        return CONFIG_ROLE_NONE;
    int rc = fab_grpc_descriptor_method_option(fabric_descriptors, fabric_descriptors_len, service,
                                               method, ROLE_OPTION, &role);
    return rc == FAB_OK && role > 0 && role < CONFIG_ROLES ? (enum config_role)role
                                                           : CONFIG_ROLE_ADMINISTRATOR;
}

void access_table_fill(struct access_table *t, const struct service *const *services)
{
    for (size_t s = 0; services[s] != NULL; s++) {
        assert(s < ACCESS_SERVICES && services[s]->method_count <= ACCESS_METHODS);
        for (size_t m = 0; m < services[s]->method_count; m++)
            t->needed[s][m] =
                (uint8_t)access_needed(services[s]->name, services[s]->methods[m].name);
    }
}

static enum config_role find_needed(const struct rpc *r, const struct service *s,
                                    const struct method *m)
{
    size_t at = 0;
    while (r->services[at] != s)
        at++;
    return (enum config_role)r->access.needed[at][m - s->methods];
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Returns true if an event about refused calls of this caller may be emitted now. In this case,
 * also stores the caller and the present time in *r. */
static bool may_report(struct refusals *r, const char *caller, uint64_t now)
{
    size_t oldest = 0;
    for (size_t i = 0; i < REFUSALS_CALLERS; i++) {
        bool recent = r->last[i].at_us > 0 && now - r->last[i].at_us < REFUSALS_US;
        if (recent && strcmp(r->last[i].caller, caller) == 0)
            return false;
        if (r->last[i].at_us < r->last[oldest].at_us)
            oldest = i;
    }
    if (r->last[oldest].at_us > 0 && now - r->last[oldest].at_us < REFUSALS_US)
        return false;
    snprintf(r->last[oldest].caller, CALLER_TEXT_LEN, "%s", caller);
    r->last[oldest].at_us = now;
    return true;
}

static void report(struct rpc *r, const struct caller *who, enum config_role role,
                   const char *method, enum config_role needed)
{
    if (!may_report(&r->refusals, who->text, clock_now_us())) {
        r->refusals.unreported++;
        return;
    }
    if (r->refusals.unreported == 0)
        event_emit(r->in.bus, call_refused, .subject = "manager", .caller = who->text,
                   .role = config_role_name(role), .method = method,
                   .needed = config_role_name(needed));
    else
        event_emit(r->in.bus, calls_refused, .subject = "manager", .caller = who->text,
                   .role = config_role_name(role), .method = method,
                   .needed = config_role_name(needed), .others = r->refusals.unreported);
    r->refusals.unreported = 0;
}

/* Writes to ret[] an entry for rpc.roles that would match this caller, such as "'user: alice'". If
 * the caller's certificate has no name for an entry, writes which certificate the caller needs. */
static void propose(const struct caller *who, char *ret, size_t len)
{
    if (who->transport == CALLER_UNIX && who->user[0] != '\0')
        snprintf(ret, len, "'user: %s'", who->user);
    else if (who->transport == CALLER_UNIX)
        snprintf(ret, len, "'user: %u'", (unsigned)who->uid);
    else if (who->cn != NULL)
        snprintf(ret, len, "'cn: %s'", who->cn);
    else if (who->san_count > 0)
        snprintf(ret, len, "'san: %s'", who->sans[0]);
    else
        snprintf(ret, len, "a certificate with a common name");
}

static void refuse(struct call *c, enum config_role role, const char *method,
                   enum config_role needed)
{
    const struct caller *who = call_caller(c);
    char entry[200];
    propose(who, entry, sizeof entry);
    report(call_rpc(c), who, role, method, needed);
    call_finish(
        c, FAB_GRPC_PERMISSION_DENIED,
        "refused: %s has the role %s, and %s needs the role %s; ask an administrator to add "
        "%s to rpc.roles.%s in fabricd.yaml",
        who->text, config_role_name(role), method, config_role_name(needed), entry,
        config_role_name(needed));
}

static enum config_role role_now(const struct call *c)
{
    return access_grant(call_rpc(c)->in.config, call_caller(c)).role;
}

static bool permits(const struct call *c, const struct service *s, const struct method *m)
{
    return role_now(c) >= find_needed(call_rpc(c), s, m);
}

static void admit(struct call *c, const struct service *s, const struct method *m)
{
    enum config_role role = role_now(c), needed = find_needed(call_rpc(c), s, m);
    call_set_role(c, role);
    if (role < needed)
        refuse(c, role, m->name, needed);
}

static void ended(struct call *c, enum fab_grpc_code code)
{
    struct call_counts *counts = call_rpc(c)->in.counts;
    if (counts != NULL && (int)code < CALL_COUNTS_CODES)
        counts->ended[call_role(c)][code]++;
}

const struct grpc_access access_by_role = {admit, permits, ended};
