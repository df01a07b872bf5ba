/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl sim unlink`, `sim relink` and `sim degrade`, which act on the simulated
 * fabric in the manager's process. They pull a cable, plug it in again, and limit the width or
 * speed of a link.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "fabric/v1/sim_service.pb-c.h"

/* Parses the argument of the command, NODE/PORT or NODE. NODE alone stands for all cables of a
 * node, host or rack; *ret_number is then 0. Returns the exit code. */
static int parse_place(struct session *s, char **ret_node, uint32_t *ret_number)
{
    const char *slash = strrchr(s->argv[0], '/');
    if (slash != NULL && slash[1 + strspn(slash + 1, "0123456789")] == '\0')
        return parse_port(s, ret_node, ret_number);
    *ret_node = s->argv[0];
    *ret_number = 0;
    return EXIT_OK;
}

static int unlink_cable(struct session *s)
{
    Fabric__V1__UnlinkRequest q = FABRIC__V1__UNLINK_REQUEST__INIT;
    int rc = parse_place(s, &q.node, &q.port_number);
    return rc == EXIT_OK ? ask_service(s, "fabric.v1.SimService/Unlink", &q.base,
                                       &fabric__v1__unlink_response__descriptor, NULL)
                         : rc;
}

static int relink_cable(struct session *s)
{
    Fabric__V1__RelinkRequest q = FABRIC__V1__RELINK_REQUEST__INIT;
    int rc = parse_place(s, &q.node, &q.port_number);
    return rc == EXIT_OK ? ask_service(s, "fabric.v1.SimService/Relink", &q.base,
                                       &fabric__v1__relink_response__descriptor, NULL)
                         : rc;
}

/* Parses the option --width, such as "1x". Without the option, *ret_lanes stays unchanged. */
static int parse_width(const struct session *s, uint32_t *ret_lanes)
{
    static const char *const words[] = {"1x", "2x", "4x", "8x", "12x", NULL};
    static const uint32_t lanes[] = {1, 2, 4, 8, 12};
    size_t i = 0;
    if (s->width == NULL)
        return EXIT_OK;
    int rc = accept_word("--width", s->width, words, &i);
    if (rc == EXIT_OK)
        *ret_lanes = lanes[i];
    return rc;
}

static int degrade_link(struct session *s)
{
    Fabric__V1__DegradeRequest q = FABRIC__V1__DEGRADE_REQUEST__INIT;
    char speed[16] = "";
    int rc = parse_port(s, &q.node, &q.port_number);
    if (rc == EXIT_OK)
        rc = parse_width(s, &q.width);
    if (rc != EXIT_OK)
        return rc;
    if (s->speed != NULL)
        snprintf(speed, sizeof speed, "%s", s->speed);
    q.speed = speed;
    return ask_service(s, "fabric.v1.SimService/Degrade", &q.base,
                       &fabric__v1__degrade_response__descriptor, NULL);
}

const struct cmd cmd_sim_unlink = {
    .noun = "sim",
    .verb = "unlink",
    .args = "NODE[/PORT] [--yes] [--reason TEXT]",
    .summary = "pull a cable, or all cables of a node, of the embedded simulated fabric",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.SimService/Unlink",
    .options = "rU",
    .run = unlink_cable,
};
const struct cmd cmd_sim_relink = {
    .noun = "sim",
    .verb = "relink",
    .args = "NODE[/PORT] [--yes] [--reason TEXT]",
    .summary = "put the cable back",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.SimService/Relink",
    .options = "rU",
    .run = relink_cable,
};
const struct cmd cmd_sim_degrade = {
    .noun = "sim",
    .verb = "degrade",
    .args = "NODE/PORT [--width WIDTH] [--speed SPEED] [--yes] [--reason TEXT]",
    .summary = "limit the width or speed of a link; without options: no limit",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.SimService/Degrade",
    .options = "WPrU",
    .run = degrade_link,
};
