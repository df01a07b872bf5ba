/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl top` shows the fabric on a terminal, updated every two seconds. Without a
 * terminal, or with -n, it prints each update below the one before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/port_samples.h"
#include "cli/ctl/screen.h"
#include "cli/ctl/top_view.h"

#define INTERVAL_MS 2000
#define PLAIN_WIDTH 80u

struct top {
    struct session *s;
    struct top_data now, before;
    Fabric__V1__PortRank by;
    bool paused, over;
    char alert[400];
};

/* ---- updates --------------------------------------------------------------------------------- */

/* If `update` has closed the connection, connects to the manager again. Returns OK or the code of
 * *error. */
static enum fab_grpc_code reconnect(struct session *s, struct fab_client_error *error)
{
    struct fab_client *fresh = NULL;
    if (s->client != NULL)
        return FAB_GRPC_OK;
    enum fab_grpc_code code = fab_client_open(s->connection, &fresh, error);
    if (code == FAB_GRPC_OK)
        s->client = fresh;
    return code;
}

/* Requests new data from the manager. If a request fails, keeps the earlier data, and writes the
 * reason to t->alert. Returns the exit code. */
static int update(struct top *t, struct fab_client_error *error)
{
    struct top_data fresh = {0};
    enum fab_grpc_code code = reconnect(t->s, error);
    if (code == FAB_GRPC_OK)
        code = top_fetch(t->s, t->by, &fresh, error);
    if (code == FAB_GRPC_OK) {
        top_free(&t->before);
        t->before = t->now;
        t->now = fresh;
        t->alert[0] = '\0';
        return EXIT_OK;
    }
    top_free(&fresh);
    snprintf(t->alert, sizeof t->alert, "asked again every 2 s: %.300s",
             error->message[0] != '\0' ? error->message : fab_grpc_code_name((int)code));
    if (code == FAB_GRPC_UNAVAILABLE || code == FAB_GRPC_DEADLINE_EXCEEDED) {
        fab_client_close(t->s->client);
        t->s->client = NULL;
    }
    return EXIT_FAILED;
}

static struct top_view view_of(const struct top *t)
{
    return (struct top_view){.data = &t->now,
                             .load = top_load_of(&t->before, &t->now),
                             .by = t->by,
                             .paused = t->paused,
                             .alert = t->alert};
}

/* ---- a screen -------------------------------------------------------------------------------- */

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");
    return no == NULL || no[0] == '\0';
}

static void draw(const struct top *t)
{
    const struct top_view v = view_of(t);
    struct frame f = {.colour = wants_colour(), .screen = true};
    screen_size(&f.width, &f.height);
    top_show(&v, &f);
    screen_show(fab_base_text_get(&f.text), f.text.len);
    fab_base_text_fini(&f.text);
}

/* Handles a key: ends or pauses the program, or changes the order of the ports. Returns true if new
 * data must be requested at once. */
static bool obey(struct top *t, int key)
{
    /* ranks[i] is the key that selects the order of ports with the value i in enum PortRank. '?'
     * stands for value 0, which no key selects. */
    static const char ranks[] = "?dpwe";
    const char *rank = key > 0 && key < 128 && key != '?' ? strchr(ranks, key) : NULL;
    if (key == 'q' || key == 'Q' || key == SCREEN_ENDED)
        t->over = true;
    else if (key == ' ')
        t->paused = !t->paused;
    else if (rank != NULL)
        t->by = (Fabric__V1__PortRank)(rank - ranks);
    return key == 'r' || rank != NULL;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Handles keys until the time `due`, in ms, or until a key requests new data. While the updates are
 * paused, `due` does not count. */
static void wait_for_keys(struct top *t, int64_t due)
{
    bool ask = false;
    while (!t->over && !ask) {
        int64_t left = due - now_ms();
        if (left <= 0 && !t->paused)
            return;
        int key = screen_key(t->paused ? -1 : (int)left);
        ask = obey(t, key);
        if (key != SCREEN_TIMEOUT && !t->over)
            draw(t);
    }
}

static int watch(struct top *t)
{
    struct fab_client_error error;
    int rc = update(t, &error);
    if (rc != EXIT_OK)
        return say_error(&error);
    if (!screen_open())
        return complain(EXIT_FAILED, "the terminal cannot be set; 'fabricctl top -n 1' needs none");
    while (!t->over) {
        draw(t);
        wait_for_keys(t, now_ms() + INTERVAL_MS);
        if (!t->over)
            update(t, &error);
    }
    screen_close();
    return EXIT_OK;
}

/* ---- without a screen ------------------------------------------------------------------------ */

static void print(const struct top *t)
{
    const struct top_view v = view_of(t);
    struct frame f = {.colour = isatty(STDOUT_FILENO) && screen_is_possible() && wants_colour()};
    const char *columns = getenv("COLUMNS");
    unsigned height, wide = columns != NULL ? (unsigned)strtoul(columns, NULL, 10) : 0;
    if (isatty(STDOUT_FILENO))
        screen_size(&wide, &height);
    f.width = wide >= 20 && wide <= 1000 ? wide : PLAIN_WIDTH;
    top_show(&v, &f);
    fputs(fab_base_text_get(&f.text), stdout);
    fflush(stdout);
    fab_base_text_fini(&f.text);
}

static void say_port(struct out *o, const Fabric__V1__TopPort *p)
{
    double used = top_utilisation(p);
    out_row(o);
    out_port_keys(o, "", p->port);
    out_port_keys(o, "peer_", p->peer);
    if (used >= 0)
        out_real(o, "load_percent", NULL, OUT_PLAIN, used, 1);
    else
        out_none(o, "load_percent", NULL);
    out_sample_keys(o, "", p->sample);
    out_row_end(o);
}

static void say_links(struct out *o, const struct top_data *d)
{
    static const struct out_column columns[] = {
        {"state", NULL, false}, {"a", NULL, false}, {"b", NULL, false}, {"reason", NULL, false}};
    out_table(o, "links", columns, 4, false);
    for (size_t i = 0; i < d->link_count; i++) {
        out_row(o);
        out_text(o, "state", NULL, OUT_PLAIN, d->links[i].state);
        out_port_keys(o, "a_", d->links[i].a);
        out_port_keys(o, "b_", d->links[i].b);
        out_text(o, "reason", NULL, OUT_PLAIN, d->links[i].why);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_events(struct out *o, const Fabric__V1__ListEventsResponse *r)
{
    static const struct out_column columns[] = {{"time", NULL, false},
                                                {"severity", NULL, false},
                                                {"type", NULL, false},
                                                {"subject", NULL, false},
                                                {"message", NULL, false}};
    out_table(o, "events", columns, 5, false);
    for (size_t i = 0; r != NULL && i < r->n_events; i++) {
        out_row(o);
        out_time_utc(o, "time", r->events[i]->time);
        out_text(o, "severity", NULL, OUT_PLAIN, show_severity(r->events[i]->severity));
        out_keys(o, &r->events[i]->base, "type subject message sequence");
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_percent(struct out *o, const char *key, double value)
{
    if (value >= 0)
        out_real(o, key, NULL, OUT_PLAIN, value, 2);
    else
        out_none(o, key, NULL);
}

/* Prints all values, for output formats that programs read. */
static void say(struct out *o, const struct top *t)
{
    static const struct out_column columns[] = {{"port", NULL, false}};
    const struct top_data *d = &t->now;
    const Fabric__V1__Status *s = d->status->status;
    const struct top_load load = top_load_of(&t->before, &t->now);
    out_record(o, NULL);
    out_keys(o, &s->base, "state generation");
    say_percent(o, "cpu_percent", load.cpu);
    say_percent(o, "loop_percent", load.loop);
    if (s->load != NULL)
        out_keys(o, &s->load->base, "resident_bytes");
    if (s->fabric != NULL)
        out_keys(o, &s->fabric->base, "switches adapters links active_links degraded_links");
    out_table(o, "ports", columns, 1, false);
    for (size_t i = 0; d->ports != NULL && i < d->ports->n_ports; i++)
        say_port(o, d->ports->ports[i]);
    out_table_end(o);
    say_links(o, d);
    say_events(o, d->events);
    out_record_end(o);
}

static int repeat(struct top *t)
{
    struct fab_client_error error;
    uint32_t times = t->s->count > 0 ? t->s->count : 1;
    for (uint32_t i = 0; i < times && !out_broken(t->s->out); i++) {
        if (i > 0)
            usleep(INTERVAL_MS * 1000);
        if (update(t, &error) != EXIT_OK)
            return say_error(&error);
        if (t->s->out_format == OUT_TEXT)
            print(t);
        else
            say(t->s->out, t);
        if (i + 1 < times && t->s->out_format == OUT_TEXT)
            puts("");
    }
    return EXIT_OK;
}

static int run(struct session *s)
{
    struct top t = {.s = s, .by = FABRIC__V1__PORT_RANK__PORT_RANK_DATA};
    int rc = parse_rank(s->by, &t.by);
    if (rc == EXIT_OK)
        rc = s->out_format == OUT_TEXT && s->count == 0 && screen_is_possible() ? watch(&t)
                                                                                : repeat(&t);
    top_free(&t.now);
    top_free(&t.before);
    return rc;
}

const struct cmd cmd_top = {
    .noun = "top",
    .args = "[--by WHAT] [-n COUNT]",
    .summary = "state, busiest ports, links that need attention and events, every 2 seconds",
    .one_manager = true,
    .options = "bn",
    .method = "fabric.v1.FabricService/GetStatus",
    .json = "@Status(state generation) cpu_percent:amount|null loop_percent:amount|null "
            "resident_bytes?:u64 =fabric? ports:[ =port =port(peer_) load_percent:amount|null "
            "=sample ] links:[ state:text =link reason:text ] events:[ time:time "
            "severity:severity @Event(type subject message sequence) ]",
    .run = run,
};
