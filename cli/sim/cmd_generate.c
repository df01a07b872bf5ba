/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command fabsim generate FAMILY OPTIONS. It generates a fabric of a topology family and writes
 * it to a file. If the fabric has several planes, each plane gets its own file. families.c has the
 * table of families, and options.c the table of their options.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/sim/cmd.h"
#include "cli/sim/generate.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

#define MAX_PLANES 255

/* ---- variations of the fabric ---------------------------------------------------------------- */

static int parse_rate(const struct value *v, struct fab_port_info *ret)
{
    char text[16];
    int len = snprintf(text, sizeof text, "%ux%s", (unsigned)(v[OPT_WIDTH].number & 255),
                       v[OPT_SPEED].text);
    if (v[OPT_WIDTH].number < 256 && len < (int)sizeof text &&
        fab_fabric_text_parse_rate(text, (size_t)len, ret) == FAB_OK)
        return 0;
    fprintf(stderr, "fabsim: no link has %llu lanes %s\n", (unsigned long long)v[OPT_WIDTH].number,
            v[OPT_SPEED].text);
    return -1;
}

static struct fab_variation dress_of(const struct value *v, const struct fab_port_info *rate)
{
    uint64_t radix = v[OPT_RADIX].number;
    return (struct fab_variation){.radix = radix < UINT32_MAX ? (uint32_t)radix : UINT32_MAX,
                                  .aggregation = v[OPT_AGGREGATION].number != 0,
                                  .missing = (uint32_t)v[OPT_MISSING].number,
                                  .missing_ppm = v[OPT_MISSING].ppm,
                                  .allow_partitioned = v[OPT_ALLOW_PARTITIONED].number != 0,
                                  .shuffle_guids = v[OPT_SHUFFLE_GUIDS].number != 0,
                                  .seed = v[OPT_SEED].number,
                                  .rate = rate};
}

/* ---- writing --------------------------------------------------------------------------------- */

static int complain(int status)
{
    fprintf(stderr, "fabsim: %s\n", fab_base_status_text(status));
    return CMD_FAILED;
}

/* Makes a fabric from the builder. Frees the builder, even on an error. */
static int seal(struct fab_builder *b, struct fab_fabric **ret)
{
    int status = fab_fabric_builder_seal(b, ret);
    fab_fabric_builder_free(b);
    return status;
}

static int write_out(const struct fab_fabric *f, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    int status = fab_fabric_text_write(f, &text, &len);
    if (status != FAB_OK)
        return complain(status);
    int result = file_write(path, text, len) == 0 ? CMD_OK : CMD_FAILED;
    free(text);
    return result;
}

static int dress_and_write(const struct fab_fabric *plain, const struct fab_variation *variation,
                           const char *path)
{
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    int status = fab_fabric_generate_variation(plain, variation, &b);
    if (status == FAB_E_RANGE)
        fprintf(stderr, "fabsim: a switch has more ports than --radix, or than 254\n");
    else if (status == FAB_E_LIMIT)
        fprintf(stderr, "fabsim: --missing: not so many cables can be missing%s\n",
                variation->allow_partitioned ? "" : " without --allow-partitioned");
    if (status == FAB_E_RANGE || status == FAB_E_LIMIT)
        return CMD_FAILED;
    if (status == FAB_OK)
        status = seal(b, &f);
    int result = status == FAB_OK ? write_out(f, path) : complain(status);
    fab_fabric_unref(f);
    return result;
}

/* Returns the name of the file for one plane, such as "fabric-plane2.net" for plane 2 of
 * "fabric.net". Only fabrics with several planes have such files. The caller frees the name. NULL:
 * out of memory. */
static char *plane_path(const char *path, uint32_t plane)
{
    char *made = NULL;
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = strlen(path);
    if (dot != NULL && dot > (slash != NULL ? slash + 1 : path))
        stem = (size_t)(dot - path);
    return asprintf(&made, "%.*s-plane%u%s", (int)stem, path, plane, path + stem) >= 0 ? made
                                                                                       : NULL;
}

static int write_planes(const struct fab_fabric *plain, struct fab_variation *variation,
                        uint32_t planes, const char *path)
{
    int result = CMD_OK;
    for (uint32_t i = 1; i <= planes && result == CMD_OK; i++) {
        char *name = plane_path(path, i);
        if (name == NULL)
            return complain(FAB_E_NOMEM);
        variation->plane = i;
        result = dress_and_write(plain, variation, name);
        free(name);
    }
    return result;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void help_families(FILE *file)
{
    fprintf(file, "families:\n");
    for (unsigned i = 0; i < family_count; i++)
        fprintf(file, "  %-15s %s\n", families[i].name, families[i].summary);
}

static int help_family(const struct family *family)
{
    printf("fabsim generate %s: %s\n", family->name, family->summary);
    options_print(family, stdout);
    return CMD_OK;
}

static int usage(const struct cmd *cmd)
{
    cmd_usage(cmd);
    help_families(stderr);
    return CMD_USAGE;
}

static int make(const struct family *family, const struct value *v, struct fab_fabric **ret)
{
    struct fab_builder *b = NULL;
    int status = family->make(v, &b);
    if (status == FAB_OK)
        status = seal(b, ret);
    if (status != FAB_OK)
        fprintf(stderr, "fabsim: %s: no such fabric is possible: %s\n", family->name,
                status == FAB_E_RANGE ? family->limits : fab_base_status_text(status));
    return status;
}

static int generate(const struct family *family, const struct value *v, const char *out)
{
    struct fab_port_info rate;
    struct fab_fabric *plain = NULL;
    uint64_t planes = v[OPT_PLANES].number;
    if (planes == 0 || planes > MAX_PLANES || (planes > 1 && strcmp(out, "-") == 0)) {
        fprintf(stderr, "fabsim: --planes is 1 to %d, and more than one plane needs -o FILE\n",
                MAX_PLANES);
        return CMD_USAGE;
    }
    if (parse_rate(v, &rate) != 0)
        return CMD_USAGE;
    if (make(family, v, &plain) != FAB_OK)
        return CMD_FAILED;
    struct fab_variation variation = dress_of(v, &rate);
    int result = planes > 1 ? write_planes(plain, &variation, (uint32_t)planes, out)
                            : dress_and_write(plain, &variation, out);
    fab_fabric_unref(plain);
    return result;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    struct value values[OPTION_COUNT];
    const char *out;
    const struct family *family = argc > 1 ? family_find(argv[1]) : NULL;
    if (argc > 1 && family == NULL && argv[1][0] != '-')
        fprintf(stderr, "fabsim: no family \"%s\"; fabsim generate --help lists them\n", argv[1]);
    if (family == NULL)
        return usage(cmd);
    int parsed = options_parse(family, argc - 1, argv + 1, values, &out);
    if (parsed > 0)
        return help_family(family);
    if (parsed < 0) {
        fprintf(stderr, "usage: fabsim generate %s --help\n", family->name);
        return CMD_USAGE;
    }
    return generate(family, values, out);
}

const struct cmd cmd_generate = {
    .name = "generate",
    .usage = "FAMILY OPTIONS [-o FILE]\n"
             "FAMILY --help",
    .summary = "writes a fabric in the format of ibnetdiscover, for ibsim and fabricd",
    .help = help_families,
    .run = run,
};
