/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command fabsim mads FILE. It prints a recording of fabricd, one line for each MAD: seconds
 * since the start, ">" (sent) or "<" (received), and a description. With -v, it also prints the
 * fields of the attribute.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim/cmd.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/recording/recording.h"

#define AT_SMP_DATA 64
/* size in bytes of the largest struct of an attribute */
#define LONGEST_STRUCT 512

/* Prints a name, with "?" for unprintable bytes, because the file is not trusted and such bytes
 * could control the terminal. */
static void print_name(const char *label, const char *name)
{
    printf("# %s ", label);
    for (; *name; name++)
        putchar(*name >= ' ' && *name <= '~' ? *name : '?');
    putchar('\n');
}

static void print_header(const struct fab_recording_header *h)
{
    print_name("port", h->name);
    print_name("fabricd", h->version);
    printf("# port GUID 0x%016" PRIx64 ", window %" PRIu32 ", began %" PRId64 ".%06" PRId64
           " (Unix time)\n",
           h->port_guid, h->window, h->began_us / 1000000, h->began_us % 1000000);
}

static void print_fields(const uint8_t *mad)
{
    _Alignas(16) uint8_t from[LONGEST_STRUCT];
    char text[4096];
    bool smp = mad[1] == FAB_CLASS_SMP_LID || mad[1] == FAB_CLASS_SMP_DIRECTED;
    const struct fab_attr *a = smp ? fab_wire_attr_by_id(fab_base_get_be16(mad + 16)) : NULL;
    if (!a || a->struct_size > sizeof(from) ||
        fab_wire_attr_unpack(a, mad + AT_SMP_DATA, FAB_SMP_DATA, from) != FAB_OK)
        return;
    (void)fab_wire_attr_print(a, from, text, sizeof(text));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        printf("      %s\n", line);
}

static void print_mad(const struct fab_recording_entry *e, bool verbose)
{
    char text[400];
    bool out = e->kind == FAB_RECORDING_OUT;
    fab_recording_describe(e->bytes, out ? e->addr.dlid : e->addr.slid, text, sizeof(text));
    printf("%s %s%s\n", out ? ">" : "<", text,
           !e->failed ? ""
           : out      ? " (not sent)"
                      : " (undelivered)");
    /* a Get request carries no values of the attribute */
    if (verbose && e->bytes[3] != FAB_METHOD_GET)
        print_fields(e->bytes);
}

static void print_end(uint8_t reason)
{
    static const char *const reasons[] = {
        [FAB_RECORDING_STOPPED] = "the manager was stopped",
        [FAB_RECORDING_LIMIT] = "the file reached its size limit",
        [FAB_RECORDING_DISK_SLOW] = "the disk was too slow",
    };
    bool known = reason >= FAB_RECORDING_STOPPED && reason <= FAB_RECORDING_DISK_SLOW;
    printf("# end: %s\n", known ? reasons[reason] : "unknown reason");
}

static void print_entry(const struct fab_recording_entry *e, bool verbose)
{
    printf("%" PRIu64 ".%06" PRIu64 " ", e->time_us / 1000000, e->time_us % 1000000);
    switch (e->kind) {
    case FAB_RECORDING_OUT:
    case FAB_RECORDING_IN:
        print_mad(e, verbose);
        break;
    case FAB_RECORDING_LEASE:
        printf("# lease of LID %u, LMC %u, for port 0x%016" PRIx64 "\n", e->lid, e->small, e->guid);
        break;
    case FAB_RECORDING_DISABLED:
        printf("# disabled: port %u of node 0x%016" PRIx64 "\n", e->small, e->guid);
        break;
    case FAB_RECORDING_PIN:
        printf("# a name of %u bytes is pinned to node 0x%016" PRIx64 "\n", e->len, e->guid);
        break;
    case FAB_RECORDING_SETTINGS:
        printf("# settings, %u bytes\n", e->len);
        break;
    case FAB_RECORDING_END:
        print_end(e->small);
        break;
    default:
        printf("# an entry of unknown kind %u\n", e->kind);
    }
}

/* Prints a recording. If it is damaged or truncated, prints the valid part, and says so on
 * stderr. */
static int print(const char *path, const uint8_t *bytes, size_t len, bool verbose)
{
    struct fab_base_reader r = fab_base_reader(bytes, len);
    struct fab_recording_header header;
    struct fab_recording_entry e = {0};
    uint8_t mad[FAB_MAD_SIZE];
    int status = fab_recording_unpack_header(&r, &header);
    if (status != FAB_OK) {
        fprintf(stderr, "fabsim: %s: %s\n", path,
                status == FAB_E_UNSUPPORTED ? "a recording of a later version of fabricd"
                                            : "not a recording of fabricd");
        return CMD_FAILED;
    }
    print_header(&header);
    while (e.kind != FAB_RECORDING_END && fab_base_read_left(&r) > 0 &&
           (status = fab_recording_unpack(&r, mad, &e)) == FAB_OK)
        print_entry(&e, verbose);
    if (status == FAB_E_FORMAT)
        fprintf(stderr, "fabsim: %s: damaged at byte %zu; everything before is valid\n", path,
                len - fab_base_read_left(&r));
    else if (e.kind != FAB_RECORDING_END)
        fprintf(stderr, "fabsim: %s: truncated, as after a crash; everything before is valid\n",
                path);
    return CMD_OK;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    bool verbose = argc == 3 && strcmp(argv[1], "-v") == 0;
    char *text = NULL;
    size_t len = 0;
    if (argc != 2 + verbose || (argv[argc - 1][0] == '-' && argv[argc - 1][1] != '\0'))
        return cmd_usage(cmd);
    if (file_read(argv[argc - 1], &text, &len) != 0)
        return CMD_FAILED;
    int status = print(argv[argc - 1], (const uint8_t *)text, len, verbose);
    free(text);
    return status;
}

const struct cmd cmd_mads = {
    .name = "mads",
    .usage = "[-v] FILE",
    .summary = "prints a recording of fabricd --record, one line for each MAD; -v adds the fields "
               "of attributes",
    .run = run,
};
