/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent, which connects MAD sessions with a transport. In this test, the functions of the
 * transport are replaced by functions of the test. */
#include <string.h>

#include "fabricd/agent/agent.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#define KEPT 64

struct fixture {
    struct transport transport;
    struct loop *loop;
    struct agent *agent;
    struct transport_mad sent[KEPT];
    /* sent_count: number of MADs that the transport accepted. busy: number of further MADs that the
     * transport will refuse. */
    unsigned sent_count, busy;
    int answers, timeouts, unsolicited;
    struct fab_path path;
};

static int fake_send(struct transport *t, const struct transport_mad *mad)
{
    struct fixture *f = (struct fixture *)t;
    if (f->busy > 0) {
        f->busy--;
        return FAB_E_BUSY;
    }
    ck_assert_uint_lt(f->sent_count, KEPT);
    f->sent[f->sent_count++] = *mad;
    return FAB_OK;
}

static void on_unsolicited(void *ctx, const struct transport_mad *mad)
{
    (void)mad;
    ((struct fixture *)ctx)->unsolicited++;
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *answer)
{
    struct fixture *f = ctx;
    (void)tag;
    f->answers += answer->status == FAB_OK;
    f->timeouts += answer->status == FAB_E_TIMEOUT;
}

static void open_fixture(struct fixture *f, uint32_t window, uint64_t timeout_us)
{
    static const struct transport_ops ops = {.send = fake_send};
    const struct fab_mads_config config = {
        .window_start = window, .window_max = window, .timeout_us = timeout_us, .retries = 1};
    memset(f, 0, sizeof(*f));
    f->transport.ops = &ops;
    f->loop = loop_new();
    ck_assert_ptr_nonnull(f->loop);
    ck_assert_int_eq(agent_new(f->loop, &f->transport, &config, on_unsolicited, f, &f->agent),
                     FAB_OK);
}

static void close_fixture(struct fixture *f)
{
    agent_free(f->agent);
    loop_free(f->loop);
}

static void ask(struct fixture *f)
{
    const struct fab_mads_request req = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                         .method = FAB_METHOD_GET,
                                         .attr_id = FAB_ATTR_NODE_INFO,
                                         .dlid = 0xffff,
                                         .path = &f->path,
                                         .done = on_answer,
                                         .ctx = f};
    ck_assert_int_eq(fab_mads_submit(agent_mads(f->agent), &req), FAB_OK);
}

static void stop_loop(void *ctx)
{
    loop_stop(ctx);
}

static void run_for(struct fixture *f, uint64_t us)
{
    struct loop_timer *t = loop_timer_new(f->loop, stop_loop, f->loop);
    loop_timer_set(t, us);
    ck_assert_int_eq(loop_run(f->loop), FAB_OK);
    loop_timer_free(t);
}

/* Returns the answer to the n-th MAD that was sent. */
static struct transport_mad answer_to(const struct fixture *f, unsigned n)
{
    struct transport_mad m = f->sent[n];
    m.addr.slid = m.addr.dlid;
    m.bytes[3] = FAB_METHOD_GET_RESP;
    m.bytes[4] |= 0x80;
    return m;
}

START_TEST(sends_what_the_window_lets_and_goes_on_with_answers)
{
    struct fixture f;
    open_fixture(&f, 2, 1000000);
    for (int i = 0; i < 5; i++)
        ask(&f);
    agent_pump(f.agent);
    ck_assert_uint_eq(f.sent_count, 2);
    struct transport_mad batch[2] = {answer_to(&f, 0), answer_to(&f, 1)};
    f.transport.receive(f.transport.receive_ctx, batch, 2);
    ck_assert_int_eq(f.answers, 2);
    ck_assert_uint_eq(f.sent_count, 4);
    close_fixture(&f);
}
END_TEST

START_TEST(keeps_what_a_busy_transport_did_not_take)
{
    struct fixture f;
    open_fixture(&f, 8, 1000000);
    f.busy = 1;
    for (int i = 0; i < 3; i++)
        ask(&f);
    agent_pump(f.agent);
    ck_assert_uint_eq(f.sent_count, 0);
    /* The agent sends the refused MAD again by itself, without the arrival of another MAD. */
    run_for(&f, 20000);
    ck_assert_uint_eq(f.sent_count, 3);
    /* no transaction ID was used twice */
    ck_assert_uint_ne(f.sent[0].bytes[15], f.sent[1].bytes[15]);
    close_fixture(&f);
}
END_TEST

START_TEST(times_out_and_retries)
{
    struct fixture f;
    open_fixture(&f, 8, 5000);
    ask(&f);
    agent_pump(f.agent);
    run_for(&f, 60000);
    ck_assert_uint_eq(f.sent_count, 2);
    ck_assert_int_eq(f.timeouts, 1);
    close_fixture(&f);
}
END_TEST

START_TEST(takes_a_mad_that_came_back_as_lost)
{
    struct fixture f;
    open_fixture(&f, 8, 1000000);
    ask(&f);
    agent_pump(f.agent);
    struct transport_mad back = f.sent[0];
    back.failed = true;
    f.transport.receive(f.transport.receive_ctx, &back, 1);
    ck_assert_uint_eq(f.sent_count, 2);
    back = f.sent[1];
    back.failed = true;
    f.transport.receive(f.transport.receive_ctx, &back, 1);
    ck_assert_int_eq(f.timeouts, 1);
    ck_assert_int_eq(f.unsolicited, 0);
    close_fixture(&f);
}
END_TEST

