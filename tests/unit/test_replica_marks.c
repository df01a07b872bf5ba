/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks of changes that a manager had not sent when it lost the lead (fabricd/replica). If another
 * manager has led meanwhile, the changes are outdated, and the manager must drop them. etcd is a
 * fake: the functions below stand in for those of fabricd/replica/etcd.c. */
#include <inttypes.h>

#include "fabricd/base/clock.h"
#include "fabricd/loop/loop.h"
#include "fabricd/replica/state.h"
#include "tests/unit/state_dir.h"

#define LEAF UINT64_C(0x0002c90100000001)
#define ROW(port) "fabricd/fe80000000000000/row/disabled_port/[\"0x0002c90100000001\"," port "]"
#define LEADER "fabricd/fe80000000000000/leader"
#define GUID_HERE UINT64_C(0x10)
#define OTHER "instance 0x0000000000000042 port 0x0000000000000020 time_us 1"
#define CHANGES 200

/* ---- the fake -------------------------------------------------------------------------------- */

struct change {
    char key[200], value[300];
    bool deleted;
    int64_t revision;
};
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct change change[CHANGES]; /* all changes since the start, in their order */
    unsigned count;
    int64_t revision;
    bool blind; /* watches report nothing, as if the server was cut off from the others */
    unsigned interrupts, watches; /* watches: number of watches that are under way */
    unsigned gets;                /* number of calls of etcd_get */
    /* cut: transactions that change several keys wait, and then fail. waits: one is waiting */
    bool cut, waits;
} fake = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Returns the present state of a key; NULL: it does not exist. The caller holds the mutex. */
static const struct change *find(const char *key)
{
    for (unsigned i = fake.count; i > 0; i--)
        if (strcmp(fake.change[i - 1].key, key) == 0)
            return fake.change[i - 1].deleted ? NULL : &fake.change[i - 1];
    return NULL;
}

/* All changes of one transaction. The caller holds the mutex. */
static void put(const struct etcd_change *change, size_t count)
{
    fake.revision++;
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_lt(fake.count, CHANGES);
        struct change *c = &fake.change[fake.count++];
        *c = (struct change){.deleted = change[i].value == NULL, .revision = fake.revision};
        snprintf(c->key, sizeof(c->key), "%s", change[i].key);
        snprintf(c->value, sizeof(c->value), "%s", c->deleted ? "" : change[i].value);
    }
    pthread_cond_broadcast(&fake.changed);
}

void etcd_init(struct etcd *e, const struct config_replication *config)
{
    *e = (struct etcd){.config = config};
}

void etcd_fini(struct etcd *e)
{
    (void)e;
}

/* The connection is made again, to another server, which is not cut off. */
void etcd_interrupt(struct etcd *e)
{
    (void)e;
    pthread_mutex_lock(&fake.mutex);
    fake.interrupts++;
    fake.blind = false;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.mutex);
}

void etcd_end(struct etcd *e)
{
    pthread_mutex_lock(&fake.mutex);
    e->ended = true;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.mutex);
}

const char *etcd_endpoint(const struct etcd *e)
{
    (void)e;
    return "fake";
}

int etcd_get(struct etcd *e, const char *key, char **ret_value, int64_t *ret_mod_revision)
{
    pthread_mutex_lock(&fake.mutex);
    fake.gets++;
    const struct change *c = find(key);
    *ret_value = c != NULL ? strdup(c->value) : NULL;
    *ret_mod_revision = c != NULL ? c->revision : 0;
    e->revision = fake.revision;
    pthread_mutex_unlock(&fake.mutex);
    return FAB_OK;
}

int etcd_list(struct etcd *e, const char *prefix, etcd_each *each, void *ctx, int64_t *ret_revision)
{
    int status = FAB_OK;
    pthread_mutex_lock(&fake.mutex);
    for (unsigned i = 0; i < fake.count && status == FAB_OK; i++) {
        const struct change *c = &fake.change[i];
        if (strncmp(c->key, prefix, strlen(prefix)) == 0 && find(c->key) == c)
            status = each(ctx, c->key, c->value, c->revision);
    }
    *ret_revision = e->revision = fake.revision;
    pthread_mutex_unlock(&fake.mutex);
    return status;
}

