/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements WhoAmI. */
#include "fabricd/rpc/server.h"

#include <stdio.h>
#include <string.h>

#include "fabric/v1/access.pb-c.h"
#include "fabricd/rpc/answer.h"

static void tell_reason(const struct access_grant *g, const struct caller *who, char *ret,
                        size_t len)
{
    if (g->entry != NULL)
        snprintf(ret, len, "%s: %s in rpc.roles.%s", config_subject_name(g->entry->subject),
                 g->entry->name, config_role_name(g->role));
    else if (g->role == CONFIG_ROLE_ADMINISTRATOR)
        snprintf(ret, len, "%s", who->uid == 0 ? "root" : "the user of fabricd");
    else
        snprintf(ret, len, "no entry of rpc.roles is about this caller");
}

static void fill_certificate(struct answer *a, const struct caller *who,
                             Fabric__V1__WhoAmIResponse *m)
{
    m->subject = answer_text(a, who->subject);
    m->issuer = answer_text(a, who->issuer);
    m->serial = answer_text(a, who->serial);
    m->address = answer_text(a, who->address);
    m->subject_alternative_names = answer_alloc(a, who->san_count, sizeof(char *));
    for (size_t i = 0; m->subject_alternative_names != NULL && i < who->san_count; i++)
        m->subject_alternative_names[m->n_subject_alternative_names++] =
            answer_text(a, who->sans[i]);
}

static void fill_user(struct answer *a, const struct caller *who, Fabric__V1__WhoAmIResponse *m)
{
    m->user = answer_text(a, who->user);
    m->uid = who->uid;
    m->gid = who->gid;
    m->groups = answer_alloc(a, who->group_count, sizeof *m->groups);
    for (size_t i = 0; m->groups != NULL && i < who->group_count; i++)
        m->groups[m->n_groups++] = who->groups[i];
}

void who_am_i(struct call *c, const void *request)
{
    Fabric__V1__WhoAmIResponse m = FABRIC__V1__WHO_AM_IRESPONSE__INIT;
    const struct caller *who = call_caller(c);
    struct access_grant g = access_grant(call_rpc(c)->in.config, who);
    struct answer a = {0};
    char reason[300];
    (void)request;
    tell_reason(&g, who, reason, sizeof reason);
    m.caller = answer_text(&a, who->text);
    m.reason = answer_text(&a, reason);
    m.role = (Fabric__V1__Role)g.role;
    if (who->transport == CALLER_UNIX) {
        m.transport = FABRIC__V1__TRANSPORT__TRANSPORT_UNIX;
        fill_user(&a, who, &m);
    } else if (who->transport == CALLER_TLS) {
        m.transport = FABRIC__V1__TRANSPORT__TRANSPORT_TLS;
        fill_certificate(&a, who, &m);
    }
    answer_reply(&a, c, &m.base);
}