START_TEST(hands_up_what_is_no_answer)
{
    struct fixture f;
    open_fixture(&f, 8, 1000000);
    struct transport_mad trap = {.len = FAB_MAD_SIZE};
    const struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SMP_LID, .method = FAB_METHOD_TRAP, .attr_id = FAB_ATTR_NOTICE};
    ck_assert_int_eq(fab_wire_smp_pack(&head, NULL, trap.bytes), FAB_OK);
    f.transport.receive(f.transport.receive_ctx, &trap, 1);
    ck_assert_int_eq(f.unsolicited, 1);
    struct transport_mad service = {.len = FAB_MAD_SIZE, .qp = 1};
    f.transport.receive(f.transport.receive_ctx, &service, 1);
    ck_assert_int_eq(f.unsolicited, 2);
    close_fixture(&f);
}
END_TEST

START_TEST(answers_go_back_where_requests_came_from)
{
    struct fixture f;
    open_fixture(&f, 8, 1000000);
    struct transport_mad from = {.len = FAB_MAD_SIZE, .addr = {.slid = 17, .sl = 2}};
    uint8_t bytes[FAB_MAD_SIZE] = {1, FAB_CLASS_SMP_LID, 1, FAB_METHOD_TRAP_REPRESS};
    ck_assert_int_eq(agent_reply(f.agent, &from, bytes), FAB_OK);
    ck_assert_uint_eq(f.sent[0].addr.dlid, 17);
    ck_assert_uint_eq(f.sent[0].addr.sl, 2);
    bytes[1] = FAB_CLASS_SMP_DIRECTED;
    ck_assert_int_eq(agent_reply(f.agent, &from, bytes), FAB_OK);
    ck_assert_uint_eq(f.sent[1].addr.dlid, 0xffff);
    close_fixture(&f);
}
END_TEST

static void note_sender(void *ctx, const struct transport_mad *mad)
{
    ck_assert_uint_eq(mad->qp, 1);
    ck_assert_uint_eq(mad->bytes[1], FAB_CLASS_SA);
    ++*(int *)ctx;
}

/* Three agents share a transport: one for subnet management, one that reads counters, and one that
 * answers queries. */
START_TEST(each_class_has_its_agent)
{
    const struct fab_mads_config config = {
        .window_start = 4, .window_max = 4, .timeout_us = 1000000};
    struct fixture f;
    struct agent *perf, *sa;
    int queries = 0;
    open_fixture(&f, 2, 1000000);
    ck_assert_int_eq(
        agent_new_class(f.loop, &f.transport, FAB_CLASS_PERF, &config, NULL, NULL, &perf), FAB_OK);
    ck_assert_int_eq(
        agent_new_class(f.loop, &f.transport, FAB_CLASS_SA, &config, note_sender, &queries, &sa),
        FAB_OK);
    const struct fab_mads_request req = {.mgmt_class = FAB_CLASS_PERF,
                                         .method = FAB_METHOD_GET,
                                         .attr_id = FAB_ATTR_CLASS_PORT_INFO,
                                         .dlid = 9,
                                         .done = on_answer,
                                         .ctx = &f};
    ask(&f);
    agent_pump(f.agent);
    ck_assert_int_eq(fab_mads_submit(agent_mads(perf), &req), FAB_OK);
    agent_pump(perf);
    ck_assert_uint_eq(f.sent_count, 2);
    ck_assert_uint_eq(f.sent[0].qp, 0);
    ck_assert_uint_eq(f.sent[1].qp, 1);
    ck_assert_uint_eq(f.sent[1].addr.qpn, 1);
    ck_assert_uint_eq(f.sent[1].addr.dlid, 9);
    struct transport_mad query = {.qp = 1, .len = FAB_MAD_SIZE};
    query.bytes[0] = 1;
    query.bytes[1] = FAB_CLASS_SA;
    query.bytes[2] = 2;
    query.bytes[3] = FAB_METHOD_GET;
    struct transport_mad other = query;
    other.bytes[1] = 0x09;
    struct transport_mad counters = answer_to(&f, 1);
    /* clears the direction bit that answer_to sets; only directed SMPs have it */
    counters.bytes[4] = 0;
    const struct transport_mad batch[] = {query, counters, other, query, answer_to(&f, 0)};
    transport_hand_up(&f.transport, batch, 5);
    ck_assert_int_eq(f.answers, 2);
    ck_assert_int_eq(queries, 2);
    /* The MAD of a class without an agent counts as unsolicited. */
    ck_assert_int_eq(f.unsolicited, 1);
    agent_free(sa);
    transport_hand_up(&f.transport, &query, 1);
    ck_assert_int_eq(queries, 2);
    ck_assert_int_eq(f.unsolicited, 2);
    agent_free(perf);
    close_fixture(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("agent");
    TCase *t = tcase_create("agent");
    tcase_add_test(t, sends_what_the_window_lets_and_goes_on_with_answers);
    tcase_add_test(t, keeps_what_a_busy_transport_did_not_take);
    tcase_add_test(t, times_out_and_retries);
    tcase_add_test(t, takes_a_mad_that_came_back_as_lost);
    tcase_add_test(t, hands_up_what_is_no_answer);
    tcase_add_test(t, answers_go_back_where_requests_came_from);
    tcase_add_test(t, each_class_has_its_agent);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
