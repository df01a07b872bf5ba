/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first step of a job: finds out the CC_Key of a device, and gives the device the current key
 * (CongestionKeyInfo, IBA A10.4.3.4). A device without a key also gets the current key.
 *
 * A device answers every Get, but hides its key from a request that does not carry this key. The
 * job asks with the key that it expects. If the device hides its key, the job asks with the other
 * key in the key file.
 *
 * The Set carries the device's key in its header. The job sends the Set only once: if the answer is
 * lost, the device may still have executed the Set, and a repetition would carry a wrong key. After
 * a lost answer, a Get finds out which key the device has. Only a Get that shows the current key
 * ends the step.
 *
 * If a device has a foreign key without a lease (CC_KeyLeasePeriod 0), the job ends. With a lease,
 * the key may be one that this manager has lost. The job then sends a Set with the current key,
 * which the device refuses and which starts the lease. If another manager uses the foreign key, its
 * next request stops the lease. Otherwise the device shows its key when the lease has ended, and
 * this manager replaces the key.
 */
#include "fabricd/base/clock.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/base/status.h"

/* maximum number of Sets of CongestionKeyInfo in one job */
#define SETS_MOST 4
/* Value of CC_KeyViolations in a Set. A value other than 0 does not change the counter. */
#define COUNTER_STAYS 0xffff
/* Time in seconds between the end of a lease and the next request to the device. */
#define LEASE_MARGIN_S 2

static uint64_t current(const struct cc_job *j)
{
    return j->cc->keys.file.current;
}

static uint64_t former(const struct cc_job *j)
{
    return j->cc->keys.file.previous;
}

static uint16_t wanted_lease(const struct cc_job *j)
{
    return current(j) != 0 ? j->cc->in.config->policy.congestion.key_lease_s : 0;
}

static void ask_with(struct cc_job *j, uint64_t key)
{
    j->key = key;
    j->starts_lease = false;
    cc_job_ask(j, CC_STEP_KEY, 0);
}

static void ask_back(struct cc_job *j)
{
    j->other_asked = false;
    ask_with(j, current(j));
}

/* Sends a Set that gives the device the current key. `key`: the key that the device has now, and
 * which the Set must carry. */
static void give(struct cc_job *j, uint64_t key)
{
    const struct fab_cc_key_info info = {.key = current(j),
                                         .protect = current(j) != 0,
                                         .lease = wanted_lease(j),
                                         .violations = COUNTER_STAYS};
    if (j->key_sets++ == SETS_MOST) {
        cc_job_finish(j, CC_FAILED, false);
        return;
    }
    j->key = key;
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_key_info, &info, j->gmp + CC_AT_ATTR, FAB_GS_DATA);
    cc_job_tell(j);
}

/* Ends the job because the device has a foreign key with a lease. The next job for this device
 * begins after the end of the lease. */
static void wait_for_lease(struct cc_job *j)
{
    struct cc_device *d = cc_job_device(j);
    /* The Sets of this manager with a wrong key also raise the device's violation counter. The next
     * reading of the counter therefore must not be compared with the last one. */
    d->counted = false;
    cc_job_finish(j, CC_FOREIGN_KEY, false);
    if (d->tries < CC_TRIES && ++d->tries < CC_TRIES)
        d->due_us = clock_now_us() + (j->lease_s + LEASE_MARGIN_S) * UINT64_C(1000000);
}

static void found_foreign(struct cc_job *j, const struct fab_cc_key_info *info)
{
    cc_key_is(j->cc, cc_job_device(j), CC_KEY_FOREIGN);
    if (current(j) == 0 || info->lease == 0) {
        cc_job_finish(j, CC_FOREIGN_KEY, false);
    } else if (!info->protect) {
        /* The device shows its key to every request, because the lease has ended or the protect bit
         * is clear. With this key, the Set of the new key is accepted. */
        give(j, info->key);
    } else if (!j->lease_begun) {
        j->lease_begun = j->starts_lease = true;
        j->lease_s = info->lease;
        give(j, current(j));
    } else {
        wait_for_lease(j);
    }
}

static void found_current(struct cc_job *j, const struct fab_cc_key_info *info)
{
    bool protects = info->protect == (current(j) != 0) && info->lease == wanted_lease(j);
    cc_key_is(j->cc, cc_job_device(j), CC_KEY_CURRENT);
    j->key = current(j);
    if (protects || j->key_sets > 0)
        cc_job_go_on(j);
    else
        give(j, current(j));
}

/* Sends a Get with the other key of the key file, which the job has not tried yet. Returns false if
 * the job has tried both keys, or if there is no other key. */
static bool ask_other(struct cc_job *j)
{
    uint64_t other = j->key == current(j) ? former(j) : current(j);
    if (j->other_asked || other == 0)
        return false;
    j->other_asked = true;
    ask_with(j, other);
    return true;
}

static void read_key(struct cc_job *j, const struct fab_cc_key_info *info)
{
    struct cc_device *d = cc_job_device(j);
    bool hidden = info->key == 0 && info->protect;
    cc_key_watch(j->cc, d, info);
    if (!hidden && info->key == current(j)) {
        found_current(j, info);
    } else if (!hidden && info->key == 0) {
        give(j, 0);
    } else if (!hidden && info->key == former(j)) {
        cc_key_is(j->cc, d, CC_KEY_FORMER);
        give(j, former(j));
    } else if (!hidden || !ask_other(j)) {
        found_foreign(j, info);
    }
}

void cc_key_begin(struct cc_job *j)
{
    ask_with(j, cc_key_of(j->cc, cc_job_device(j)));
}

void cc_key_answered(struct cc_job *j, const uint8_t *attr)
{
    struct fab_cc_key_info info;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_key_info, attr, FAB_GS_DATA, &info);
    if (j->set)
        ask_back(j);
    else
        read_key(j, &info);
}

void cc_key_failed(struct cc_job *j, const struct fab_mads_answer *a)
{
    struct cc_device *d = cc_job_device(j);
    bool unresponsive = a->status == FAB_E_TIMEOUT;
    if (!unresponsive && (!j->set || cc_says_unknown(a->smp_status))) {
        cc_key_is(j->cc, d, CC_KEY_UNREAD);
        cc_job_finish(j, CC_UNSUPPORTED, false);
    } else if (!unresponsive) {
        cc_job_finish(j, CC_FAILED, false);
    } else if (j->set && j->starts_lease) {
        wait_for_lease(j);
    } else if (j->set) {
        ask_back(j);
    } else if (!ask_other(j)) {
        /* The device answered no Get, neither with the current key nor with the previous key. Some
         * devices ignore a Get with a wrong key. */
        cc_job_finish(j, d->key == CC_KEY_UNREAD ? CC_UNSUPPORTED : CC_FAILED, true);
    }
}
