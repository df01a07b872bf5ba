/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conditions that the verb `expect` of scenarios can check. The table at the end lists them. If
 * a condition is false, its function writes the state that it found instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "tests/sim/stage.h"
#include "tests/sim/verbs.h"

#define CONDITION(name)                                                                            \
    static bool name(struct stage *s, const struct scenario_line *line, char why[512])
#define UNUSED(x) ((void)(x))

static struct sm_status status_of(const struct stage *s)
{
    struct sm_status status = {.state = "gone"};
    if (s->sm)
        sm_get_status(s->sm, &status);
    return status;
}

static const char *word(const struct scenario_line *line, unsigned i)
{
    return i < line->word_count ? line->words[i] : "";
}

CONDITION(is_idle)
{
    struct sm_status status = status_of(s);
    UNUSED(line);
    snprintf(why, 512, "it is %s, generation %llu", status.state,
             (unsigned long long)status.generation);
    return status.generation > 0 && strcmp(status.state, "idle") == 0;
}

CONDITION(is_active)
{
    UNUSED(line);
    return stage_active(s, why);
}

CONDITION(is_good)
{
    UNUSED(line);
    return stage_good(s, why);
}

CONDITION(is_written)
{
    UNUSED(line);
    return stage_written(s, why);
}

/* The condition "healthy": the manager is idle and shows no alarm, each link that is up is Active,
 * and all pairs of endports have paths. */
CONDITION(is_healthy)
{
    struct sm_status status = status_of(s);
    if (!is_idle(s, line, why) || !stage_active(s, why) || !stage_good(s, why))
        return false;
    snprintf(why, 512, "alarm: %.300s", status.alarm);
    return status.alarm[0] == '\0';
}

CONDITION(has_state)
{
    struct sm_status status = status_of(s);
    snprintf(why, 512, "it is %s", status.state);
    return strcmp(status.state, word(line, 1)) == 0;
}

CONDITION(has_generation)
{
    uint64_t now = status_of(s).generation;
    bool changed = now != s->marked_generation;
    snprintf(why, 512, "it was %llu and is %llu", (unsigned long long)s->marked_generation,
             (unsigned long long)now);
    return changed == (strcmp(word(line, 1), "changed") == 0);
}

CONDITION(has_alarm)
{
    struct sm_status status = status_of(s);
    snprintf(why, 512, "it is \"%.300s\"", status.alarm);
    return (status.alarm[0] != '\0') == (strcmp(word(line, 1), "on") == 0);
}

CONDITION(has_unresponsive)
{
    struct sm_unresponsive places[64];
    uint32_t count = s->sm ? sm_unresponsive_ports(s->sm, places, 64) : 0;
    size_t at = 0;
    if (strcmp(word(line, 1), "nobody") == 0 && count == 0)
        return true;
    at += (size_t)snprintf(why, 512, "%u unresponsive ports", count);
    for (uint32_t i = 0; i < count && i < 64; i++) {
        if (strstr(places[i].place, word(line, 1)))
            return true;
        if (at < 400)
            at += (size_t)snprintf(why + at, 512 - at, ", %.60s", places[i].place);
    }
    return false;
}

/* The conditions "held-down PLACE" and "flapping PLACE": the link of this port is held down, or
 * flaps. With "nobody" in place of PLACE: no link is, or does. */
CONDITION(has_flapping)
{
    struct sm_flapping flaps[64];
    uint32_t count = s->sm ? sm_flapping(s->sm, flaps, 64) : 0, found = 0;
    bool held_down = strcmp(word(line, 0), "held-down") == 0;
    size_t at = (size_t)snprintf(why, 512, "they are:");
    for (uint32_t i = 0; i < count && i < 64; i++) {
        if (held_down ? !flaps[i].held_down : !flaps[i].flapping)
            continue;
        found++;
        if (strstr(flaps[i].place[0], word(line, 1)) || strstr(flaps[i].place[1], word(line, 1)))
            return true;
        if (at < 400)
            at += (size_t)snprintf(why + at, 512 - at, " %.40s", flaps[i].place[0]);
    }
    return found == 0 && strcmp(word(line, 1), "nobody") == 0;
}

