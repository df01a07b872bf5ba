/* SPDX-License-Identifier: BSD-3-Clause */
/* Each RPC method that changes something needs a majority of the etcd servers
 * (fabricd/rpc/majority.h) if a manager that takes over must know the decision. All other methods
 * that change something are listed here, each with the reason why it needs no majority. */
#include <string.h>

#include "fabricd/rpc/server.h"
#include "tests/unit/testing.h"

static const struct {
    const char *method, *reason;
} local[] = {
    {"HandOver", "it changes the roles of managers, which the fabric elects without etcd"},
    {"SetManagerPriority", "it is the priority of one manager"},
    {"FreezeManager", "it stops writes in an emergency, when etcd may be down, too; it is shared "
                      "when etcd answers"},
    {"ResumeManager", "it ends what FreezeManager began; it is shared when etcd answers"},
    {"MakeSnapshot", "snapshots have no size limit that etcd could hold"},
    {"DeleteSnapshot", "snapshots belong to one manager"},
    {"Sweep", "it decides nothing"},
    {"Reroute", "it decides nothing: tables follow from the fabric and the settings"},
    {"Rebalance", "it decides nothing: tables follow from the fabric and the settings"},
    {"Backup", "it reads; the audit log has it because the backup contains secrets"},
    {"Unlink", "it changes the simulated fabric"},
    {"Relink", "it changes the simulated fabric"},
    {"Degrade", "it changes the simulated fabric"},
};
#define LOCAL (sizeof(local) / sizeof(local[0]))

static int find_local(const char *method)
{
    for (size_t i = 0; i < LOCAL; i++)
        if (strcmp(local[i].method, method) == 0)
            return (int)i;
    return -1;
}

START_TEST(changes_need_a_majority_or_are_local)
{
    const struct service *services[] = {&service_fabric, &service_sim};
    unsigned found[LOCAL] = {0}, decisions = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < services[i]->method_count; k++) {
            const struct method *m = &services[i]->methods[k];
            int at = find_local(m->name);
            ck_assert_msg(m->changes || !m->decides, "%s decides, but changes nothing", m->name);
            ck_assert_msg(!m->changes || m->decides != (at >= 0),
                          "%s changes something: it must need a majority, or be listed in this "
                          "test with its reason, and not both",
                          m->name);
            ck_assert_msg(m->changes || at < 0, "%s is listed, but changes nothing", m->name);
            decisions += m->decides;
            if (at >= 0)
                found[at]++;
        }
    for (size_t i = 0; i < LOCAL; i++)
        ck_assert_msg(found[i] == 1, "%s is listed, but there is no such method", local[i].method);
    ck_assert_uint_ge(decisions, 12);
}
END_TEST

int main(void)
{
    Suite *all = suite_create("decisions");
    TCase *tc = tcase_create("decisions");
    tcase_add_test(tc, changes_need_a_majority_or_are_local);
    suite_add_tcase(all, tc);
    return test_run(all);
}
