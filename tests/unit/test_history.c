/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of port counters (libfabmgr/counters): rates in spite of wraps, resets and reboots, and
 * the encoding, blocks, roll-ups, ranks and trends of samples. */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/counters/block.h"
#include "libfabmgr/counters/rank.h"
#include "libfabmgr/counters/reading.h"
#include "libfabmgr/counters/rollup.h"
#include "libfabmgr/counters/trend.h"
#include "tests/unit/testing.h"

#define MINUTE UINT64_C(60000000)
#define NDR_BYTES UINT64_C(50000000000) /* bytes per second of a 4x NDR link */

static uint64_t below(struct fab_prng *p, uint64_t bound)
{
    return fab_base_prng_below(p, bound);
}

/* Returns a random number of up to 64 bits; small numbers are as frequent as large ones. */
static uint64_t any_number(struct fab_prng *p)
{
    return fab_base_prng_next(p) >> below(p, 64);
}

static bool is_near(uint64_t value, uint64_t want)
{
    /* the encoding may change a value by 0.8 %, and rounding by 1 */
    uint64_t most = want / 100 + 1;
    return value >= want - (want < most ? want : most) && value <= want + most;
}

/* ---- codes ----------------------------------------------------------------------------------- */

START_TEST(codes_keep_values)
{
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("codes", 1));
    for (unsigned c = 0; c < FAB_COLUMNS; c++)
        for (uint64_t v = 0; v < 128; v++)
            ck_assert_uint_eq(fab_counters_decode_value(c, fab_counters_encode_value(c, v)), v);
    ck_assert_uint_eq(fab_counters_decode_value(0, FAB_CODE_NONE), 0);
    ck_assert_uint_ne(fab_counters_encode_value(0, 0), FAB_CODE_NONE);
    for (unsigned i = 0; i < 100000; i++) {
        unsigned c = (unsigned)below(&p, FAB_COLUMNS);
        uint64_t a = any_number(&p), b = any_number(&p);
        uint16_t x = fab_counters_encode_value(c, a), y = fab_counters_encode_value(c, b);
        uint64_t is = fab_counters_decode_value(c, x);
        ck_assert_uint_lt(x, FAB_CODE_END);
        double ratio = a > 0 ? (double)is / (double)a : 1;
        ck_assert_msg(ratio > 0.992 && ratio < 1.008, "%" PRIu64 " becomes %" PRIu64, a, is);
        ck_assert(a <= b ? x <= y : x >= y);
    }
    ck_assert_uint_lt(fab_counters_encode_value(0, UINT64_MAX), FAB_CODE_END);
}
END_TEST

/* ---- readings -------------------------------------------------------------------------------- */

/* What a device has: PortCounters; also PortCountersExtended with data and packets, but errors and
 * waits only in PortCounters; or everything in PortCountersExtended. */
enum kind { NARROW, WIDE_DATA, WIDE, KINDS };

/* A port: what its counters show, and what it has really counted since the last reading. */
struct device {
    /* PortXmitData, PortRcvData, PortXmitPkts, PortRcvPkts, PortXmitWait */
    uint64_t counter[5], real[5];
    uint64_t errors[FAB_COUNTERS], real_errors[FAB_COUNTERS];
    enum kind kind;
    /* changed: the device restarted with other firmware, and is of another kind now */
    bool cleared, wrapped, changed;
};

static bool is_wide(const struct device *d, int counter)
{
    return d->kind == WIDE || (d->kind == WIDE_DATA && counter < 4);
}

static void run(struct device *d, struct fab_prng *p, uint64_t seconds)
{
    for (int i = 0; i < 5; i++) {
        uint64_t most = NDR_BYTES / 4 * seconds + 1;
        uint64_t add =
            below(p, 4) == 0 ? 0 : below(p, (most >> below(p, 40)) + 1) / (i >= 2 ? 16 : 1);
        d->real[i] += add;
        if (is_wide(d, i))
            d->wrapped |= __builtin_add_overflow(d->counter[i], add, &d->counter[i]);
        else
            /* 32-bit counters stop at their maximum */
            d->counter[i] = add > UINT32_MAX - d->counter[i] ? UINT32_MAX : d->counter[i] + add;
    }
    for (int i = 0; i < FAB_COUNTERS; i++) {
        uint64_t add = below(p, 3) == 0 ? below(p, 40) : 0;
        uint64_t most = fab_health_counter_kinds[i].most;
        d->real_errors[i] += add;
        d->errors[i] += add;
        if (d->kind != WIDE && d->errors[i] > most)
            d->errors[i] = most;
    }
}

