/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs scenarios, each in its own process, and prints TAP. `make check` runs all scenarios of
 * tests/sim, each with the seed in its file. By hand:
 *
 *     run_scenarios [-v] [-s SEED] [-n TIMES] [FILE...]
 *
 * -n: runs each scenario TIMES times, with the seeds SEED, SEED + 1 and so on (default seed: from
 * the clock); a failure is printed with its seed. -v: prints what happens.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/next_round_seen.h"
#include "tests/sim/scenario.h"

#define FILES_MAX 512
#define TEXT_MAX (1u << 21)
/* default of the option -t: a run fails if it takes longer than this number of seconds of real
 * time */
#define SECONDS_MAX 120

struct job {
    bool verbose;
    bool seeded;
    uint64_t seed;
    unsigned times;
    unsigned seconds_max;
    /* option -k: the manager's state directory, which is kept; NULL: a temporary one */
    const char *state_dir;
    char *files[FILES_MAX];
    size_t file_count;
    unsigned tests, failed;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_scenario(const char *path, struct scenario *ret)
{
    static char text[TEXT_MAX];
    struct scenario_error error;
    FILE *file = fopen(path, "re");
    if (!file) {
        printf("# %s cannot be opened\n", path);
        return FAB_E_IO;
    }
    size_t len = fread(text, 1, sizeof(text), file);
    fclose(file);
    int r = scenario_read(text, len, path, ret, &error);
    if (r == FAB_E_FORMAT)
        printf("# %s:%u:%u: %s\n", path, error.line, error.column, error.message);
    return r;
}

static bool is_golden(const struct scenario *scenario, const struct scenario_run_config *config,
                      const char *path, const char *summary)
{
    const char *slash = strrchr(path, '/');
    char name[256];
    snprintf(name, sizeof(name), "%.255s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot)
        *dot = '\0';
    return summary && scenario_golden(scenario, config, name, summary);
}

static void folder_of(const char *path, char folder[256])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, 256, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

/* Limits the processor time of this process, which does not depend on the load of the machine. A
 * process that waits for ever uses no processor time, so its wall-clock time has a limit, too. */
static void limit_time(unsigned cpu_seconds)
{
    const struct rlimit limit = {.rlim_cur = cpu_seconds, .rlim_max = cpu_seconds + 5};
    setrlimit(RLIMIT_CPU, &limit);
    alarm(10 * cpu_seconds);
}

/* Plays a scenario. Runs in the child process. */
static int play(const struct job *job, const char *path, uint64_t fresh_seed)
{
    struct scenario scenario;
    struct scenario_result result;
    char folder[256];
    if (read_scenario(path, &scenario) != FAB_OK) {
        fflush(stdout);
        return EXIT_FAILURE;
    }
    folder_of(path, folder);
    struct scenario_run_config config = {.seed = job->seeded ? fresh_seed : scenario.seed,
                                         .verbose = job->verbose,
                                         .folder = folder,
                                         .state_dir = job->state_dir};
    double start = now_s();
    limit_time(job->seconds_max);
    char *summary = NULL;
    size_t len;
    if (!job->seeded)
        config.summary = open_memstream(&summary, &len);
    scenario_run(&scenario, &config, &result);
    if (config.summary)
        fclose(config.summary);
    if (!result.good)
        printf("# %s: seed %" PRIu64 ": %s\n", path, config.seed, result.message);
    else if (job->verbose || !job->seeded)
        printf("# %.3f s of virtual time in %.2f s, %" PRIu64 " MADs, digest %016" PRIx64 "\n",
               (double)result.end_us / 1e6, now_s() - start, result.mads, result.digest);
    if (!job->seeded && !next_rounds_in_table())
        result.good = false;
    if (!job->seeded && result.good)
        result.good = is_golden(&scenario, &config, path, summary);
    free(summary);
    scenario_fini(&scenario);
    fflush(stdout);
    return result.good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void run_one(struct job *job, const char *path, uint64_t seed)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        /* unlike _exit(), exit() writes the counters of a coverage build */
        exit(play(job, path, seed));
    bool good = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                WEXITSTATUS(status) == EXIT_SUCCESS;
    if (child > 0 && WIFSIGNALED(status))
        printf("# %s: signal %d, seed %" PRIu64 "\n", path, WTERMSIG(status), seed);
    job->tests++;
    job->failed += !good;
    if (job->seeded)
        printf("%s %u - %s (seed %" PRIu64 ")\n", good ? "ok" : "not ok", job->tests, base, seed);
    else
        printf("%s %u - %s\n", good ? "ok" : "not ok", job->tests, base);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static void find_files(struct job *job)
{
    char folder[512], path[1024];
    const char *top = getenv("abs_top_srcdir");
    snprintf(folder, sizeof(folder), "%s/tests/sim", top ? top : ".");
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) && job->file_count < FILES_MAX;) {
        size_t len = strlen(e->d_name);
        if (len < 9 || strcmp(e->d_name + len - 9, ".scenario") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%.255s", folder, e->d_name);
        job->files[job->file_count++] = strdup(path);
    }
    if (dir)
        closedir(dir);
    qsort(job->files, job->file_count, sizeof(job->files[0]), by_name);
}

static bool read_options(struct job *job, int argc, char **argv)
{
    for (int c; (c = getopt(argc, argv, "vs:n:t:k:")) != -1;)
        if (c == 'v')
            job->verbose = true;
        else if (c == 't')
            job->seconds_max = (unsigned)strtoul(optarg, NULL, 0);
        else if (c == 'k')
            job->state_dir = optarg;
        else if (c == 's' || c == 'n') {
            if (c == 's')
                job->seed = strtoull(optarg, NULL, 0);
            else
                job->times = (unsigned)strtoul(optarg, NULL, 0);
            job->seeded = true;
        } else {
            return false;
        }
    if (job->seeded && job->seed == 0)
        job->seed = (uint64_t)time(NULL);
    for (; optind < argc && job->file_count < FILES_MAX; optind++)
        job->files[job->file_count++] = strdup(argv[optind]);
    if (job->file_count == 0)
        find_files(job);
    return true;
}

int main(int argc, char **argv)
{
    struct job job = {.times = 1, .seconds_max = SECONDS_MAX};
    if (!read_options(&job, argc, argv)) {
        fprintf(stderr, "usage: run_scenarios [-v] [-s SEED] [-n TIMES] [-t SECONDS] [-k "
                        "STATE-DIR] [FILE...]\n");
        return EXIT_FAILURE;
    }
    log_init(job.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    for (unsigned i = 0; i < job.times; i++)
        for (size_t f = 0; f < job.file_count; f++)
            run_one(&job, job.files[f], job.seed + i);
    printf("1..%u\n", job.tests);
    for (size_t f = 0; f < job.file_count; f++)
        free(job.files[f]);
    return job.failed == 0 && job.tests > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
