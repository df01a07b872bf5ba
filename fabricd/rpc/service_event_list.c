/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements ListEvents. The list goes from new to old: first come the events of the journal in
 * memory, then those of the store. Each request examines a limited number of events, so that a
 * filter that matches few events does not block the event loop. */
#include <string.h>

#include "fabric/v1/event.pb-c.h"
#include "fabricd/rpc/concern.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/journal.h"
#include "fabricd/rpc/page.h"
#include "libfabmgr/base/match.h"
#include "libfabmgr/base/status.h"

#define STORE_CHUNK 256u
#define STORE_CHUNKS_AT_ONCE 8u
/* ListEvents goes from new to old, and ends at the first event that is older than `since` by more
 * than this time in us. It does not end at `since`: if the clock was set back, an event with a
 * lower sequence number can have a later time. */
#define CLOCK_SLACK_US INT64_C(3600000000)

struct listing {
    struct answer answer;
    Fabric__V1__ListEventsResponse m;
    const Fabric__V1__ListEventsRequest *filter;
    struct concern concern;
    int64_t since_us, until_us;
    uint32_t want;
    /* all events with this or a higher sequence number have been examined */
    uint64_t before;
    uint32_t seen; /* number of events that were examined in this chunk of the store */
    bool over;     /* true: all further events are too old */
};

/* ---- the filter ------------------------------------------------------------------------------ */

/* Returns true if one of the patterns in `list` matches the type. Commas separate the patterns. */
static bool is_type(const char *list, const char *type)
{
    char pattern[80];
    for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len >= sizeof pattern)
            continue;
        memcpy(pattern, list, len);
        pattern[len] = '\0';
        if (fab_base_pattern_matches(pattern, type, strlen(type)))
            return true;
    }
    return false;
}

static bool is_wanted(const struct listing *l, const struct event *e)
{
    const Fabric__V1__ListEventsRequest *q = l->filter;
    return (int)e->severity + 1 >= (int)q->min_severity && e->time_us >= l->since_us &&
           e->time_us < l->until_us && (q->type[0] == '\0' || is_type(q->type, e->type)) &&
           concern_event(&l->concern, e);
}

static void list_event(void *ctx, const struct event *e)
{
    struct listing *l = ctx;
    l->seen++;
    if (l->m.n_events == l->want || e->seq >= l->before || l->over)
        return;
    l->before = e->seq;
    l->over = e->seq <= l->filter->after_sequence ||
              (l->since_us > 0 && e->time_us < l->since_us - CLOCK_SLACK_US);
    if (!l->over && is_wanted(l, e))
        l->m.events[l->m.n_events++] = convert_event(&l->answer, e);
}

/* ---- the sources ----------------------------------------------------------------------------- */

static void list_new(struct listing *l, const struct journal *j)
{
    uint64_t seq = journal_newest(j);
    if (seq >= l->before)
        seq = l->before - 1;
    for (; seq >= journal_oldest(j) && seq > 0 && l->m.n_events < l->want && !l->over; seq--) {
        const struct event *e = journal_at(j, seq);
        if (e != NULL)
            list_event(l, e);
    }
    if (l->m.n_events < l->want && !l->over && journal_oldest(j) < l->before)
        l->before = journal_oldest(j);
}

/* Lists events from the store, newest first. Returns true if the store may have more events. */
static bool list_old(struct listing *l, struct store *store)
{
    for (unsigned i = 0; i < STORE_CHUNKS_AT_ONCE; i++) {
        if (l->m.n_events == l->want)
            return true;
        l->seen = 0;
        if (store_events(store, l->filter->after_sequence, l->before, true, STORE_CHUNK, list_event,
                         l) < 0 ||
            l->seen < STORE_CHUNK || l->over)
            return l->m.n_events == l->want && l->seen > 0 && !l->over;
    }
    return true;
}

void list_events(struct call *c, const void *request)
{
    const Fabric__V1__ListEventsRequest *q = request;
    struct rpc *r = call_rpc(c);
    struct listing l = {.m = FABRIC__V1__LIST_EVENTS_RESPONSE__INIT,
                        .filter = q,
                        .since_us = read_time(q->since, 0),
                        .until_us = read_time(q->until, INT64_MAX),
                        .want = page_size(q->page_size),
                        .before = q->before_sequence != 0 && q->before_sequence < INT64_MAX
                                      ? q->before_sequence
                                      : INT64_MAX};
    struct page_key key = {0};
    bool given;
    if (page_parse('e', q->page_token, &key, &given) < 0 || key.number > INT64_MAX) {
        refuse_token(c, q->page_token);
        return;
    }
    if (given)
        l.before = key.number;
    if (concern_read(&l.concern, r, q->subject) != FAB_OK) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    l.m.events = answer_alloc(&l.answer, l.want, sizeof *l.m.events);
    bool more = false;
    if (l.m.events != NULL && l.before > 0) {
        list_new(&l, r->journal);
        more = r->in.store != NULL && !l.over ? list_old(&l, r->in.store)
                                              : !l.over && l.before > journal_oldest(r->journal);
    }
    if (more) {
        key = (struct page_key){.list = 'e', .number = l.before};
        l.m.next_page_token = page_token(&l.answer, &key);
    }
    concern_fini(&l.concern);
    answer_reply(&l.answer, c, &l.m.base);
}