static bool named(const struct scenario_line *line, const char *a, const char *b)
{
    return strstr(a, word(line, 1)) || strstr(b, word(line, 1));
}

/* The condition "isolated PLACE": the link of this port is isolated and not reinstated. "isolated
 * nobody": each isolated link is reinstated, or there is none. */
CONDITION(has_isolated)
{
    struct sm_isolation list[64];
    uint32_t count = s->sm ? sm_isolations(s->sm, list, 64) : 0, found = 0;
    for (uint32_t i = 0; i < count && i < 64; i++) {
        found += list[i].out;
        if (list[i].out && named(line, list[i].place[0], list[i].place[1]))
            return true;
    }
    snprintf(why, 512, "%u are, %u of them out of the routes", count, found);
    return found == 0 && strcmp(word(line, 1), "nobody") == 0;
}

/* The condition "unhealthy PART": an unhealthy link has PART in the names of its ports. "unhealthy
 * nobody": no link is unhealthy. */
CONDITION(has_unhealthy)
{
    struct pm_link *list = calloc(64, sizeof(*list));
    uint32_t count = s->pm && list ? pm_links(s->pm, list, 64) : 0, found = 0;
    bool it = false;
    for (uint32_t i = 0; i < count && i < 64; i++) {
        found += list[i].unhealthy;
        it |= list[i].unhealthy && named(line, list[i].end[0].place, list[i].end[1].place);
    }
    free(list);
    snprintf(why, 512, "%u are watched, %u of them unhealthy", count, found);
    return it || (found == 0 && strcmp(word(line, 1), "nobody") == 0);
}

CONDITION(has_tables)
{
    bool same = strcmp(word(line, 1), "same") == 0;
    for (unsigned i = 0; i < s->label_count; i++) {
        size_t len = 0;
        if (strcmp(s->labels[i].name, word(line, 2)) != 0)
            continue;
        uint8_t *now = stage_tables(s, &len);
        bool equal = now && len == s->labels[i].len && memcmp(now, s->labels[i].tables, len) == 0;
        free(now);
        snprintf(why, 512, "they are %s", equal ? "the same" : "others");
        return equal == same;
    }
    snprintf(why, 512, "there is no label \"%s\"", word(line, 2));
    return false;
}

/* The words of the line from index `at` on are "least N" or "most N". Compares the number `is` with
 * this limit. */
static bool compare(const struct scenario_line *line, unsigned at, uint64_t is, char why[512])
{
    uint64_t bound = strtoull(word(line, at + 1), NULL, 0);
    snprintf(why, 512, "it is %llu", (unsigned long long)is);
    if (strcmp(word(line, at), "least") == 0)
        return is >= bound;
    return strcmp(word(line, at), "most") == 0 && is <= bound;
}

CONDITION(has_smps)
{
    return compare(line, 1, status_of(s).smps_sent - s->marked_smps, why);
}

CONDITION(has_timeouts)
{
    const struct sm_status status = status_of(s);
    return compare(line, 1, status.smps_retried + status.smps_timed_out - s->marked_timeouts, why);
}

CONDITION(has_generations)
{
    return compare(line, 1, status_of(s).generation - s->marked_generation, why);
}

CONDITION(has_blocks)
{
    return compare(line, 1, s->blocks, why);
}

CONDITION(has_writes)
{
    return compare(line, 1, s->writes, why);
}

CONDITION(has_nodes)
{
    struct fab_view *v = s->sm ? sm_view(s->sm) : NULL;
    uint64_t count = v ? v->fabric->node_count : 0;
    if (v)
        fab_view_unref(v);
    return compare(line, 1, count, why);
}

CONDITION(has_links)
{
    struct fab_view *v = s->sm ? sm_view(s->sm) : NULL;
    uint64_t count = v ? v->fabric->link_count : 0;
    if (v)
        fab_view_unref(v);
    return compare(line, 1, count, why);
}

CONDITION(has_answers)
{
    return compare(line, 1, s->answers, why);
}

