/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The condition of a link: degraded, restricted by what a port has enabled, or limited because its
 * ports support different modes. A random test compares the result with one that it computes from
 * lists of lanes and speed names.
 */
#include "libfabmgr/fabric/condition.h"
#include "tests/unit/testing.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"

/* ---- cases ----------------------------------------------------------------------------------- */

#define W1 0x01
#define W2 0x10
#define W4 0x02
#define W12 0x08
#define FDR 1
#define EDR 2
#define HDR 4
#define NDR 8

/* Widths and speeds of a port, as bits. ext: extended speeds; xdr: speeds of LinkSpeedExt*2. In
 * addition, all ports have SDR, DDR and QDR. */
struct end {
    uint8_t width_supported, width_enabled, width, ext_supported, ext_enabled, ext;
    uint8_t xdr_supported, xdr_enabled, xdr;
};

static struct fab_port_info info_of(const struct end *e)
{
    return (struct fab_port_info){.width_supported = e->width_supported,
                                  .width_enabled = e->width_enabled,
                                  .width_active = e->width,
                                  .speed_supported = 7,
                                  .speed_enabled = 7,
                                  .speed_active = 4,
                                  .speed_ext_supported = e->ext_supported,
                                  .speed_ext_enabled = e->ext_enabled,
                                  .speed_ext_active = e->ext,
                                  .speed_ext2_supported = e->xdr_supported,
                                  .speed_ext2_enabled = e->xdr_enabled,
                                  .speed_ext2_active = e->xdr};
}

