/* SPDX-License-Identifier: BSD-3-Clause */
/* Records runs of the manager, and replays each run from its recording alone. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/sm.h"
#include "fabricd/transport/record.h"
#include "fabricd/transport/replay.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

#define STORY_ROOM 65536

struct rig {
    struct config config;
    struct loop *loop;
    struct bus *bus;
    struct fab_sim *sim;
    /* transport: the recorder, or in a replay the player */
    struct transport *sim_transport, *transport;
    struct sm *sm;
    char folder[32], path[64];
    /* all events and published tables of a run, as text, to compare runs */
    char story[STORY_ROOM];
    size_t story_len;
    bool stopped; /* the recorder has reported that it stopped */
};

static uint64_t hash(uint64_t h, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t tables(struct rig *x)
{
    struct fab_view *v = sm_view(x->sm);
    uint64_t h = 1;
    for (uint32_t sw = 0; v && sw < v->fabric->switch_count; sw++)
        for (uint32_t lid = 0, count; lid <= v->target->lids.top; lid += count) {
            const uint8_t *run = fab_target_lft_run(&v->target->lft, sw, lid, &count);
            h = hash(h, run, count);
        }
    fab_view_unref(v);
    return h;
}

static void on_event(void *ctx, const struct event *e)
{
    struct rig *x = ctx;
    size_t room = STORY_ROOM - x->story_len;
    if (strcmp(e->type, "recording-stopped") == 0) {
        x->stopped = true;
        return;
    }
    bool published = strcmp(e->type, "tables-published") == 0;
    int n = snprintf(x->story + x->story_len, room, "%s %s %016" PRIx64 "\n", e->type, e->subject,
                     published ? tables(x) : 0);
    ck_assert(n > 0 && (size_t)n < room);
    x->story_len += (size_t)n;
}

static void begin(struct rig *x, struct loop *loop)
{
    memset(x, 0, sizeof(*x));
    ck_assert_int_eq(config_defaults(&x->config), FAB_OK);
    x->loop = loop;
    ck_assert_ptr_nonnull(x->loop);
    x->bus = bus_new(0);
    ck_assert_int_eq(bus_subscribe(x->bus, on_event, x), FAB_OK);
    strcpy(x->folder, "/tmp/replay.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(x->folder));
    snprintf(x->path, sizeof(x->path), "%s/recording", x->folder);
}

static void start_sm(struct rig *x)
{
    struct sm_input in = {
        .loop = x->loop, .transport = x->transport, .bus = x->bus, .config = &x->config};
    ck_assert_int_eq(sm_new(&in, &x->sm), FAB_OK);
    sm_start(x->sm);
}

static void open_sim(struct rig *x)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = 6, .spines = 3, .hosts_per_leaf = 4, .parallel = 1};
    struct fab_builder *b;
    struct fab_fabric *f;
    char why[200] = "";
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    ck_assert_int_eq(fab_sim_new(f, test_seed("sim", 5), &x->sim), FAB_OK);
    fab_fabric_unref(f);
    ck_assert_int_eq(transport_sim_open(x->loop, x->sim, NULL, &x->sim_transport, why, sizeof(why)),
                     FAB_OK);
}

static void record_to(struct rig *x, const char *path, uint64_t limit)
{
    char why[200] = "";
    int r = transport_record_open(x->loop, x->sim_transport, x->bus, path, limit, &x->transport,
                                  why, sizeof(why));
    ck_assert_msg(r == FAB_OK, "%s", why);
}

static void stop_loop(void *ctx)
{
    loop_stop(ctx);
}

static void run_for(struct rig *x, uint64_t us)
{
    struct loop_timer *t = loop_timer_new(x->loop, stop_loop, x->loop);
    loop_timer_set(t, us);
    ck_assert_int_eq(loop_run(x->loop), FAB_OK);
    loop_timer_free(t);
}

static void stop_sm(struct rig *x)
{
    sm_free(x->sm);
    transport_close(x->transport);
    transport_close(x->sim_transport);
    x->sm = NULL;
    x->transport = x->sim_transport = NULL;
}

static void end(struct rig *x)
{
    stop_sm(x);
    fab_sim_free(x->sim);
    bus_free(x->bus);
    loop_free(x->loop);
    config_fini(&x->config);
    /* keeps the file, so that a developer can read it with `fabsim mads` */
    if (getenv("REPLAY_KEEP")) {
        printf("# %s\n", x->path);
        return;
    }
    unlink(x->path);
    rmdir(x->folder);
}

static void cable(struct rig *x, bool in)
{
    uint32_t leaf;
    ck_assert_int_eq(fab_sim_find(x->sim, "leaf-001", &leaf), FAB_OK);
    ck_assert_int_eq(in ? fab_sim_relink(x->sim, leaf, 6) : fab_sim_unlink(x->sim, leaf, 6),
                     FAB_OK);
    transport_sim_kick(x->sim_transport);
}

