/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabricctl link list.
 */
#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/link.pb-c.h"

static const struct out_column columns[] = {
    {"a", "FROM", false},
    {"b", "TO", false},
    {"state", "STATE", false},
    {"rate", "RATE", false},
};

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Link *l = item;
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
    static const struct list links = {
        .method = "ListLinks",
        .reply = &fabric__v1__list_links_response__descriptor,
        .items = "links",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
    };
    Fabric__V1__ListLinksRequest q = FABRIC__V1__LIST_LINKS_REQUEST__INIT;
    if (s->argc > 0)
        q.node = s->argv[0];
    return say_list(s, &links, &q.base);
}

const struct cmd cmd_link_list = {
    .noun = "link",
    .verb = "list",
    .args = "[NODE]",
    .summary = "every cable with both its ends, or those of one node",
    .max_args = 1,
    .run = list,
};
