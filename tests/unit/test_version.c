/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library reports the version that configure was given.
 */
#include "config.h"
#include "libfabmgr/base/version.h"
#include "tests/unit/testing.h"

START_TEST(version_is_that_of_the_package)
{
    ck_assert_str_eq(fab_base_version(), PACKAGE_VERSION);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/version");
    TCase *tcase = tcase_create("version");
    tcase_add_test(tcase, version_is_that_of_the_package);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
