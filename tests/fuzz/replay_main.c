/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target with inputs from files, without a fuzzer. `make check` uses it for the seeds,
 * and developers use it for an input that made the target crash.
 *
 *   fuzz_thing [FILE|FOLDER]...
 *
 * Without arguments, it reads $FUZZ_SEEDS/<program name>. It prints TAP, with one line for each
 * input. A crash ends the program, which TAP reports as a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct totals {
    unsigned run;
    unsigned failed;
};

/* Reads a file into a buffer of exactly its size, so that a sanitizer detects an overrun. */
static uint8_t *read_file(const char *path, size_t *ret_size)
{
    uint8_t *data = NULL;
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &st) != 0 || st.st_size > (off_t)INPUT_MAX)
        goto out;
    size_t size = (size_t)st.st_size;
    data = malloc(size > 0 ? size : 1);
    if (data != NULL && fread(data, 1, size, file) != size) {
        free(data);
        data = NULL;
    }
    if (data != NULL)
        *ret_size = size;
out:
    if (file != NULL)
        fclose(file);
    return data;
}

static void replay_file(const char *path, struct totals *totals)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t size = 0;
    uint8_t *data = read_file(path, &size);
    totals->run++;
    if (data == NULL) {
        totals->failed++;
        printf("not ok %u - %s: cannot be read: %s\n", totals->run, name, strerror(errno));
        return;
    }
    LLVMFuzzerTestOneInput(data, size);
    printf("ok %u - %s\n", totals->run, name);
    fflush(stdout);
    free(data);
}

static void replay_folder(const char *path, struct totals *totals)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char *file = NULL;
        if (entries[i]->d_name[0] != '.' && asprintf(&file, "%s/%s", path, entries[i]->d_name) > 0)
            replay_file(file, totals);
        free(file);
        free(entries[i]);
    }
    free(entries);
}

static void replay(const char *path, struct totals *totals)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        replay_folder(path, totals);
    else
        replay_file(path, totals);
}

static void replay_seeds(struct totals *totals)
{
    const char *seeds = getenv("FUZZ_SEEDS");
    char *path = NULL;
    if (asprintf(&path, "%s/%s", seeds != NULL ? seeds : "tests/fuzz/seeds",
                 program_invocation_short_name) > 0)
        replay(path, totals);
    free(path);
}

int main(int argc, char **argv)
{
    struct totals totals = {0};
    for (int i = 1; i < argc; i++)
        replay(argv[i], &totals);
    if (argc < 2)
        replay_seeds(&totals);
    if (totals.run == 0) {
        totals.run = totals.failed = 1;
        printf("not ok 1 - there is no input to replay\n");
    }
    printf("1..%u\n", totals.run);
    return totals.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