int etcd_commit(struct etcd *e, const struct etcd_fence *fence, size_t fences,
                const struct etcd_change *change, size_t count, bool *ret_done,
                int64_t *ret_revision)
{
    *ret_done = true;
    pthread_mutex_lock(&fake.mutex);
    fake.waits = fake.cut && count > 1;
    while (fake.waits && fake.cut && !e->ended)
        pthread_cond_wait(&fake.changed, &fake.mutex);
    if (fake.waits) {
        fake.waits = false;
        pthread_mutex_unlock(&fake.mutex);
        return FAB_E_IO;
    }
    for (size_t i = 0; i < fences; i++) {
        const struct change *c = find(fence[i].key);
        *ret_done &= (c != NULL ? c->revision : 0) == fence[i].revision;
    }
    if (*ret_done)
        put(change, count);
    *ret_revision = e->revision = fake.revision;
    pthread_mutex_unlock(&fake.mutex);
    return FAB_OK;
}

/* Reports all changes since the last report as one group. */
int etcd_watch(struct etcd *e, const char *prefix, int64_t revision, etcd_each *each,
               bool (*batch)(void *ctx, int64_t revision), void *ctx, bool *ret_compacted)
{
    int status = FAB_OK;
    bool goes_on = true;
    unsigned next = 0;
    *ret_compacted = false;
    pthread_mutex_lock(&fake.mutex);
    const unsigned interrupts = fake.interrupts;
    fake.watches++;
    while (next < fake.count && fake.change[next].revision < revision)
        next++;
    while (status == FAB_OK && goes_on) {
        while ((next == fake.count || fake.blind) && !e->ended && fake.interrupts == interrupts)
            pthread_cond_wait(&fake.changed, &fake.mutex);
        if (e->ended || fake.interrupts != interrupts)
            status = FAB_E_IO;
        for (; next < fake.count && status == FAB_OK; next++) {
            const struct change *c = &fake.change[next];
            if (strncmp(c->key, prefix, strlen(prefix)) == 0)
                status = each(ctx, c->key, c->deleted ? NULL : c->value, c->revision);
        }
        const int64_t last = fake.revision;
        pthread_mutex_unlock(&fake.mutex);
        goes_on = status == FAB_OK && batch(ctx, last);
        pthread_mutex_lock(&fake.mutex);
    }
    fake.watches--;
    pthread_mutex_unlock(&fake.mutex);
    return status;
}

/* ---- a manager ------------------------------------------------------------------------------- */

static struct loop *loop;
static struct bus *bus;
static struct store *s;
static struct store_pending *p;
static struct replica *r;
static struct config_replication config = {.prefix = (char[]){"fabricd"}, .endpoints = 1};

static void await(bool (*condition)(void), const char *what)
{
    for (unsigned i = 0; !condition(); i++) {
        ck_assert_msg(i < 10000, "not within 10 s: %s", what);
        usleep(1000);
    }
}

static bool leads(void)
{
    struct replica_status status;
    replica_get_status(r, &status);
    return status.role == REPLICA_LEADS && status.level && status.pending == 0 &&
           replica_is_confirmed(r, replica_mark(r));
}

static bool watches(void)
{
    pthread_mutex_lock(&fake.mutex);
    bool any = fake.watches > 0;
    pthread_mutex_unlock(&fake.mutex);
    return any;
}

static bool watches_nothing(void)
{
    return !watches();
}

static void start_manager(void)
{
    char why[300];
    make_dir();
    loop = loop_new();
    bus = bus_new(0);
    s = open_store();
    const struct replica_input in = {.loop = loop,
                                     .bus = bus,
                                     .store = s,
                                     .config = &config,
                                     .subnet_prefix = UINT64_C(0xfe80000000000000),
                                     .port_guid = GUID_HERE};
    ck_assert_int_eq(replica_start(&in, &r, why, sizeof(why)), FAB_OK);
    ck_assert_int_eq(store_pending_open(s, &p, why, sizeof(why)), FAB_OK);
}

