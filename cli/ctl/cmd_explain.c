/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl route explain`. */
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/route.pb-c.h"

static const struct out_column columns[] = {
    {"engine", "ENGINE", false},
    {"outcome", "RESULT", false},
    {"max_over_mean", "MAX/MEAN", true},
    {"worst_shift", "WORST SHIFT", true},
    {"mean_shift", "MEAN SHIFT", true},
    {"shift_bandwidth", "SHIFT BW", true},
    {"permutation_bandwidth", "PERM BW", true},
    {"virtual_lanes", "LANES", true},
    {"time_ms", "MS", true},
    {"reason", "REASON", false},
};

static const char *outcome_word(Fabric__V1__EngineOutcome outcome)
{
    static const char *const words[] = {
        "?", "taken", "not better", "not applicable", "proof failed", "too many lanes",
    };
    return (size_t)outcome < sizeof words / sizeof words[0] ? words[outcome] : "?";
}

static enum out_tone tone_outcome(Fabric__V1__EngineOutcome outcome)
{
    return outcome == FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_TAKEN        ? OUT_GOOD
           : outcome == FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_NOT_BETTER ? OUT_PLAIN
                                                                              : OUT_DIM;
}

static void say_figures(struct out *o, const Fabric__V1__EngineFigures *f)
{
    const struct {
        size_t column;
        double value;
        unsigned digits;
    } figures[] = {
        {2, f != NULL ? f->max_over_mean : 0, 2},
        {3, f != NULL ? f->worst_shift : 0, 1},
        {4, f != NULL ? f->mean_shift : 0, 2},
        {5, f != NULL ? f->shift_bandwidth : 0, 3},
        {6, f != NULL ? f->permutation_bandwidth : 0, 3},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const struct out_column *c = &columns[figures[i].column];
        if (f != NULL)
            out_real(o, c->key, c->label, OUT_PLAIN, figures[i].value, figures[i].digits);
        else
            out_none(o, c->key, c->label);
    }
}

static void say_row(struct out *o, const Fabric__V1__ConsideredEngine *e)
{
    char name[SHOW_LEN];
    snprintf(name, sizeof name, "%.60s%s", e->engine, e->local_search ? " + search" : "");
    out_row(o);
    out_text(o, NULL, "ENGINE", OUT_PLAIN, name);
    out_keys(o, &e->base, "engine local_search");
    out_text(o, "outcome", "RESULT", tone_outcome(e->outcome), outcome_word(e->outcome));
    say_figures(o, e->figures);
    if (e->virtual_lanes > 0)
        out_number(o, "virtual_lanes", "LANES", OUT_PLAIN, e->virtual_lanes);
    else
        out_none(o, "virtual_lanes", "LANES");
    if (e->time != NULL)
        out_millis(o, "time_ms", "MS", OUT_PLAIN, microseconds_of(e->time));
    else
        out_none(o, "time_ms", "MS");
    out_text(o, "reason", "REASON", OUT_PLAIN, e->reason);
    out_row_end(o);
}

static void say(struct out *o, const Fabric__V1__GetRoutingChoiceResponse *r)
{
    out_record(o, NULL);
    out_text(o, "routing_engine", "Routing", OUT_PLAIN, r->engine);
    out_text(o, "routing_reason", "Reason", OUT_PLAIN, r->reason);
    out_number(o, "generation", "Generation", OUT_PLAIN, r->generation);
    out_table(o, "engines", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = 0; i < r->n_engines; i++)
        say_row(o, r->engines[i]);
    out_table_end(o);
    out_record_end(o);
}

static int explain(struct session *s)
{
    Fabric__V1__GetRoutingChoiceRequest q = FABRIC__V1__GET_ROUTING_CHOICE_REQUEST__INIT;
    Fabric__V1__GetRoutingChoiceResponse *r = NULL;
    int rc = ask(s, "GetRoutingChoice", &q.base,
                 &fabric__v1__get_routing_choice_response__descriptor, &r);
    if (rc == EXIT_OK)
        say(s->out, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_route_explain = {
    .noun = "route",
    .verb = "explain",
    .summary = "why the manager chose the routing engine",
    .method = "fabric.v1.FabricService/GetRoutingChoice",
    .json = "routing_engine:text routing_reason:text generation:u64 engines:[ "
            "@ConsideredEngine(engine local_search) outcome:'?'|'taken'|'not better'|'not "
            "applicable'|'proof failed'|'too many lanes' max_over_mean:amount|null "
            "worst_shift:amount|null mean_shift:amount|null shift_bandwidth:amount|null "
            "permutation_bandwidth:amount|null virtual_lanes:u8|null time_ms:amount|null "
            "reason:text ]",
    .run = explain,
};