static void read_device(const struct device *d, uint64_t at_us, struct fab_traffic *t,
                        struct fab_counters *e)
{
    const uint64_t *c = d->counter;
    *t = (struct fab_traffic){at_us,           c[0], c[1], c[2], c[3], c[4], d->kind != NARROW,
                              d->kind == WIDE, true};
    *e = (struct fab_counters){.wide = d->kind == WIDE};
    memcpy(e->value, d->errors, sizeof e->value);
}

/* Checks a sample. Without a reset, each rate must be correct or missing. It may be missing only
 * after a wrap, or if a 32-bit counter reached its maximum. After a reset, a rate must be missing
 * or too low. If the widths of the counters have changed, all rates must be missing. The sample
 * must never have more errors than the device counted. */
static void check_sample(const struct device *d, const struct fab_sample *s, uint64_t span_us)
{
    static const enum fab_column columns[] = {FAB_COLUMN_XMIT_DATA, FAB_COLUMN_RCV_DATA,
                                              FAB_COLUMN_XMIT_PKTS, FAB_COLUMN_RCV_PKTS};
    for (int i = 0; i < 4; i++) {
        unsigned __int128 real = (unsigned __int128)d->real[i] * (i < 2 ? 4 : 1) * 1000000;
        uint64_t want = (uint64_t)(real / span_us), code = s->code[columns[i]];
        uint64_t is = fab_counters_decode_value(columns[i], (uint16_t)code);
        if (code != FAB_CODE_NONE)
            ck_assert_msg(d->cleared ? is <= want + want / 100 + 1 : is_near(is, want),
                          "column %d is %" PRIu64 ", not %" PRIu64, i, is, want);
        else
            ck_assert(d->cleared || d->wrapped || d->kind == NARROW);
        ck_assert(!d->changed || code == FAB_CODE_NONE);
    }
    if (s->code[FAB_COLUMN_XMIT_WAIT] != FAB_CODE_NONE && !d->cleared) {
        double all = (double)d->real[0] + (double)d->real[4];
        uint64_t ppm = all > 0 ? (uint64_t)((double)d->real[4] * 1e6 / all) : 0;
        ck_assert(is_near(
            fab_counters_decode_value(FAB_COLUMN_XMIT_WAIT, s->code[FAB_COLUMN_XMIT_WAIT]), ppm));
    }
    for (unsigned i = 0; i < FAB_COUNTERS; i++) {
        uint64_t is = fab_counters_decode_value(FAB_COLUMN_ERRORS, s->code[FAB_COLUMN_ERRORS + i]);
        ck_assert(is_near(is, d->real_errors[i]) || is < d->real_errors[i]);
        ck_assert(d->cleared || d->kind != WIDE || is_near(is, d->real_errors[i]));
    }
}

static void begin_device(struct device *d, struct fab_prng *p)
{
    memset(d, 0, sizeof *d);
    d->kind = (enum kind)below(p, KINDS);
    for (int i = 0; i < 5; i++) /* many counters start near their maximum, and wrap soon */
        d->counter[i] = !is_wide(d, i)     ? below(p, UINT32_MAX)
                        : below(p, 2) == 0 ? UINT64_MAX - below(p, UINT64_C(1) << 40)
                                           : any_number(p) >> 2;
    for (int i = 0; i < FAB_COUNTERS; i++) {
        uint64_t most = d->kind == WIDE ? UINT64_C(1) << 40 : fab_health_counter_kinds[i].most;
        d->errors[i] = most - below(p, (below(p, 2) == 0 && most > 100 ? 100 : most) + 1);
    }
}

