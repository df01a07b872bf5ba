/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics for the tests of cabling. The tests cable some of their links wrongly. */
#ifndef TESTS_UNIT_CABLING_FABRICS_H
#define TESTS_UNIT_CABLING_FABRICS_H

#include "tests/unit/fabrics.h"

/* Gives each switch more ports, which have no cables, so that a mistake can put a cable into a
 * wrong port. */
static inline struct fab_fabric *with_free_ports(struct fab_builder *plain, uint32_t radix)
{
    const struct fab_variation more = {.radix = radix};
    struct fab_fabric *f = sealed(plain);
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_variation(f, &more, &b), 0);
    fab_fabric_unref(f);
    return sealed(b);
}

static inline struct fab_fabric *tree(uint32_t radix, uint32_t levels)
{
    const struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), 0);
    return with_free_ports(b, radix + 4);
}

static inline struct fab_fabric *tree_648(void)
{
    return tree(36, 2);
}

static inline struct fab_fabric *tree_3456(void)
{
    return tree(24, 3);
}

static inline struct fab_fabric *rails_1280(void)
{
    const struct fab_rail_spec spec = {.servers = 1280,
                                       .adapters = 8,
                                       .group_size = 32,
                                       .spines = 16,
                                       .parallel = 2,
                                       .cores = 4,
                                       .core_parallel = 4};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_rail(&spec, &b), 0);
    return with_free_ports(b, 100);
}

/* Returns the fabric of a real site. Returns NULL if the environment variable FABRICD_TOPOLOGIES is
 * not set to the folder of real fabrics. */
static inline struct fab_fabric *sat11(void)
{
    const char *folder = getenv("FABRICD_TOPOLOGIES");
    char path[4096];
    if (folder == NULL) {
        printf("# SKIP sat11: FABRICD_TOPOLOGIES is not set\n");
        return NULL;
    }
    snprintf(path, sizeof path, "%s/sat11-hdr-2021/sat11.repaired.ibnetdiscover", folder);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    char *text = malloc(4u << 20);
    size_t len = fread(text, 1, 4u << 20, file);
    fclose(file);
    struct fab_fabric *f = read_fabric(text, len);
    free(text);
    return f;
}

#endif
