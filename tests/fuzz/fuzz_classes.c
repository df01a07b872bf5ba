/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes qos-policy.conf, class rules and VL tables. Any input is refused with a message, or gives
 * classes that satisfy their invariants. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/classes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const struct fab_ranges *r)
{
    for (size_t i = 0; i < r->count; i++)
        assert(r->range[i].first <= r->range[i].last);
}

static void check(const struct fab_classes *c)
{
    uint64_t groups = c->groups == 64 ? UINT64_MAX : (UINT64_C(1) << c->groups) - 1;
    assert(c->count >= 1 && c->count <= FAB_CLASSES_MAX && c->groups <= FAB_CLASS_GROUPS_MAX);
    for (unsigned i = 0; i < c->count; i++) {
        const struct fab_class *k = &c->class[i];
        assert(k->name[0] != '\0' && fab_policy_classes_find(c, k->name) >= 0);
        assert(k->sl < 16 || k->sl == FAB_CLASS_NO_SL);
        assert(k->mtu <= 5 && k->pkey <= 0x7fff);
    }
    for (size_t i = 0; i < c->rules; i++) {
        const struct fab_class_rule *r = &c->rule[i];
        assert(r->class < c->count && ((r->from | r->to | r->either) & ~groups) == 0);
        check_ranges(&r->service);
        check_ranges(&r->qos_class);
        check_ranges(&r->pkey);
    }
}

static void feed_words(const char *text)
{
    struct fab_classes *c;
    struct fab_classes_error error;
    if (fab_policy_classes_new(&c) != FAB_OK)
        return;
    (void)fab_policy_classes_add_rule(c, 0, text, &error);
    (void)fab_policy_classes_set_map(c, text);
    (void)fab_policy_classes_set_arb(c, false, text);
    check(c);
    fab_policy_classes_unref(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_classes *c;
    struct fab_classes_error error = {.line = 0};
    char *text = malloc(size + 1);
    if (text == NULL || fab_policy_classes_new(&c) != FAB_OK) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    int status = fab_policy_classes_read(c, text, size, &error);
    assert(status == FAB_OK || status == FAB_E_NOMEM || error.message[0] != '\0');
    if (status == FAB_OK)
        check(c);
    fab_policy_classes_unref(c);
    feed_words(text);
    free(text);
    return 0;
}
