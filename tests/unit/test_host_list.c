/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of hosts: how the manager expands them, and how fabricctl makes them.
 */
#include "libfabmgr/base/host_list.h"

#include <string.h>

#include "cli/ctl/job.h"
#include "libfabmgr/base/job_list.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

struct expansion {
    char text[400];
    unsigned count, stop_after;
};

static int collect(void *ctx, const char *name)
{
    struct expansion *e = ctx;
    size_t len = strlen(e->text);
    snprintf(e->text + len, sizeof e->text - len, "%s%s", len > 0 ? " " : "", name);
    return ++e->count == e->stop_after ? FAB_E_LIMIT : FAB_OK;
}

START_TEST(lists_are_expanded)
{
    static const char *const cases[][2] = {
        {"node1", "node1"},
        {"", ""},
        {"n[1-3]", "n1 n2 n3"},
        {"n[08-11]x", "n08x n09x n10x n11x"},
        {"n[1,3,5-6]", "n1 n3 n5 n6"},
        {"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
        {"a[b] n[1-2] mlx", "a[b] n1 mlx a[b] n2 mlx"},
        {"n[3-1]", "n[3-1]"},
        {"n[1-", "n[1-"},
        {"n[]", "n[]"},
        {"n[1,]", "n[1,]"},
        {"n[0000000000001-2]", "n[0000000000001-2]"},
        {"[1][2][3][4][5]", "1234[5]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct expansion e = {.text = ""};
        ck_assert_int_eq(fab_base_host_list_each(cases[i][0], collect, &e), FAB_OK);
        ck_assert_str_eq(e.text, cases[i][1]);
    }
    struct expansion e = {.stop_after = 2};
    ck_assert_int_eq(fab_base_host_list_each("n[0-999999999]", collect, &e), FAB_E_LIMIT);
    ck_assert_str_eq(e.text, "n0 n1");
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(fab_base_host_list_each(longest, collect, &e), FAB_E_LIMIT);
}
END_TEST

static void assert_job(struct job *job, const char *want)
{
    char text[400] = "";
    for (size_t i = 0; i < job->count; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? " " : "", job->names[i]);
    }
    ck_assert_str_eq(text, want);
    job_fini(job);
}

START_TEST(command_lines_are_split)
{
    struct job job = {0};
    ck_assert(job_split(&job, "a,b[1-3,5],c"));
    assert_job(&job, "a b[1-3,5] c");
    ck_assert(job_split(&job, ",,a,,"));
    assert_job(&job, "a");
    ck_assert(job_split(&job, "a[1,2"));
    assert_job(&job, "a[1,2");
    ck_assert(job_split(&job, ""));
    assert_job(&job, "");
}
END_TEST

START_TEST(files_are_folded)
{
    static const struct {
        const char *lines[6], *want;
    } cases[] = {
        {{"n1", "n2", "n3", "n5"}, "n[1-3] n5"},
        {{"n08", "n09", "n10"}, "n[08-10]"},
        {{"n8", "n9", "n10", "n11"}, "n[8-9] n[10-11]"},
        {{"n2", "n1"}, "n2 n1"},
        {{"n1", "m2", "m3"}, "n1 m[2-3]"},
        {{"a", "b"}, "a b"},
        {{"n[1-2]", "n3"}, "n[1-3]"},
        {{"r1n9", "r2n0"}, "r1n9 r2n0"},
        {{"x[1]2", "x[1]3"}, "x[1]2 x[1]3"},
        {{"1", "2", "3"}, "[1-3]"},
        {{"n00000000001", "n00000000002"}, "n00000000001 n00000000002"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct job job = {0};
        for (size_t j = 0; j < 6 && cases[i].lines[j] != NULL; j++)
            ck_assert(job_add(&job, cases[i].lines[j], strlen(cases[i].lines[j])));
        assert_job(&job, cases[i].want);
    }
}
END_TEST

START_TEST(names_are_folded)
{
    static const struct {
        const char *names[6], *want;
    } cases[] = {
        {{"n1", "n2", "n3", "n5"}, "n[1-3,5]"},
        {{"n5", "n1"}, "n[5,1]"},
        {{"n08", "n09", "n10"}, "n[08-10]"},
        {{"n9", "n10"}, "n[9-10]"},
        {{"a", "n1", "b"}, "a,n1,b"},
        {{"1", "2"}, "[1-2]"},
        {{"n9", "n010", "n11"}, "n9,n010,n11"},
        {{"r1n1", "r2n1"}, "r1n1,r2n1"},
        {{NULL}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_text t = {0};
        size_t count = 0;
        while (count < 6 && cases[i].names[count] != NULL)
            count++;
        fab_base_host_list_fold(cases[i].names, count, &t);
        ck_assert_str_eq(fab_base_text_get(&t), cases[i].want);
        fab_base_text_fini(&t);
    }
}
END_TEST

static int count_name(void *ctx, const char *name)
{
    (void)name;
    ++*(uint32_t *)ctx;
    return FAB_OK;
}

/* An expansion ends with an error when it exceeds the number of hosts that any fabric can have. */
START_TEST(expansion_is_bounded)
{
    uint32_t count = 0;
    ck_assert_int_eq(fab_base_host_list_each("n[1-999][1-999]", count_name, &count), FAB_OK);
    ck_assert_uint_eq(count, 999 * 999);
    count = 0;
    ck_assert_int_eq(fab_base_host_list_each("n[1-1001][1-1001]", count_name, &count), FAB_E_LIMIT);
    ck_assert_uint_eq(count, FAB_HOST_LIST_MAX);
}
END_TEST

/* Reads the jobs in a text, and compares them with `want`, which has each job as "ID=HOSTS;". */
static void assert_jobs(const char *text, const char *want)
{
    struct fab_job_reader r = {.job = ""};
    char copy[600], got[400] = "";
    snprintf(copy, sizeof copy, "%s", text);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct fab_job_line job;
        bool found;
        int rc = fab_base_job_list_line(&r, line, &job, &found);
        size_t len = strlen(got);
        if (rc != FAB_OK)
            snprintf(got + len, sizeof got - len, "error;");
        else if (found)
            snprintf(got + len, sizeof got - len, "%s=%.*s;", job.id, job.hosts_len, job.hosts);
    }
    ck_assert_str_eq(got, want);
}

START_TEST(jobs_are_read)
{
    assert_jobs("             JOBID PARTITION     NAME     USER ST  TIME  NODES NODELIST(REASON)\n"
                "  123_4 gpu my train ann R 1:02 4 node[001-004]\n"
                " 124 gpu x bob PD 0:00 2 (Resources)\n"
                " 125 gpu x bob PD 0:00 2 (ReqNodeNotAvail, UnavailableNodes:n1)\n",
                "123_4=node[001-004];");
    assert_jobs("# jobs\n\n4711 node[01-16,20],login1 # ours\r\n4712 n/a\n4713 None\n",
                "4711=node[01-16,20],login1;");
    assert_jobs("JobId=77 JobName=a ReqNodeList=x NodeList=node[1-2] BatchHost=node1\n"
                "JobId=78 NodeList=(null)\n",
                "77=node[1-2];");
    assert_jobs("JobId=79 JobName=b\n   ReqNodeList=(null) ExcNodeList=z\n"
                "   NodeList=r[1-2]n[1-8]\n   BatchHost=r1n1\n",
                "79=r[1-2]n[1-8];");
    assert_jobs("node1\n", "error;");
    assert_jobs("1234567890123456789012345678901234567890123456789012345678901234 n1\n", "error;");
    assert_jobs("JobId=1234567890123456789012345678901234567890123456789012345678901234\n",
                "error;");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("host_list");
    TCase *t = tcase_create("host_list");
    tcase_add_test(t, lists_are_expanded);
    tcase_add_test(t, command_lines_are_split);
    tcase_add_test(t, files_are_folded);
    tcase_add_test(t, names_are_folded);
    tcase_add_test(t, expansion_is_bounded);
    tcase_add_test(t, jobs_are_read);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
