/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands `fabricctl key show` and `key rotate`. Neither prints a key. `key rotate` waits
 * until all ports or devices in the fabric have the new key, and shows the progress on a
 * terminal. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/key.pb-c.h"

#define POLL_MS 200
#define WAIT_S 600

static int get(struct session *s, Fabric__V1__GetKeyResponse **ret)
{
    const Fabric__V1__GetKeyRequest q = FABRIC__V1__GET_KEY_REQUEST__INIT;
    return ask(s, "GetKey", &q.base, &fabric__v1__get_key_response__descriptor, ret);
}

/* The progress of the rotation of the M_Key or of the CC_Key. The API has one message for each
 * key; both messages have these members. */
struct progress {
    bool set, rotating;
    uint32_t previous, unknown;
};

static const char *state_of(const struct progress *p)
{
    if (p->rotating)
        return "rotation under way";
    return !p->set ? "none" : p->previous + p->unknown > 0 ? "incomplete" : "complete";
}

static const char *origin_of(bool set, bool generated)
{
    return generated ? "generated" : set ? "settings" : "none";
}

static void say_congestion(struct out *o, const Fabric__V1__CongestionKey *k)
{
    const struct progress p = {k->set, k->rotating, k->previous, k->unknown};
    enum out_tone tone = k->previous + k->unknown > 0 ? OUT_WARN : OUT_PLAIN;
    out_record(o, "congestion_key");
    out_text(o, "state", "CC_Key", k->rotating ? OUT_WARN : OUT_PLAIN, state_of(&p));
    out_text(o, "origin", "Origin", OUT_PLAIN, origin_of(k->set, k->generated));
    out_number(o, "generation", "Number", OUT_PLAIN, k->generation);
    out_time(o, "In use since", k->since);
    out_time_utc(o, "since", k->since);
    out_number(o, "devices", "Devices", OUT_PLAIN, k->devices);
    out_number(o, "current", "This key", OUT_PLAIN, k->current);
    out_number(o, "previous", "Previous key", tone, k->previous);
    out_number(o, "unknown", "Unknown key", tone, k->unknown);
    out_number(o, "absent", "Absent", OUT_PLAIN, k->absent);
    if (k->behind[0])
        out_text(o, "behind", "Not done", OUT_WARN, k->behind);
    out_record_end(o);
}

static void say(struct out *o, const Fabric__V1__GetKeyResponse *r)
{
    const struct progress p = {r->set, r->rotating, r->previous, r->unknown};
    enum out_tone tone = r->previous + r->unknown > 0 ? OUT_WARN : OUT_PLAIN;
    out_record(o, NULL);
    out_text(o, "state", "M_Key", r->rotating ? OUT_WARN : OUT_PLAIN, state_of(&p));
    out_text(o, "origin", "Origin", OUT_PLAIN,
             r->derived ? "derived" : origin_of(r->set, r->generated));
    out_number(o, "generation", "Number", OUT_PLAIN, r->generation);
    out_time(o, "In use since", r->since);
    out_time_utc(o, "since", r->since);
    out_number(o, "ports", "Ports", OUT_PLAIN, r->ports);
    out_number(o, "current", "This key", OUT_PLAIN, r->current);
    out_number(o, "previous", "Previous key", tone, r->previous);
    out_number(o, "unknown", "Unknown key", tone, r->unknown);
    out_number(o, "absent", "Absent", OUT_PLAIN, r->absent);
    if (r->behind[0])
        out_text(o, "behind", "Not done", OUT_WARN, r->behind);
    if (r->congestion_key)
        say_congestion(o, r->congestion_key);
    out_record_end(o);
}

static int show(struct session *s)
{
    Fabric__V1__GetKeyResponse *r = NULL;
    int rc = get(s, &r);
    if (rc != EXIT_OK)
        return rc;
    say(s->out, r);
    free_reply(r);
    return rc;
}

static bool is_rotating(const struct session *s, const Fabric__V1__GetKeyResponse *r)
{
    return s->cc ? r->congestion_key && r->congestion_key->rotating : r->rotating;
}

static void show_progress(const struct session *s, const Fabric__V1__GetKeyResponse *r)
{
    const Fabric__V1__CongestionKey *k = s->cc ? r->congestion_key : NULL;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%u of %u %s have the new key%s", k ? k->current : r->current,
                k ? k->devices : r->ports, k ? "devices" : "ports", is_rotating(s, r) ? "" : "\n");
}

static int rehearse_rotation(struct session *s, Fabric__V1__RotateKeyRequest *q)
{
    Fabric__V1__RotateKeyResponse *r = NULL;
    q->dry_run = true;
    int rc = ask(s, "RotateKey", &q->base, &fabric__v1__rotate_key_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

static int rotate(struct session *s)
{
    Fabric__V1__RotateKeyRequest q = FABRIC__V1__ROTATE_KEY_REQUEST__INIT;
    Fabric__V1__GetKeyResponse *r = NULL;
    q.give_up_absent = s->give_up_absent;
    q.kind = s->cc ? FABRIC__V1__KEY_KIND__KEY_KIND_CC_KEY : FABRIC__V1__KEY_KIND__KEY_KIND_M_KEY;
    if (s->dry_run)
        return rehearse_rotation(s, &q);
    int rc = ask(s, "RotateKey", &q.base, &fabric__v1__rotate_key_response__descriptor, NULL);
    bool rotating = true;
    for (unsigned i = 0; rc == EXIT_OK && rotating && i < WAIT_S * 1000 / POLL_MS; i++) {
        free_reply(r);
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        r = NULL;
        rc = get(s, &r);
        rotating = rc == EXIT_OK && is_rotating(s, r);
        if (rc == EXIT_OK)
            show_progress(s, r);
    }
    if (rc == EXIT_OK)
        say(s->out, r);
    free_reply(r);
    if (rc != EXIT_OK || !rotating)
        return rc;
    return complain(
        EXIT_FAILED,
        "the rotation has not ended within %d s; it continues, and 'fabricctl key show' "
        "shows its progress",
        WAIT_S);
}

const struct cmd cmd_key_show = {
    .noun = "key",
    .verb = "show",
    .summary = "the numbers of the M_Key and the CC_Key, and how many ports have them",
    .method = "fabric.v1.FabricService/GetKey",
    .json = "=key ports:u32 congestion_key?:{ =key devices:u32 }",
    .run = show,
};
const struct cmd cmd_key_rotate = {
    .noun = "key",
    .verb = "rotate",
    .args = "[--cc] [--give-up-absent] [--dry-run] [--local] [--reason TEXT]",
    .options = "rCGlD",
    .summary = "give a new random M_Key (or CC_Key) to all ports, and wait until they have it",
    .slow = true,
    .method = "fabric.v1.FabricService/RotateKey",
    .json = "=key ports:u32 congestion_key?:{ =key devices:u32 } / message:text",
    .run = rotate,
};
