/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs devices (management class 0x21, version 2, IBA A10.4). A job programs one device, with
 * one request in flight: it reads each attribute, and writes the attribute if it differs. It writes
 * the congestion control table before the attributes that refer to the table. It sends no request
 * while the subnet manager is busy.
 *
 * Each request carries the CC_Key of the device; key_info.c finds out the key and changes it. A
 * device with a foreign key does not answer a Set, so the manager does not program it. A device
 * that does not support the class, or has never answered, gets the state unsupported. If a device
 * does not answer, or does not accept the settings, the manager tries CC_TRIES times, at growing
 * intervals, and then only after one of the events that cc.h lists (gives_up). Only if the device
 * may still have the previous CC_Key, the manager goes on to try every FORMER_US.
 *
 * The manager reads a programmed device again every LOOK_INTERVALS counter intervals. Another
 * program may have changed the settings, or the device may have restarted. If the settings differ,
 * the manager programs the device again and counts the device as changed.
 */
#include <inttypes.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

/* maximum number of jobs that are started in a timer tick */
#define BEGIN_MOST 4
/* maximum number of devices that are examined in a timer tick */
#define SCAN_MOST 4096u
#define RETRY_US 60000000u
/* Time in us between two later tries with a device that has failed CC_TRIES times, but may still
 * have the previous CC_Key. */
#define FORMER_US UINT64_C(600000000)
/* number of counter intervals after which a programmed device is read again */
#define LOOK_INTERVALS 5

static const uint16_t attr_of_step[] = {
    [CC_STEP_KEY] = FAB_CC_KEY_INFO,          [CC_STEP_INFO] = FAB_CC_CONGESTION_INFO,
    [CC_STEP_SWITCH] = FAB_CC_SWITCH_SETTING, [CC_STEP_PORTS] = FAB_CC_SWITCH_PORT_SETTING,
    [CC_STEP_TABLE] = FAB_CC_TABLE,           [CC_STEP_CA] = FAB_CC_CA_SETTING,
};

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a);