CONDITION(has_refusals)
{
    return compare(line, 1, s->refusals, why);
}

static unsigned count_events(const struct stage *s, const char *type, const char *part)
{
    unsigned count = 0;
    for (unsigned i = 0; i < s->event_count; i++)
        count += strcmp(s->events[i].type, type) == 0 &&
                 (strstr(s->events[i].subject, part) || strstr(s->events[i].message, part));
    return count;
}

/* The condition "event TYPE [PART]": the manager has emitted an event of this type, with PART in
 * its subject or message. */
CONDITION(has_event)
{
    size_t at = (size_t)snprintf(why, 512, "events:");
    for (unsigned i = s->event_count > 6 ? s->event_count - 6 : 0; i < s->event_count; i++)
        at += (size_t)snprintf(why + at, 512 - at, " %s %.20s,", s->events[i].type,
                               s->events[i].subject);
    return count_events(s, word(line, 1), word(line, 2)) > 0;
}

CONDITION(has_no_event)
{
    return !has_event(s, line, why);
}

/* The condition "events TYPE least|most N" limits the number of events of this type. "any" in place
 * of TYPE: of all types but trap-received. */
CONDITION(has_events)
{
    if (strcmp(word(line, 1), "any") == 0)
        return compare(line, 2, s->event_count - count_events(s, "trap-received", ""), why);
    return compare(line, 2, count_events(s, word(line, 1), ""), why);
}

/* The condition "port NODE/PORT down|init|armed|active": the port of the simulated device is in
 * this state. */
CONDITION(has_port)
{
    static const char *const names[] = {"", "down", "init", "armed", "active"};
    uint32_t node;
    uint8_t port;
    if (!verb_place(s, word(line, 1), &node, &port)) {
        snprintf(why, 512, "there is no such port");
        return false;
    }
    uint8_t state = fab_sim_port(s->sim, node, port)->port_state;
    snprintf(why, 512, "it is %s", fab_wire_port_state_name(state));
    return state < 5 && strcmp(names[state], word(line, 2)) == 0;
}

/* The condition "counter NODE/PORT NAME least|most N": a counter of the simulated device is at
 * least, or at most, N. */
CONDITION(has_counter)
{
    uint32_t node;
    uint8_t port;
    enum fab_sim_counter counter;
    if (!verb_place(s, word(line, 1), &node, &port) ||
        fab_sim_counter_by_name(word(line, 2), &counter) != FAB_OK) {
        snprintf(why, 512, "there is no such port or counter");
        return false;
    }
    return compare(line, 3, fab_sim_counter(s->sim, node, port, counter), why);
}

static const struct {
    const char *name;
    bool (*holds)(struct stage *s, const struct scenario_line *line, char why[512]);
} conditions[] = {
    {"healthy", is_healthy},
    {"idle", is_idle},
    {"active", is_active},
    {"good", is_good},
    {"state", has_state},
    {"generation", has_generation},
    {"alarm", has_alarm},
    {"unresponsive", has_unresponsive},
    {"tables", has_tables},
    {"smps", has_smps},
    {"nodes", has_nodes},
    {"links", has_links},
    {"answers", has_answers},
    {"refusals", has_refusals},
    {"event", has_event},
    {"no-event", has_no_event},
    {"events", has_events},
    {"port", has_port},
    {"counter", has_counter},
    {"held-down", has_flapping},
    {"flapping", has_flapping},
    {"isolated", has_isolated},
    {"unhealthy", has_unhealthy},
    {"timeouts", has_timeouts},
    {"generations", has_generations},
    {"blocks", has_blocks},
    {"writes", has_writes},
    {"written", is_written},
};

enum scenario_outcome scenario_expect(struct stage *s, const struct scenario_line *line,
                                      char why[512])
{
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
        if (strcmp(conditions[i].name, line->words[0]) == 0)
            return conditions[i].holds(s, line, why) ? SCENARIO_DONE : SCENARIO_NOT_YET;
    snprintf(why, 512, "there is no such condition");
    return SCENARIO_FAILED;
}
