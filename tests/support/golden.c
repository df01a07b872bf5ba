/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden files. */
#include "tests/support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/testing.h"

void golden_path(const char *file, char *ret, size_t len)
{
    const char *top = getenv("abs_top_srcdir");
    snprintf(ret, len, "%s/%s", top != NULL ? top : "..", file);
}

uint64_t golden_hash(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t golden_hash_numbers(uint64_t hash, const uint64_t *number, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned shift = 0; shift < 64; shift += 8) {
            uint8_t byte = (uint8_t)(number[i] >> shift);
            hash = golden_hash(hash, &byte, 1);
        }
    return hash;
}

static bool write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    bool good = f != NULL && fputs(text, f) >= 0;
    good = f != NULL && fclose(f) == 0 && good;
    if (!good)
        printf("# cannot write %s\n", path);
    return good;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    size_t room = 1u << 20, len;
    char *text = malloc(room);
    if (text == NULL)
        abort();
    len = f != NULL ? fread(text, 1, room - 1, f) : 0;
    text[len] = '\0';
    if (f != NULL)
        fclose(f);
    return text;
}

/* Prints the difference between the file and the text as TAP diagnostics, which are lines that
 * begin with #. The option -F makes diff print the heading above each changed line. */
static void print_diff(const char *path, const char *text)
{
    char is[] = "/tmp/fabricd-golden-XXXXXX", command[1200];
    int fd = mkstemp(is);
    if (fd < 0)
        return;
    close(fd);
    (void)write_file(is, text);
    snprintf(command, sizeof command,
             "diff -u -F '^[=a-zA-Z]' --label expected --label found '%s' '%s' | head -n 200 | "
             "sed 's/^/# /'",
             path, is);
    fflush(stdout);
    if (system(command) != 0)
        printf("# diff cannot be run; the text is in %s\n", is);
    else
        unlink(is);
}

bool golden_same(const char *path, const char *text)
{
    if (getenv("UPDATE_GOLDEN") != NULL)
        return write_file(path, text);
    char *expected = read_file(path);
    bool same = strcmp(expected, text) == 0;
    free(expected);
    if (!same)
        print_diff(path, text);
    return same;
}

void golden_compare(const char *file, const char *text)
{
    char path[1000];
    golden_path(file, path, sizeof path);
    ck_assert_msg(golden_same(path, text),
                  "%s: differs; if this is meant, UPDATE_GOLDEN=1 rewrites it", file);
}