/* Resets all counters, as a reboot does, or only some of them, as other programs do. */
static void reset(struct device *d, struct fab_prng *p)
{
    bool all = below(p, 2) == 0;
    for (int i = 0; i < 5; i++)
        if (all || below(p, 2) == 0)
            d->counter[i] = 0;
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (all || below(p, 2) == 0)
            d->errors[i] = 0;
    d->cleared = true;
}

/* The device restarts with other firmware. */
static void change_kind(struct device *d, struct fab_prng *p)
{
    enum kind was = d->kind;
    memset(d->counter, 0, sizeof d->counter);
    memset(d->errors, 0, sizeof d->errors);
    d->kind = (enum kind)below(p, KINDS);
    d->cleared = true;
    d->changed = (was == NARROW) != (d->kind == NARROW);
}

START_TEST(rates_are_real_despite_wraps_and_resets)
{
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("wraps and resets", 2));
    for (unsigned n = 0; n < test_rounds(20000); n++) {
        struct device d;
        struct fab_traffic was, now;
        struct fab_counters was_errors, errors;
        uint64_t at = MINUTE;
        begin_device(&d, &p);
        read_device(&d, at, &was, &was_errors);
        for (int round = 0; round < 8; round++) {
            uint64_t span = 1 + below(&p, 120);
            struct fab_sample s = {0};
            memset(d.real, 0, sizeof d.real);
            memset(d.real_errors, 0, sizeof d.real_errors);
            d.cleared = d.wrapped = d.changed = false;
            run(&d, &p, span);
            if (below(&p, 4) == 0) {
                if (below(&p, 8) == 0)
                    change_kind(&d, &p);
                else
                    reset(&d, &p);
                run(&d, &p, span);
                span *= 2;
            }
            at += span * 1000000;
            read_device(&d, at, &now, &errors);
            fab_counters_sample_errors(&was_errors, &errors, &s);
            if (!fab_counters_was_reset(&was_errors, &errors))
                fab_counters_sample_traffic(&was, &now, NDR_BYTES * 2, &s);
            check_sample(&d, &s, span * 1000000);
            was = now;
            was_errors = errors;
        }
    }
}
END_TEST

START_TEST(rates_above_the_link_are_not_credible)
{
    struct fab_traffic was = {.at_us = MINUTE, .wide = true}, now = was;
    struct fab_sample s = {0};
    now.at_us += MINUTE;
    now.xmit_data = NDR_BYTES * 60;
    now.rcv_data = NDR_BYTES * 10;
    fab_counters_sample_traffic(&was, &now, NDR_BYTES, &s);
    ck_assert_uint_eq(s.code[FAB_COLUMN_XMIT_DATA], FAB_CODE_NONE);
    ck_assert_uint_ne(s.code[FAB_COLUMN_RCV_DATA], FAB_CODE_NONE);
    memset(&s, 0, sizeof s);
    /* the later reading comes first, so there is no rate */
    fab_counters_sample_traffic(&now, &was, 0, &s);
    ck_assert_uint_eq(s.code[FAB_COLUMN_RCV_DATA], FAB_CODE_NONE);
}
END_TEST

static void divide(const struct fab_vl_wait *was, const struct fab_vl_wait *now, uint64_t ppm,
                   struct fab_sample *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->code[FAB_COLUMN_XMIT_WAIT] = fab_counters_encode_value(FAB_COLUMN_XMIT_WAIT, ppm);
    fab_counters_sample_vls(was, now, ret);
}

static bool has_share(const struct fab_sample *s)
{
    for (unsigned vl = 0; vl < FAB_COLUMN_VLS; vl++)
        if (s->code[FAB_COLUMN_VL_WAIT + vl] != FAB_CODE_NONE)
            return true;
    return false;
}