/* The manager has led, has disabled port 5, and is in standby now, before another manager leads. It
 * has not sent that it has enabled port 5 again, and disabled port 6. */
static void setup(void)
{
    start_manager();
    replica_lead(r);
    store_put_disabled(s, LEAF, 5, true);
    store_flush(s);
    await(leads, "the manager leads");
    await(watches_nothing, "the watch has ended");
    replica_follow(r);
    await(watches, "the manager watches");
    store_put_disabled(s, LEAF, 5, false);
    store_put_disabled(s, LEAF, 6, true);
    store_flush(s);
}

static void teardown(void)
{
    replica_stop(r);
    store_pending_close(p);
    store_close(s);
    bus_free(bus);
    loop_free(loop);
    remove_dir();
}

/* Another manager claims the lead, and disables port 5. */
static void other_leads(bool blind)
{
    const struct etcd_change claim = {LEADER, OTHER}, row = {ROW("5"), "{\"since\":1234}"};
    pthread_mutex_lock(&fake.mutex);
    fake.blind = blind;
    put(&claim, 1);
    put(&row, 1);
    pthread_mutex_unlock(&fake.mutex);
}

static size_t count_marked(void)
{
    struct store_rows rows = {0};
    uint64_t all = 0;
    store_flush(s);
    ck_assert_int_eq(store_pending_read(p, 1000, &rows, &all), FAB_OK);
    store_rows_fini(&rows);
    return all;
}

/* The manager has the decision of the other one, and none of its own. */
static bool has_decision_of_other(void)
{
    struct store_port *ports = NULL;
    size_t count = 0;
    store_flush(s);
    ck_assert_int_eq(store_load_disabled(s, &ports, &count), FAB_OK);
    bool has = count == 1 && ports[0].port == 5 && count_marked() == 0 &&
               ask("SELECT sum(since) FROM disabled_port") == 1234;
    free(ports);
    return has;
}

static bool waits(void)
{
    pthread_mutex_lock(&fake.mutex);
    bool any = fake.waits;
    pthread_mutex_unlock(&fake.mutex);
    return any;
}

static void set_cut(bool cut)
{
    pthread_mutex_lock(&fake.mutex);
    fake.cut = cut;
    fake.gets = 0;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.mutex);
}

/* The sender follows: it has read the key of the leader. */
static bool has_read_leader(void)
{
    pthread_mutex_lock(&fake.mutex);
    bool has = fake.gets > 0;
    pthread_mutex_unlock(&fake.mutex);
    return has;
}

/* The last transaction of a leader fails when the manager is in standby already, which has nothing
 * to send. */
START_TEST(a_manager_in_standby_has_nothing_to_send)
{
    struct replica_status status;
    replica_lead(r);
    await(leads, "the manager leads");
    set_cut(true);
    store_put_disabled(s, LEAF, 7, true);
    await(waits, "a transaction waits");
    replica_follow(r);
    set_cut(false);
    await(has_read_leader, "the sender follows");
    replica_get_status(r, &status);
    ck_assert_int_eq(status.role, REPLICA_FOLLOWS);
    ck_assert_uint_eq(status.pending, 0);
}
END_TEST

/* The claim of the other manager arrives together with its row. */
START_TEST(a_manager_in_standby_drops_what_it_has_not_sent)
{
    other_leads(false);
    await(has_decision_of_other, "the manager has the rows of the other one");
}
END_TEST

/* The manager is elected before it hears that another one has led. */
START_TEST(a_new_master_drops_what_it_has_not_sent)
{
    other_leads(true);
    replica_lead(r);
    await(leads, "the manager leads");
    ck_assert_uint_eq(replica_former_guid(r), 0x20);
    ck_assert(has_decision_of_other());
    pthread_mutex_lock(&fake.mutex);
    ck_assert_str_eq(find(ROW("5"))->value, "{\"since\":1234}");
    ck_assert_ptr_null(find(ROW("6")));
    pthread_mutex_unlock(&fake.mutex);
}
END_TEST