#define EDR_4X W1 | W4, W1 | W4, W4, FDR | EDR, FDR | EDR, EDR, 0, 0, 0
#define UNKNOWN 0, 0, 0, 0, 0, 0, 0, 0, 0
static const struct {
    struct end end[2];
    const char *best, *enabled, *active;
    bool degraded;
    const char *text;
} cases[] = {
    /* the link runs at its best mode */
    {{{EDR_4X}, {EDR_4X}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     false,
     ""},
    /* the link runs below the enabled width, below the enabled speed, or below both */
    {{{W1 | W4, W1 | W4, W1, 3, 3, EDR, 0, 0, 0}, {W1 | W4, W1 | W4, W1, 3, 3, EDR, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "1x EDR (25 Gb/s)",
     true,
     "width 1x of 4x"},
    {{{W1 | W4, W1 | W4, W4, 3, 3, 0, 0, 0, 0}, {W1 | W4, W1 | W4, W4, 3, 3, 0, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "4x QDR (40 Gb/s)",
     true,
     "speed QDR of EDR"},
    {{{W1 | W2 | W4, 0, W2, 15, 15, HDR, 0, 0, 0}, {W1 | W2 | W4, 0, W2, 15, 15, HDR, 0, 0, 0}},
     "4x NDR (400 Gb/s)",
     "4x NDR (400 Gb/s)",
     "2x HDR (100 Gb/s)",
     true,
     "width 2x of 4x; speed HDR of NDR"},
    /* the second port already shows 1x; the first port still shows the width from before the link
     * trained again */
    {{{EDR_4X}, {W1 | W4, W1 | W4, W1, 3, 3, EDR, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "1x EDR (25 Gb/s)",
     true,
     "width 1x of 4x"},
    /* not degraded: the first port, the second port, or both have not enabled the best mode */
    {{{W1 | W4, W1, W1, 3, 3, EDR, 0, 0, 0}, {W1 | W4, W1 | W4, W1, 3, 3, EDR, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "1x EDR (25 Gb/s)",
     "1x EDR (25 Gb/s)",
     false,
     "width 1x of 4x, because leaf-1/5 has not enabled 4x"},
    {{{W1 | W4, W1 | W4, W4, 7, 7, EDR, 0, 0, 0}, {W1 | W4, W1 | W4, W4, 7, 3, EDR, 0, 0, 0}},
     "4x HDR (200 Gb/s)",
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     false,
     "speed EDR of HDR, because spine-2/1 has not enabled HDR"},
    {{{W1 | W4, W1, W1, 3, 3, EDR, 0, 0, 0}, {W1 | W4, W1, W1, 3, 3, EDR, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "1x EDR (25 Gb/s)",
     "1x EDR (25 Gb/s)",
     false,
     "width 1x of 4x, because leaf-1/5 and spine-2/1 have not enabled 4x"},
    /* the first port has no extended speed enabled (LinkSpeedExtEnabled 30) */
    {{{W1 | W4, W1 | W4, W4, 3, 30, 0, 0, 0, 0}, {W1 | W4, W1 | W4, W4, 3, 3, 0, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "4x QDR (40 Gb/s)",
     "4x QDR (40 Gb/s)",
     false,
     "speed QDR of EDR, because leaf-1/5 has not enabled EDR"},
    /* degraded and restricted: 4x is not enabled, and the link runs below the enabled 2x */
    {{{W1 | W2 | W4, W1 | W2, W1, 3, 3, EDR, 0, 0, 0},
      {W1 | W2 | W4, W1 | W2 | W4, W1, 3, 3, EDR, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "2x EDR (50 Gb/s)",
     "1x EDR (25 Gb/s)",
     true,
     "width 1x of 2x, because leaf-1/5 has not enabled 4x"},
    /* one port supports a better mode than the other */
    {{{EDR_4X}, {W1 | W4, W1 | W4, W4, 7, 7, EDR, 0, 0, 0}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     false,
     "the ports support different speeds"},
    {{{W1 | W4 | W12, W1 | W4 | W12, W4, 3, 3, EDR, 0, 0, 0}, {EDR_4X}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     false,
     "the ports support different widths"},
    /* XDR links */
    {{{W1 | W4, W1 | W4, W4, 15, 15, NDR, 1, 1, 0}, {W1 | W4, W1 | W4, W4, 15, 15, NDR, 1, 1, 0}},
     "4x XDR (800 Gb/s)",
     "4x XDR (800 Gb/s)",
     "4x NDR (400 Gb/s)",
     true,
     "speed NDR of XDR"},
    {{{W1 | W4, W1 | W4, W4, 15, 15, 0, 1, 1, 1}, {W1 | W4, W1 | W4, W4, 15, 15, 0, 1, 1, 1}},
     "4x XDR (800 Gb/s)",
     "4x XDR (800 Gb/s)",
     "4x XDR (800 Gb/s)",
     false,
     ""},
    /* no condition can be given: the modes are unknown, or the ports have none in common */
    {{{UNKNOWN}, {UNKNOWN}}, "?", "?", "?", false, ""},
    {{{W1, W1, W1, 3, 3, EDR, 0, 0, 0}, {W4, W4, W1, 3, 3, EDR, 0, 0, 0}},
     "?",
     "?",
     "1x EDR (25 Gb/s)",
     false,
     "the ports support different widths"},
    {{{W1 | W4, W1 | W4, 0x03, 3, 3, EDR, 0, 0, 0}, {EDR_4X}},
     "4x EDR (100 Gb/s)",
     "4x EDR (100 Gb/s)",
     "?",
     false,
     ""},
};

START_TEST(links_are_judged)
{
    static const char *const place[2] = {"leaf-1/5", "spine-2/1"};
    struct fab_link_condition c;
    struct fab_port_info a = info_of(&cases[_i].end[0]), b = info_of(&cases[_i].end[1]);
    char text[FAB_CONDITION_LEN], mode[FAB_MODE_LEN];
    fab_fabric_link_condition(&a, &b, &c);
    fab_fabric_mode_text(c.best, mode);
    ck_assert_str_eq(mode, cases[_i].best);
    fab_fabric_mode_text(c.enabled, mode);
    ck_assert_str_eq(mode, cases[_i].enabled);
    fab_fabric_mode_text(c.active, mode);
    ck_assert_str_eq(mode, cases[_i].active);
    ck_assert(fab_fabric_condition_is_degraded(&c) == cases[_i].degraded);
    fab_fabric_condition_text(&c, place, text);
    ck_assert_str_eq(text, cases[_i].text);
}
END_TEST

START_TEST(long_names_are_cut)
{
    char name[600], text[FAB_CONDITION_LEN];
    struct fab_link_condition c;
    struct fab_port_info a = info_of(&(struct end){W1 | W4, W1, W1, 3, 30, 0, 0, 0, 0}), b = a;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    fab_fabric_link_condition(&a, &b, &c);
    fab_fabric_condition_text(&c, (const char *const[2]){name, name}, text);
    ck_assert_uint_eq(strlen(text), FAB_CONDITION_LEN - 1);
}
END_TEST

/* ---- random ports ---------------------------------------------------------------------------- */

/* Number of lanes of each bit of LinkWidthSupported. */
static const unsigned lanes_of_bit[5] = {1, 4, 8, 12, 2};

static unsigned most_lanes(unsigned mask)
{
    unsigned most = 0;
    for (int i = 0; i < 5; i++)
        if ((mask & 1u << i) != 0 && lanes_of_bit[i] > most)
            most = lanes_of_bit[i];
    return most;
}

START_TEST(random_widths_and_speeds)
{
    struct fab_prng prng;
    uint64_t seed = test_seed("widths and speeds", 1);
    fab_base_prng_init(&prng, seed);
    for (int round = 0; round < 20000; round++) {
        struct fab_link_condition c;
        struct fab_port_info p[2];
        uint8_t width = (uint8_t)fab_base_prng_below(&prng, 32),
                ext = (uint8_t)(fab_base_prng_below(&prng, 2) << fab_base_prng_below(&prng, 4));
        for (int i = 0; i < 2; i++) {
            uint8_t all = (uint8_t)(1 + fab_base_prng_below(&prng, 31)),
                    some = (uint8_t)fab_base_prng_below(&prng, 32);
            struct end e = {all, some, width, (uint8_t)fab_base_prng_below(&prng, 16), 0, ext,
                            0,   0,    0};
            e.ext_enabled = e.ext_supported;
            p[i] = info_of(&e);
        }
        fab_fabric_link_condition(&p[0], &p[1], &c);
        unsigned enabled = p[0].width_supported & p[1].width_supported;
        for (int i = 0; i < 2; i++)
            if ((p[i].width_enabled & p[i].width_supported) != 0)
                enabled &= p[i].width_enabled;
        unsigned active = __builtin_popcount(width) == 1 ? most_lanes(width) : 0;
        ck_assert_msg(c.degraded_width == (active != 0 && active < most_lanes(enabled)),
                      "seed %llu", (unsigned long long)seed);
        unsigned both = p[0].speed_ext_supported & p[1].speed_ext_supported;
        ck_assert_msg(c.degraded_speed == ((both & ~(ext * 2u - (ext != 0))) != 0), "seed %llu",
                      (unsigned long long)seed);
    }
}
END_TEST

START_TEST(a_generated_fabric_has_no_degraded_link)
{
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    struct fab_census census;
    const struct fab_leaf_spine_spec spec = {
        .leaves = 2, .spines = 2, .hosts_per_leaf = 2, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    fab_fabric_count(f, &census);
    ck_assert_uint_eq(census.degraded_links, 0);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("condition");
    TCase *c = tcase_create("links");
    tcase_add_loop_test(c, links_are_judged, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(c, long_names_are_cut);
    tcase_add_test(c, random_widths_and_speeds);
    tcase_add_test(c, a_generated_fabric_has_no_degraded_link);
    suite_add_tcase(suite, c);
    return test_run(suite);
}
