/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabricctl link list.
 */
#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/link.pb-c.h"

static const struct out_column columns[] = {
    {"a", "FROM", false},
    {"b", "TO", false},
    {"state", "STATE", false},
    {"rate", "RATE", false},
};

static void say_row(struct out *o, const Fabric__V1__Link *l)
{
    char a[SHOW_LEN], b[SHOW_LEN], rate[SHOW_LEN];
    show_port(l->a, a);
    show_port(l->b, b);
    show_rate(l->rate, rate);
    out_row(o);
    out_port_keys(o, "a_", l->a);
    out_port_keys(o, "b_", l->b);
    out_text(o, NULL, "FROM", OUT_PLAIN, a);
    out_text(o, NULL, "TO", OUT_PLAIN, b);
    out_text(o, "state", "STATE", tone_port_state(l->state), show_port_state(l->state));
    out_text(o, NULL, "RATE", OUT_PLAIN, rate);
    out_rate_keys(o, l->rate);
    out_row_end(o);
}

static int list(struct session *s)
{
    Fabric__V1__ListLinksRequest q = FABRIC__V1__LIST_LINKS_REQUEST__INIT;
    Fabric__V1__ListLinksResponse *page = NULL, *last = NULL;
    int rc;
    if (s->argc > 0)
        q.node = s->argv[0];
    out_record(s->out, NULL);
    out_table(s->out, "links", columns, sizeof columns / sizeof columns[0], false);
    do {
        rc = ask(s, "ListLinks", &q.base, &fabric__v1__list_links_response__descriptor, &page);
        free_reply(last);
        last = rc == EXIT_OK ? page : NULL;
        for (size_t i = 0; last != NULL && i < last->n_links; i++)
            say_row(s->out, last->links[i]);
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (q.page_token != NULL && q.page_token[0] != '\0');
    free_reply(last);
    out_table_end(s->out);
    out_record_end(s->out);
    return rc;
}

const struct cmd cmd_link_list = {
    .noun = "link",
    .verb = "list",
    .args = "[NODE]",
    .summary = "every cable with both its ends, or those of one node",
    .max_args = 1,
    .run = list,
};