/* The manager has never led and never marked a row, and has heard of the other one. Its claim needs
 * no further reading of all rows, for which a new master would wait. */
START_TEST(a_manager_without_marks_claims_at_once)
{
    other_leads(false);
    start_manager();
    await(watches, "the manager watches");
    ck_assert(has_decision_of_other());
    ck_assert_uint_eq(replica_mark(r), 0);
    replica_lead(r);
    await(leads, "the manager leads");
    ck_assert_uint_eq(replica_former_guid(r), 0x20);
    ck_assert_uint_eq(fake.interrupts, 0);
    ck_assert(has_decision_of_other());
}
END_TEST

/* ---- what a beat says ------------------------------------------------------------------------ */

#define SERVICE "fabricd/fe80000000000000/row/service/"
#define BEAT "fabricd/fe80000000000000/beat"
#define RECORD "fabricd/fe80000000000000/changes"
#define REST_US 50000 /* as in send.c */

/* Returns whether the last value that etcd has of a key that begins like this has this text. */
static bool has(const char *key, const char *text)
{
    const struct change *last = NULL;
    pthread_mutex_lock(&fake.mutex);
    for (unsigned i = 0; i < fake.count; i++)
        if (strncmp(fake.change[i].key, key, strlen(key)) == 0)
            last = &fake.change[i];
    bool found = last != NULL && strstr(last->value, text) != NULL;
    pthread_mutex_unlock(&fake.mutex);
    return found;
}

static bool nothing_is_left(void)
{
    return has(BEAT, "pending 0");
}

static bool has_service(void)
{
    return has(SERVICE, "owner");
}

static bool has_record(void)
{
    return has(RECORD, "a change");
}

static bool has_sent_all(void)
{
    return replica_has_sent_all(r);
}

static void register_service(void)
{
    const struct store_service service = {.record = {.id = 7, .pkey = 0xffff}, .owner = 0x99};
    store_put_service(s, &service, true);
    store_flush(s);
    await(has_service, "the service is sent");
}

/* The leader sends a record of changes shortly after a host has registered. Hosts may be
 * registering more at this time, so the beat of this transaction does not say that nothing is left.
 */
START_TEST(a_beat_after_a_registration_waits)
{
    replica_lead(r);
    await(leads, "the manager leads");
    uint64_t before = clock_now_us();
    register_service();
    replica_record_changes(r, 1, 1, "a change");
    await(has_record, "the record is sent");
    bool nothing = nothing_is_left();
    ck_assert(!nothing || clock_now_us() >= before + REST_US);
    await(nothing_is_left, "the beat after the pause");
    ck_assert_uint_ge(clock_now_us(), before + REST_US);
}
END_TEST

/* Before a hand-over, no host can register, so the beat need not wait. */
START_TEST(a_beat_before_a_hand_over_does_not_wait)
{
    replica_lead(r);
    await(leads, "the manager leads");
    uint64_t shortest = UINT64_MAX;
    for (unsigned i = 0; i < 5; i++) {
        uint64_t before = clock_now_us();
        register_service();
        await(has_sent_all, "all is sent");
        ck_assert(nothing_is_left());
        uint64_t took = clock_now_us() - before;
        shortest = took < shortest ? took : shortest;
    }
    ck_assert_uint_lt(shortest, REST_US);
}
END_TEST

int main(void)
{
    Suite *all = suite_create("replica/marks");
    TCase *t = tcase_create("marks");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, a_manager_in_standby_has_nothing_to_send);
    tcase_add_test(t, a_manager_in_standby_drops_what_it_has_not_sent);
    tcase_add_test(t, a_new_master_drops_what_it_has_not_sent);
    tcase_add_test(t, a_beat_after_a_registration_waits);
    tcase_add_test(t, a_beat_before_a_hand_over_does_not_wait);
    suite_add_tcase(all, t);
    t = tcase_create("no marks");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, a_manager_without_marks_claims_at_once);
    suite_add_tcase(all, t);
    return test_run(all);
}
