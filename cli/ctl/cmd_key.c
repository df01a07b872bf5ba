/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl key show` and `key rotate`. Neither prints a key. `key rotate` waits
 * until all ports in the fabric have the new key, and shows the progress on a terminal.
 */
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

static const char *state_of(const Fabric__V1__GetKeyResponse *r)
{
    if (r->rotating)
        return "rotation under way";
    return !r->set ? "none" : r->previous + r->unknown > 0 ? "incomplete" : "complete";
}

static void say(struct out *o, const Fabric__V1__GetKeyResponse *r)
{
    enum out_tone tone = r->previous + r->unknown > 0 ? OUT_WARN : OUT_PLAIN;
    out_record(o, NULL);
    out_text(o, "state", "State", r->rotating ? OUT_WARN : OUT_PLAIN, state_of(r));
    out_text(o, "origin", "Origin", OUT_PLAIN,
             r->generated ? "generated"
             : r->set     ? "settings"
                          : "none");
    out_number(o, "generation", "Number", OUT_PLAIN, r->generation);
    out_time(o, "In use since", r->since);
    out_time_utc(o, "since", r->since);
    out_number(o, "ports", "Ports", OUT_PLAIN, r->ports);
    out_number(o, "current", "This key", OUT_PLAIN, r->current);
    out_number(o, "previous", "Another key", tone, r->previous);
    out_number(o, "unknown", "Unknown key", tone, r->unknown);
    out_number(o, "absent", "Absent", OUT_PLAIN, r->absent);
    if (r->behind[0])
        out_text(o, "behind", "Not done", OUT_WARN, r->behind);
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

static void show_progress(const Fabric__V1__GetKeyResponse *r)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%u of %u ports have the new key%s", r->current, r->ports,
                r->rotating ? "" : "\n");
}

static int rotate(struct session *s)
{
    Fabric__V1__RotateKeyRequest q = FABRIC__V1__ROTATE_KEY_REQUEST__INIT;
    Fabric__V1__GetKeyResponse *r = NULL;
    q.give_up_absent = s->give_up_absent;
    int rc = ask(s, "RotateKey", &q.base, &fabric__v1__rotate_key_response__descriptor, NULL);
    bool rotating = true;
    for (unsigned i = 0; rc == EXIT_OK && rotating && i < WAIT_S * 1000 / POLL_MS; i++) {
        free_reply(r);
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        r = NULL;
        rc = get(s, &r);
        rotating = rc == EXIT_OK && r->rotating;
        if (rc == EXIT_OK)
            show_progress(r);
    }
    if (rc == EXIT_OK)
        say(s->out, r);
    free_reply(r);
    return rc == EXIT_OK && rotating ? EXIT_FAILED : rc;
}

const struct cmd cmd_key_show = {
    .noun = "key",
    .verb = "show",
    .summary = "the number of the M_Key, since when it is in use, and which ports have it",
    .run = show,
};
const struct cmd cmd_key_rotate = {
    .noun = "key",
    .verb = "rotate",
    .args = "[--give-up-absent]",
    .options = "G",
    .summary = "give a new random M_Key to all ports, and wait until they have it",
    .slow = true,
    .run = rotate,
};