START_TEST(the_wait_is_divided_among_the_vls)
{
    struct fab_vl_wait was = {{100, 7, 65000}}, now = {{400, 7, 65534, 166}};
    struct fab_sample s;
    divide(&was, &now, 400000, &s);
    uint64_t of[FAB_COLUMN_VLS];
    for (unsigned vl = 0; vl < FAB_COLUMN_VLS; vl++)
        of[vl] = fab_counters_decode_value(FAB_COLUMN_VL_WAIT, s.code[FAB_COLUMN_VL_WAIT + vl]);
    ck_assert(is_near(of[0], 120000) && is_near(of[2], 213600) && is_near(of[3], 66400));
    ck_assert_uint_eq(s.code[FAB_COLUMN_VL_WAIT + 1], FAB_CODE_NONE);
    /* VL 2 may have waited longer than its counter shows, so no share is known */
    now.value[2] = 65535;
    divide(&was, &now, 400000, &s);
    ck_assert(!has_share(&s));
    /* VL 1 was cleared */
    now.value[2] = 65534;
    now.value[1] = 6;
    divide(&was, &now, 400000, &s);
    ck_assert(!has_share(&s));
}
END_TEST

/* Random waits of 16 VLs. A share must be correct or missing, unless counters were cleared and all
 * of them have passed their old values since then. */
START_TEST(shares_of_vls_are_real_despite_resets)
{
    struct fab_prng p;
    unsigned shares = 0;
    fab_base_prng_init(&p, test_seed("waits of VLs", 9));
    for (unsigned n = 0; n < test_rounds(20000); n++) {
        struct fab_vl_wait was, now;
        uint64_t real[FAB_COLUMN_VLS] = {0}, sum = 0, ppm = 1 + below(&p, 1000000);
        bool cleared = below(&p, 3) == 0, lower = false;
        for (int vl = 0; vl < FAB_COLUMN_VLS; vl++) {
            uint64_t value = below(&p, 8) == 0 ? UINT16_MAX - below(&p, 3) : below(&p, 60000);
            was.value[vl] = (uint16_t)value;
            for (int part = 0; part < 2; part++) {
                uint64_t add = below(&p, 2) == 0 ? below(&p, 2000) : 0;
                value = value + add > UINT16_MAX ? UINT16_MAX : value + add;
                real[vl] += add;
                if (part == 0 && cleared && below(&p, 2) == 0)
                    value = 0;
            }
            now.value[vl] = (uint16_t)value;
            sum += real[vl];
            lower |= now.value[vl] < was.value[vl];
        }
        struct fab_sample s;
        divide(&was, &now, ppm, &s);
        ck_assert(!lower || !has_share(&s));
        for (unsigned vl = 0; vl < FAB_COLUMN_VLS && !cleared; vl++) {
            uint16_t code = s.code[FAB_COLUMN_VL_WAIT + vl];
            uint64_t is = fab_counters_decode_value(FAB_COLUMN_VL_WAIT, code);
            /* the share of the whole port was already encoded, so there are two errors of 0.8 % */
            if (code != FAB_CODE_NONE)
                ck_assert(is + 2 + is / 50 >= ppm * real[vl] / sum &&
                          is <= ppm * real[vl] / sum * 51 / 50 + 2);
        }
        shares += has_share(&s);
    }
    ck_assert_uint_gt(shares, 500);
}
END_TEST

/* ---- blocks ---------------------------------------------------------------------------------- */

static void random_block(struct fab_counters_block *b, struct fab_prng *p)
{
    uint32_t ports = 1 + (uint32_t)below(p, FAB_BLOCK_PORTS);
    uint32_t samples = 1 + (uint32_t)below(p, 20);
    int64_t end = 1700000000 + (int64_t)below(p, 1000000);
    ck_assert_int_eq(fab_counters_block_init(b, ports, samples), FAB_OK);
    for (uint32_t s = 0; s < samples; s++) {
        end += 1 + (int64_t)below(p, 100);
        b->time[s] = (struct fab_counters_time){end, (uint32_t)below(p, 1000)};
    }
    for (unsigned c = 0; c < FAB_COLUMNS; c++) {
        uint64_t kind = below(p, 4);
        for (uint32_t i = 0; kind > 0 && i < ports * samples; i++) {
            uint16_t code = (uint16_t)(kind == 1   ? below(p, FAB_CODE_END)
                                       : kind == 2 ? 2000 + below(p, 10)
                                                   : (below(p, 50) == 0) * below(p, 9));
            ck_assert_int_eq(fab_counters_block_set(b, c, i / samples, i % samples, code), FAB_OK);
        }
    }
}