/* Brings the fabric up, pulls a cable, and plugs it in again, while all MADs are recorded. */
static void live(struct rig *x, uint64_t pause_us)
{
    start_sm(x);
    run_for(x, pause_us);
    cable(x, false);
    run_for(x, pause_us);
    cable(x, true);
    run_for(x, pause_us);
    ck_assert_ptr_nonnull(strstr(x->story, "link-down leaf-001/6"));
    ck_assert_ptr_nonnull(strstr(x->story, "link-up leaf-001/6"));
    stop_sm(x);
}

static uint8_t *read_recording(const struct rig *x, size_t *ret_len)
{
    struct stat st;
    FILE *file = fopen(x->path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fstat(fileno(file), &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    *ret_len = fread(bytes, 1, (size_t)st.st_size, file);
    ck_assert_uint_eq(*ret_len, (size_t)st.st_size);
    fclose(file);
    return bytes;
}

struct outcome {
    struct fab_recording_player_stats stats;
    char story[STORY_ROOM];
};

/* Replays a recording with the same policy, but with the LMC `lmc`. quiet: the manager makes no
 * periodic sweeps. The caller must have freed its own loop, because a thread can have only one loop
 * in virtual time. */
static void replay(const uint8_t *bytes, size_t len, uint8_t lmc, bool quiet, struct outcome *ret)
{
    struct rig *x = malloc(sizeof(*x));
    char why[200] = "";
    begin(x, loop_new_virtual());
    x->config.policy.lmc = lmc;
    /* A damaged recording can have times far in the future, until which the manager would make very
     * many periodic sweeps. */
    if (quiet)
        x->config.sweep.light_interval_s = x->config.sweep.heavy_interval_s = 0;
    int r = transport_replay_open(x->loop, bytes, len, stop_loop, x->loop, &x->transport, why,
                                  sizeof(why));
    if (r == FAB_OK) {
        start_sm(x);
        run_for(x, UINT64_C(3600000000));
        transport_replay_stats(x->transport, &ret->stats);
    } else {
        ck_assert(quiet && why[0]);
    }
    strcpy(ret->story, x->story);
    end(x);
    free(x);
}

static uint32_t differences(const struct outcome *o)
{
    return o->stats.unexpected + o->stats.missing;
}

static void assert_replays(const struct rig *x)
{
    struct outcome *o = calloc(1, sizeof(*o));
    size_t len;
    uint8_t *bytes = read_recording(x, &len);
    replay(bytes, len, 0, false, o);
    ck_assert_msg(differences(o) == 0, "%u unexpected, %u missing", o->stats.unexpected,
                  o->stats.missing);
    ck_assert_uint_gt(o->stats.asked, 400);
    ck_assert_uint_eq(o->stats.asked, o->stats.recorded_out);
    ck_assert_uint_eq(o->stats.delivered, o->stats.recorded_in);
    ck_assert_str_eq(o->story, x->story);
    free(bytes);
    free(o);
}

/* Records a whole run in virtual time, in the file x->path. loss: part of the MADs that get
 * lost. */
static void make_recording(struct rig *x, double loss)
{
    begin(x, loop_new_virtual());
    open_sim(x);
    record_to(x, x->path, 0);
    fab_sim_loss(x->sim, loss);
    live(x, 5000000);
    ck_assert(!x->stopped);
}

START_TEST(same_run_in_virtual_time)
{
    struct rig x;
    make_recording(&x, 0);
    loop_free(x.loop);
    x.loop = NULL;
    assert_replays(&x);
    end(&x);
}
END_TEST

START_TEST(same_run_with_losses)
{
    struct rig x;
    make_recording(&x, 0.02);
    loop_free(x.loop);
    x.loop = NULL;
    assert_replays(&x);
    end(&x);
}
END_TEST

START_TEST(same_run_in_real_time)
{
    struct rig x;
    begin(&x, loop_new());
    open_sim(&x);
    record_to(&x, x.path, 0);
    live(&x, 400000);
    assert_replays(&x);
    end(&x);
}
END_TEST

/* Records and replays 35 s, with a light sweep every 10 s. */
START_TEST(same_run_with_light_looks)
{
    struct rig x;
    begin(&x, loop_new_virtual());
    open_sim(&x);
    record_to(&x, x.path, 0);
    live(&x, 35000000);
    loop_free(x.loop);
    x.loop = NULL;
    assert_replays(&x);
    end(&x);
}
END_TEST

START_TEST(tells_another_policy)
{
    struct rig x;
    struct outcome *o = calloc(1, sizeof(*o));
    size_t len;
    make_recording(&x, 0);
    loop_free(x.loop);
    x.loop = NULL;
    uint8_t *bytes = read_recording(&x, &len);
    replay(bytes, len, 1, false, o);
    ck_assert_uint_gt(o->stats.unexpected, 0);
    ck_assert_uint_gt(o->stats.missing, 0);
    free(bytes);
    free(o);
    end(&x);
}
END_TEST

/* Replays a recording whose end is missing, as after kill -9. Only what is in the file can be
 * compared. */
START_TEST(bears_a_cut)
{
    struct rig x;
    struct outcome *o = calloc(1, sizeof(*o));
    size_t len;
    make_recording(&x, 0);
    loop_free(x.loop);
    x.loop = NULL;
    uint8_t *bytes = read_recording(&x, &len);
    srand((unsigned)test_seed("cut", 1));
    for (int i = 0; i < 40; i++) {
        size_t cut = 128 + (size_t)rand() % (len - 128);
        replay(bytes, cut, 0, false, o);
        ck_assert_msg(differences(o) == 0, "cut at %zu: %u unexpected, %u missing", cut,
                      o->stats.unexpected, o->stats.missing);
        ck_assert_uint_eq(o->stats.delivered, o->stats.recorded_in);
        ck_assert(strncmp(o->story, x.story, strlen(o->story)) == 0);
    }
    free(bytes);
    free(o);
    end(&x);
}
END_TEST

/* Replays damaged recordings. Each replay must end, and must deliver only MADs that were recorded.
 * After that, the undamaged recording must still replay without a difference. */
START_TEST(bears_damage)
{
    struct rig x;
    struct outcome *o = calloc(1, sizeof(*o));
    size_t len;
    make_recording(&x, 0);
    loop_free(x.loop);
    x.loop = NULL;
    uint8_t *bytes = read_recording(&x, &len);
    unsigned refused = 0, differ = 0;
    replay(bytes, len, 0, false, o);
    uint32_t total = o->stats.recorded_in + o->stats.recorded_out;
    srand((unsigned)test_seed("damage", 1));
    for (int i = 0; i < 60; i++) {
        uint8_t *bad = malloc(len);
        memcpy(bad, bytes, len);
        for (int n = rand() % 30; n >= 0; n--)
            bad[(size_t)rand() % (i % 2 ? len : 20000)] ^= (uint8_t)(1 << rand() % 8);
        memset(&o->stats, 0, sizeof(o->stats));
        replay(bad, len, 0, true, o);
        ck_assert_uint_le(o->stats.delivered, o->stats.recorded_in);
        ck_assert_uint_le(o->stats.recorded_in + o->stats.recorded_out, total + 30);
        refused += o->stats.recorded_in == 0;
        differ += differences(o) > 0;
        free(bad);
    }
    ck_assert_uint_gt(differ, 0);
    ck_assert_uint_lt(refused, 60);
    assert_replays(&x);
    free(bytes);
    free(o);
    end(&x);
}
END_TEST

START_TEST(stops_at_the_limit)
{
    struct rig x;
    struct stat st;
    struct outcome *o = calloc(1, sizeof(*o));
    size_t len;
    begin(&x, loop_new_virtual());
    open_sim(&x);
    record_to(&x, x.path, 30000);
    live(&x, 1000000);
    ck_assert(x.stopped);
    ck_assert_int_eq(stat(x.path, &st), 0);
    ck_assert_int_le(st.st_size, 30000);
    ck_assert_int_gt(st.st_size, 29000);
    loop_free(x.loop);
    x.loop = NULL;
    uint8_t *bytes = read_recording(&x, &len);
    replay(bytes, len, 0, false, o);
    ck_assert_uint_eq(differences(o), 0);
    free(bytes);
    free(o);
    end(&x);
}
END_TEST

START_TEST(goes_on_without_the_disk)
{
    struct rig x;
    begin(&x, loop_new_virtual());
    open_sim(&x);
    record_to(&x, "/dev/full", 0);
    live(&x, 1000000);
    ck_assert(x.stopped);
    end(&x);
}
END_TEST

START_TEST(says_why_it_cannot)
{
    struct rig x;
    char why[200] = "";
    struct transport *t = NULL;
    begin(&x, loop_new_virtual());
    open_sim(&x);
    ck_assert_int_eq(transport_record_open(x.loop, x.sim_transport, x.bus, "/nowhere/x", 0, &t, why,
                                           sizeof(why)),
                     FAB_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(why, "/nowhere/x"));
    ck_assert_int_eq(transport_replay_open(x.loop, (const uint8_t *)"fabric", 6, stop_loop, x.loop,
                                           &t, why, sizeof(why)),
                     FAB_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(why, "not a recording"));
    ck_assert_ptr_null(t);
    end(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("replay");
    TCase *t = tcase_create("replay");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, same_run_in_virtual_time);
    tcase_add_test(t, same_run_with_losses);
    tcase_add_test(t, same_run_in_real_time);
    tcase_add_test(t, same_run_with_light_looks);
    tcase_add_test(t, tells_another_policy);
    tcase_add_test(t, bears_a_cut);
    tcase_add_test(t, bears_damage);
    tcase_add_test(t, stops_at_the_limit);
    tcase_add_test(t, goes_on_without_the_disk);
    tcase_add_test(t, says_why_it_cannot);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
