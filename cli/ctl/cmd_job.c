/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl job affected`. It shows which running jobs a fault affects. The user gives
 * it the list of running jobs that the scheduler prints, as a file or on standard input. The size
 * of a request is limited, so many jobs need several requests.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/job_file.h"
#include "cli/ctl/show.h"
#include "libfabmgr/base/host_list.h"

/* maximum numbers of bytes and of jobs in one request; the manager accepts 64 KiB and 10,000
 * jobs */
#define BYTES_MOST 40000u
#define JOBS_MOST 5000u

static const struct out_column columns[] = {
    {"job", "JOB", false},
    {"hosts", "HOSTS", true},
    {"lost_hosts", "LOST HOSTS", false},
    {"hit_pairs", "HIT PAIRS", true},
    {NULL, "HIT %", true},
    {NULL, "NEAR %", true},
    {"absent_endports", "ABSENT", true},
    {"unknown_hosts", "UNKNOWN HOSTS", false},
};

/* Writes names as one list of hosts, in the form that the scheduler's commands accept. */
static void add_hosts(struct out *o, const char *key, const char *label, enum out_tone tone,
                      char **names, size_t count)
{
    struct fab_text t = {0};
    fab_base_host_list_fold((const char *const *)names, count, &t);
    out_text(o, key, label, tone, fab_base_text_get(&t));
    fab_base_text_fini(&t);
}

static void add_percent(struct out *o, const char *label, uint64_t part, uint64_t whole)
{
    out_textf(o, label, part > 0 ? OUT_WARN : OUT_PLAIN, "%.1f",
              whole > 0 ? 100 * (double)part / (double)whole : 0);
}

static void say_job(struct out *o, const Fabric__V1__JobImpact *j)
{
    out_row(o);
    out_text(o, "job", "JOB", OUT_PLAIN, j->id);
    out_number(o, "hosts", "HOSTS", OUT_PLAIN, j->hosts);
    out_number(o, "endports", NULL, OUT_PLAIN, j->endports);
    out_number(o, "lost_endports", NULL, OUT_PLAIN, j->lost_endports);
    add_hosts(o, "lost_hosts", "LOST HOSTS", OUT_BAD, j->lost_hosts, j->n_lost_hosts);
    out_number(o, "pairs", NULL, OUT_PLAIN, j->pairs);
    out_number(o, "hit_pairs", "HIT PAIRS", j->hit_pairs > 0 ? OUT_BAD : OUT_PLAIN, j->hit_pairs);
    add_percent(o, "HIT %", j->hit_pairs, j->pairs);
    out_number(o, "near_pairs", NULL, OUT_PLAIN, j->near_pairs);
    add_percent(o, "NEAR %", j->near_pairs, j->pairs);
    out_number(o, "absent_endports", "ABSENT", j->absent_endports > 0 ? OUT_WARN : OUT_PLAIN,
               j->absent_endports);
    out_number(o, "unknown_host_count", NULL, OUT_PLAIN, j->unknown_host_count);
    add_hosts(o, "unknown_hosts", "UNKNOWN HOSTS", OUT_DIM, j->unknown_hosts, j->n_unknown_hosts);
    out_row_end(o);
}

static bool is_affected(const Fabric__V1__JobImpact *j)
{
    return j->lost_endports > 0 || j->hit_pairs > 0 || j->near_pairs > 0;
}

/* The answers to all requests. */
struct answers {
    Fabric__V1__GetAffectedJobsResponse **reply; /* [count] */
    size_t count;
};

static void say(struct session *s, const struct answers *a, size_t jobs)
{
    struct out *o = s->out;
    const Fabric__V1__GetAffectedJobsResponse *first = a->reply[0];
    uint64_t affected = 0;
    out_record(o, NULL);
    out_keys(o, &first->base, "generation links links_down");
    out_table(o, "jobs", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->reply[i]->n_jobs; k++) {
            const Fabric__V1__JobImpact *j = a->reply[i]->jobs[k];
            affected += is_affected(j);
            if (s->all || is_affected(j))
                say_job(o, j);
        }
    out_table_end(o);
    out_number(o, "job_count", NULL, OUT_PLAIN, jobs);
    out_number(o, "affected_count", NULL, OUT_PLAIN, affected);
    out_note(o, affected > 0 ? OUT_WARN : OUT_GOOD,
             "%" PRIu64 " of %zu jobs are affected by %" PRIu32 " links, of which %" PRIu32
             " are down already.",
             affected, jobs, first->links, first->links_down);
    out_record_end(o);
}

/* Returns how many jobs fit into one request, at least 1. */
static size_t count_fitting(Fabric__V1__Job **jobs, size_t count)
{
    size_t bytes = 0, n = 0;
    for (; n < count && n < JOBS_MOST; n++) {
        bytes += fabric__v1__job__get_packed_size(jobs[n]) + 4;
        if (n > 0 && bytes > BYTES_MOST)
            break;
    }
    return n;
}

/* Sends all jobs, in several requests if necessary. Even without jobs, sends one request, so that
 * the manager checks the names of the failures. */
static int ask_all(struct session *s, const struct job_file *f, struct answers *a)
{
    size_t from = 0;
    do {
        Fabric__V1__GetAffectedJobsRequest q = FABRIC__V1__GET_AFFECTED_JOBS_REQUEST__INIT;
        q.failures = s->argv;
        q.n_failures = (size_t)s->argc;
        q.jobs = f->jobs + from;
        q.n_jobs = f->count > 0 ? count_fitting(f->jobs + from, f->count - from) : 0;
        int rc = ask(s, "GetAffectedJobs", &q.base,
                     &fabric__v1__get_affected_jobs_response__descriptor, &a->reply[a->count]);
        if (rc != EXIT_OK)
            return rc;
        a->count++;
        from += q.n_jobs;
    } while (from < f->count);
    return EXIT_OK;
}

static int affected(struct session *s)
{
    const char *path = s->jobs != NULL ? s->jobs : "-";
    struct job_file f = {0};
    struct answers a = {0};
    if (s->jobs == NULL && isatty(STDIN_FILENO))
        return complain(EXIT_USAGE, "name a file of jobs with --jobs, or pipe them in: "
                                    "squeue -h -t R -o '%%A %%N' | fabricctl job affected ...");
    int rc = job_file_read(path, &f);
    a.reply = calloc(f.count + 1, sizeof *a.reply);
    if (rc == EXIT_OK && a.reply == NULL)
        rc = complain(EXIT_FAILED, "out of memory");
    if (rc == EXIT_OK)
        rc = ask_all(s, &f, &a);
    if (rc == EXIT_OK)
        say(s, &a, f.count);
    for (size_t i = 0; i < a.count; i++)
        free_reply(a.reply[i]);
    free(a.reply);
    job_file_fini(&f);
    return rc;
}

const struct cmd cmd_job_affected = {
    .noun = "job",
    .verb = "affected",
    .args = "NODE[/PORT]... [--jobs FILE] [--all]",
    .summary = "which running jobs a failed link or node concerns",
    .min_args = 1,
    .max_args = 4096,
    .options = "+A",
    .slow = true,
    /* standard input can be read only once, but each manager would need the list of jobs */
    .one_manager = true,
    .method = "fabric.v1.FabricService/GetAffectedJobs",
    .json = "@GetAffectedJobsResponse(generation links links_down) jobs:[ job:text hosts:u32 "
            "endports:u32 lost_endports:u32 lost_hosts:text pairs:u64 hit_pairs:u64 "
            "near_pairs:u64 absent_endports:u32 unknown_host_count:u32 unknown_hosts:text ] "
            "job_count:u64 affected_count:u64",
    .run = affected,
};