static void assert_same(const struct fab_counters_block *a, const struct fab_counters_block *b,
                        uint64_t columns)
{
    ck_assert_uint_eq(a->ports, b->ports);
    ck_assert_uint_eq(a->samples, b->samples);
    ck_assert_mem_eq(a->time, b->time, a->samples * sizeof *a->time);
    for (unsigned c = 0; c < FAB_COLUMNS; c++)
        for (uint32_t i = 0; i < a->ports * a->samples; i++) {
            uint16_t want =
                columns >> c & 1 ? fab_counters_block_get(a, c, i / a->samples, i % a->samples) : 0;
            ck_assert_uint_eq(fab_counters_block_get(b, c, i / a->samples, i % a->samples), want);
        }
}

START_TEST(blocks_survive_their_bytes)
{
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("blocks", 3));
    for (unsigned n = 0; n < test_rounds(200); n++) {
        struct fab_counters_block a, b;
        uint8_t *bytes;
        size_t len;
        uint64_t columns = below(&p, 2) ? FAB_BLOCK_ALL : fab_base_prng_next(&p);
        random_block(&a, &p);
        ck_assert_int_eq(fab_counters_block_encode(&a, &bytes, &len), FAB_OK);
        ck_assert_int_eq(fab_counters_block_decode(bytes, len, columns, &b), FAB_OK);
        assert_same(&a, &b, columns);
        fab_counters_block_fini(&b);
        /* a damaged block must be refused, or be decoded without harm as a block with other
         * contents */
        for (int k = 0; k < 50; k++) {
            size_t at = below(&p, len), keep = below(&p, 2) ? len : below(&p, len);
            uint8_t was = bytes[at];
            bytes[at] = (uint8_t)fab_base_prng_next(&p);
            int r = fab_counters_block_decode(bytes, keep, FAB_BLOCK_ALL, &b);
            ck_assert(r == FAB_OK || r == FAB_E_FORMAT);
            if (r == FAB_OK)
                fab_counters_block_fini(&b);
            bytes[at] = was;
        }
        free(bytes);
        fab_counters_block_fini(&a);
    }
}
END_TEST

START_TEST(roll_ups_are_means_and_sums)
{
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("roll-ups", 4));
    for (unsigned n = 0; n < test_rounds(100); n++) {
        struct fab_counters_block part[3], joined, rolled;
        const struct fab_counters_time time = {1800000000, 900};
        for (int i = 0; i < 3; i++) {
            random_block(&part[i], &p);
            for (uint32_t s = 0; s < part[i].samples; s++)
                part[i].time[s].end += i * 10000000;
        }
        ck_assert_int_eq(fab_counters_block_join(part, 3, &joined), FAB_OK);
        ck_assert_int_eq(fab_counters_rollup(&joined, time, &rolled), FAB_OK);
        ck_assert_uint_eq(rolled.samples, 1);
        for (uint32_t port = 0; port < joined.ports; port++)
            for (unsigned c = 0; c < FAB_COLUMNS; c++) {
                double sum = 0, seconds = 0;
                uint64_t is =
                    fab_counters_decode_value(c, fab_counters_block_get(&rolled, c, port, 0));
                if (c >= FAB_COLUMN_PEAK_XMIT_DATA && c <= FAB_COLUMN_PEAK_XMIT_WAIT)
                    continue;
                for (uint32_t s = 0; s < joined.samples; s++) {
                    uint16_t code = fab_counters_block_get(&joined, c, port, s);
                    double span = fab_column_is_count(c) ? 1 : joined.time[s].span_s;
                    if (code == 0)
                        continue;
                    sum += (double)fab_counters_decode_value(c, code) * span;
                    seconds += span;
                }
                if (sum > 1e18 || seconds <= 0)
                    continue;
                double want = fab_column_is_count(c) ? sum : sum / seconds;
                ck_assert_msg((double)is >= want * 0.99 - 1 && (double)is <= want * 1.01 + 1,
                              "column %u: %" PRIu64 ", not %f", c, is, want);
            }
        for (int i = 0; i < 3; i++)
            fab_counters_block_fini(&part[i]);
        fab_counters_block_fini(&joined);
        fab_counters_block_fini(&rolled);
    }
}
END_TEST