struct cc_device *cc_job_device(struct cc_job *j)
{
    return &j->cc->devices[j->device];
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Returns the time in us after which a programmed device is read again; 0: never. */
static uint64_t look_again_us(const struct cc *cc)
{
    return cc->in.config->counters.interval_s * UINT64_C(1000000) * LOOK_INTERVALS;
}

void cc_job_finish(struct cc_job *j, enum cc_state state, bool unresponsive)
{
    struct cc_device *d = cc_job_device(j);
    bool fails = state != CC_PROGRAMMED && (unresponsive || state == CC_FAILED);
    if (fails && d->tries < CC_TRIES)
        d->tries++;
    bool again = fails && d->tries < CC_TRIES;
    uint64_t now = clock_now_us(), look_us = look_again_us(j->cc);
    bool was_pending = d->state == CC_PENDING;
    j->cc->waiting -= was_pending;
    j->active = false;
    d->busy = false;
    d->unresponsive = unresponsive;
    d->state = (uint8_t)state;
    d->digest = state == CC_PROGRAMMED ? d->want : 0;
    d->due_us = UINT64_MAX;
    if (state == CC_PROGRAMMED)
        d->tries = 0;
    if (again)
        d->due_us = now + ((uint64_t)RETRY_US << 2 * (d->tries - 1));
    else if (fails && d->key == CC_KEY_FORMER)
        d->due_us = now + FORMER_US;
    else if (state == CC_PROGRAMMED && look_us > 0)
        d->due_us = now + look_us;
    if (was_pending)
        cc_tell_outcome(j->cc);
}

static void submit(struct cc_job *j)
{
    struct cc *cc = j->cc;
    struct fab_mads_request r = {
        .mgmt_class = FAB_CLASS_CC,
        .method = j->set ? FAB_METHOD_SET : FAB_METHOD_GET,
        .attr_id = attr_of_step[j->step],
        .attr_mod = j->block,
        .dlid = cc_job_device(j)->lid,
        .gmp = j->gmp,
        .done = on_answer,
        .ctx = j,
        /* A Set of a new key must be sent only once: after the first copy has changed the key, a
         * second copy would carry a wrong key. */
        .once = j->set && j->step == CC_STEP_KEY && !j->starts_lease,
    };
    fab_base_put_be64(j->gmp + CC_AT_KEY, j->key);
    j->parked = !sm_is_quiet(cc->in.sm) || sm_is_frozen(cc->in.sm);
    if (!j->parked && fab_mads_submit(cc->mads, &r) != FAB_OK)
        cc_job_finish(j, CC_FAILED, true);
}

void cc_job_ask(struct cc_job *j, enum cc_step step, uint8_t block)
{
    j->step = (uint8_t)step;
    j->block = block;
    j->set = false;
    memset(j->gmp, 0, sizeof(j->gmp));
    submit(j);
}

void cc_job_tell(struct cc_job *j)
{
    j->set = true;
    submit(j);
}

void cc_job_go_on(struct cc_job *j)
{
    const struct cc_device *d = cc_job_device(j);
    if (j->block + 1 < cc_blocks(j->cc, d, (enum cc_step)j->step)) {
        cc_job_ask(j, (enum cc_step)j->step, (uint8_t)(j->block + 1));
        return;
    }
    switch ((enum cc_step)j->step) {
    case CC_STEP_KEY:
        if (j->only_key)
            cc_job_finish(j, CC_PROGRAMMED, false);
        else
            cc_job_ask(j, CC_STEP_INFO, 0);
        break;
    case CC_STEP_INFO:
        cc_job_ask(j, d->num == 0 ? CC_STEP_SWITCH : CC_STEP_TABLE, 0);
        break;
    case CC_STEP_SWITCH:
        cc_job_ask(j, CC_STEP_PORTS, 0);
        break;
    case CC_STEP_TABLE:
        cc_job_ask(j, CC_STEP_CA, 0);
        break;
    default:
        cc_job_finish(j, CC_PROGRAMMED, false);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Stores the size of the congestion control table that the device reports. An adapter without a
 * table is unsupported. If the computed table does not fit, the settings must be computed again. */
static void learn_ability(struct cc_job *j, const uint8_t *attr)
{
    struct cc *cc = j->cc;
    struct cc_device *d = cc_job_device(j);
    struct fab_cc_info info;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_info, attr, FAB_GS_DATA, &info);
    d->table_blocks = info.table_cap;
    if (d->num == 0)
        cc_job_go_on(j);
    else if (d->table_blocks == 0)
        cc_job_finish(j, CC_UNSUPPORTED, false);
    else if (cc_blocks(cc, d, CC_STEP_TABLE) <= d->table_blocks)
        cc_job_go_on(j);
    else {
        j->active = d->busy = false;
        cc->stale = true;
    }
}

/* Compares `attr`, the values that the device reports in the answer to a Get or a Set, with the
 * computed values. If they differ after a Get, sends a Set. If they differ after a Set, programming
 * has failed. */
static void learn_values(struct cc_job *j, uint8_t *attr)
{
    struct cc_device *d = cc_job_device(j);
    bool differs = cc_merge(j->cc, d, (enum cc_step)j->step, j->block, attr);
    if (differs && d->state == CC_PROGRAMMED && d->digest == d->want) {
        log_debug("congestion",
                  "node 0x%016" PRIx64
                  " has other settings than the manager wrote; programming it again",
                  d->node_guid);
        d->changed_us = clock_now_us();
        j->cc->changed++;
    }
    if (!differs)
        cc_job_go_on(j);
    else if (!j->set)
        cc_job_tell(j);
    else
        cc_job_finish(j, CC_FAILED, false);
}

bool cc_says_unknown(uint16_t status)
{
    return (status >> 2 & 7) >= 1 && (status >> 2 & 7) <= 3;
}

/* Handles a request of a job that got no valid answer. A switch that refuses to show the settings
 * of single ports counts as programmed, because its switch-wide settings are written. If a device
 * answered Gets but not a Set, the job assumes that the device has another CC_Key. */
static void fail(struct cc_job *j, const struct fab_mads_answer *a)
{
    bool unresponsive = a->status == FAB_E_TIMEOUT;
    if (!unresponsive && (!j->set || cc_says_unknown(a->smp_status)))
        cc_job_finish(j, j->step == CC_STEP_PORTS && !j->set ? CC_PROGRAMMED : CC_UNSUPPORTED,
                      false);
    else if (j->set)
        cc_job_finish(j, unresponsive ? CC_FOREIGN_KEY : CC_FAILED, unresponsive);
    else
        cc_job_finish(j,
                      j->step == CC_STEP_INFO && cc_job_device(j)->key == CC_KEY_UNREAD
                          ? CC_UNSUPPORTED
                          : CC_FAILED,
                      true);
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct cc_job *j = ctx;
    struct cc *cc = j->cc;
    uint8_t *attr = j->gmp + CC_AT_ATTR;
    (void)tag;
    if (a->status != FAB_OK || a->len < FAB_GMP_DATA) {
        if (j->step == CC_STEP_KEY)
            cc_key_failed(j, a);
        else
            fail(j, a);
        return;
    }
    if (j->set && j->step != CC_STEP_KEY && cc_job_device(j)->digest != 1) {
        /* 1: the settings are being written. Because of this value, the device is not counted again
         * when its next attribute or block is written. */
        cc_job_device(j)->digest = 1;
        cc->written++;
    }
    cc->writes += j->set;
    cc->reads += !j->set;
    memcpy(attr, a->data + CC_AT_ATTR, FAB_GS_DATA);
    if (j->step == CC_STEP_KEY)
        cc_key_answered(j, attr);
    else if (j->step == CC_STEP_INFO)
        learn_ability(j, attr);
    else
        learn_values(j, attr);
}

/* ---- choice of the next devices -------------------------------------------------------------- */

static struct cc_job *free_job(struct cc *cc)
{
    for (int i = 0; i < CC_JOBS; i++)
        if (!cc->jobs[i].active)
            return &cc->jobs[i];
    return NULL;
}

static void begin(struct cc *cc, struct cc_job *j, uint32_t device)
{
    struct cc_device *d = &cc->devices[device];
    if (d->state != CC_PROGRAMMED) {
        cc->waiting += d->state != CC_PENDING;
        d->state = CC_PENDING;
    }
    d->busy = true;
    *j = (struct cc_job){.cc = cc, .device = device, .active = true};
    j->only_key = d->state == CC_PROGRAMMED && d->digest == d->want && d->key == CC_KEY_FORMER;
    if (cc_has_keys(cc))
        cc_key_begin(j);
    else
        cc_job_ask(j, CC_STEP_INFO, 0);
}

static bool is_due(const struct cc_device *d, uint64_t now)
{
    return !d->busy && d->due_us <= now;
}

void cc_program(struct cc *cc, uint64_t now)
{
    uint32_t begun = 0;
    for (int i = 0; i < CC_JOBS; i++)
        if (cc->jobs[i].active && cc->jobs[i].parked)
            submit(&cc->jobs[i]);
    for (uint32_t i = 0; i < cc->device_count && i < SCAN_MOST && begun < BEGIN_MOST; i++) {
        uint32_t at = cc->cursor++ % cc->device_count;
        struct cc_job *j = is_due(&cc->devices[at], now) ? free_job(cc) : NULL;
        if (!j)
            continue;
        begin(cc, j, at);
        begun++;
    }
}

void cc_program_stop(struct cc *cc)
{
    fab_mads_cancel_all(cc->mads);
    cc_log_stop(cc);
    for (int i = 0; i < CC_JOBS; i++) {
        if (cc->jobs[i].active)
            cc->devices[cc->jobs[i].device].busy = false;
        cc->jobs[i].active = false;
    }
}