/* ---- ranks and trends ------------------------------------------------------------------------ */

START_TEST(ranks_are_those_of_a_sort)
{
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("ranks", 5));
    for (unsigned n = 0; n < 300; n++) {
        uint32_t all = (uint32_t)below(&p, 200), most = (uint32_t)below(&p, 30);
        struct fab_rank_entry kept[30], every[200];
        struct fab_rank r;
        fab_counters_rank_init(&r, kept, most);
        for (uint32_t i = 0; i < all; i++) {
            every[i] = (struct fab_rank_entry){below(&p, 50), i};
            fab_counters_rank_add(&r, i, every[i].value);
        }
        fab_counters_rank_sort(&r);
        ck_assert_uint_eq(r.count, all < most ? all : most);
        for (uint32_t i = 0; i < r.count; i++) {
            uint32_t before = 0;
            for (uint32_t k = 0; k < all; k++)
                before += every[k].value > kept[i].value ||
                          (every[k].value == kept[i].value && every[k].id < kept[i].id);
            ck_assert_uint_eq(before, i);
        }
    }
}
END_TEST

static uint64_t poisson(struct fab_prng *p, unsigned mean)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < mean * 100; i++)
        n += fab_base_prng_chance(p, 0.01);
    return n;
}

/* Rates that double are a trend. Constant rates with noise, bursts and falling rates are not. */
START_TEST(trends_are_not_noise)
{
    static const uint64_t rises[][8] = {{1, 1, 2, 2, 4, 8, 12, 20}, {0, 0, 0, 0, 5, 8, 10, 15}};
    static const uint64_t none[][8] = {{0},
                                       {9, 9, 9, 9, 9, 9, 9, 9},
                                       {0, 0, 0, 0, 0, 0, 0, 5000},
                                       {0, 0, 0, 0, 900, 0, 0, 0},
                                       {40, 30, 20, 10, 5, 2, 1, 0},
                                       {0, 0, 0, 0, 1, 1, 2, 2}};
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("trends", 6));
    for (size_t i = 0; i < sizeof rises / sizeof *rises; i++)
        ck_assert(fab_counters_rises(rises[i]));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert(!fab_counters_rises(none[i]));
    for (unsigned n = 0; n < test_rounds(1500); n++) {
        uint64_t errors[FAB_TREND_STEPS];
        unsigned mean = 1 + (unsigned)below(&p, 20);
        for (int i = 0; i < FAB_TREND_STEPS; i++)
            errors[i] = poisson(&p, mean);
        ck_assert(!fab_counters_rises(errors));
    }
    ck_assert(fab_counters_differ(100000000, 80000000));
    ck_assert(fab_counters_differ(0, 2000000));
    ck_assert(!fab_counters_differ(100000000, 95000000));
    ck_assert(!fab_counters_differ(0, 500000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history of counters");
    TCase *tcase = tcase_create("history of counters");
    tcase_add_test(tcase, codes_keep_values);
    tcase_add_test(tcase, rates_are_real_despite_wraps_and_resets);
    tcase_add_test(tcase, rates_above_the_link_are_not_credible);
    tcase_add_test(tcase, the_wait_is_divided_among_the_vls);
    tcase_add_test(tcase, shares_of_vls_are_real_despite_resets);
    tcase_add_test(tcase, blocks_survive_their_bytes);
    tcase_add_test(tcase, roll_ups_are_means_and_sums);
    tcase_add_test(tcase, ranks_are_those_of_a_sort);
    tcase_add_test(tcase, trends_are_not_noise);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
