/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a configuration of OpenSM: first the options of the table in options.c, then the files
 * that no option names, then the unknown options. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/convert.h"

/* ---- what the rules use ---------------------------------------------------------------------- */

bool fab_opensm_number(const char *text, uint64_t *ret)
{
    size_t len = strlen(text);
    if (len > 2 && text[0] == '0' && (text[1] | 32) == 'x')
        return fab_base_digits_parse(text + 2, len - 2, 16, UINT64_MAX, ret);
    return fab_base_digits_parse(text, len, 10, UINT64_MAX, ret);
}

bool fab_opensm_is_true(const char *text)
{
    return strcasecmp(text, "TRUE") == 0;
}

bool fab_opensm_same_value(const char *a, const char *b)
{
    uint64_t x, y;
    if (fab_opensm_number(a, &x) && fab_opensm_number(b, &y))
        return x == y;
    return strcasecmp(a, b) == 0;
}

const char *fab_opensm_get(const struct fab_opensm_convert *c, const char *name)
{
    return fab_opensm_conf_get(c->in->conf, name, NULL);
}

bool fab_opensm_has(const struct fab_opensm_convert *c, const char *name)
{
    const char *value = fab_opensm_get(c, name);
    return value != NULL && fab_opensm_is_true(value);
}

const char *fab_opensm_textf(struct fab_opensm_convert *c, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t used = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    const char *copy = fab_base_arena_text(c->arena, text, used);
    return copy != NULL ? copy : "";
}

const char *fab_opensm_quote(struct fab_opensm_convert *c, const char *text)
{
    struct fab_text t = {0};
    fab_base_text_add(&t, "'");
    for (; *text != '\0'; text++)
        fab_base_text_bytes(&t, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    fab_base_text_add(&t, "'");
    const char *copy = fab_base_arena_text(c->arena, fab_base_text_get(&t), t.len);
    c->arena->failed |= t.status != FAB_OK;
    fab_base_text_fini(&t);
    return copy != NULL ? copy : "''";
}

void fab_opensm_judge(struct fab_opensm_item *item, enum fab_opensm_fate fate, const char *note)
{
    item->fate = fate;
    item->note = note;
}

/* Returns true if the value can be written on one line of YAML. */
static bool is_plain(const char *value)
{
    for (; *value != '\0'; value++)
        if ((unsigned char)*value < 0x20 || *value == 0x7f)
            return false;
    return true;
}

void fab_opensm_set(struct fab_opensm_convert *c, struct fab_opensm_item *item, const char *setting,
                    const char *value)
{
    const char *dot = strchr(setting, '.');
    if (c->settings == FAB_OPENSM_SETTINGS || !is_plain(value)) {
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value has control characters.");
        return;
    }
    c->setting[c->settings++] = (struct fab_opensm_setting){
        .group = dot != NULL ? fab_opensm_textf(c, "%.*s", (int)(dot - setting), setting) : "",
        .key = dot != NULL ? fab_opensm_textf(c, "%s", dot + 1) : setting,
        .value = value,
        .origin = item->name,
    };
    item->fate = FAB_OPENSM_TAKEN;
    item->setting = fab_opensm_textf(c, "%s: %.400s", setting, value);
}

const char *fab_opensm_write(struct fab_opensm_convert *c, const char *name, const char *text,
                             size_t len, bool secret)
{
    if (c->out->outputs < FAB_OPENSM_OUTPUTS)
        c->out->output[c->out->outputs++] =
            (struct fab_opensm_output){.name = name, .text = text, .len = len, .secret = secret};
    return fab_opensm_quote(c, fab_opensm_textf(c, "%s/%s", c->in->folder, name));
}

const char *fab_opensm_fate_name(enum fab_opensm_fate fate)
{
    static const char *const names[] = {"taken", "default", "no meaning", "decide", "unknown"};
    return names[fate];
}

/* ---- options --------------------------------------------------------------------------------- */

static void take_number(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                        struct fab_opensm_item *item)
{
    uint64_t n, ours = 0;
    bool number = fab_opensm_number(item->value, &n) && fab_opensm_number(o->to, &ours);
    if (number && n == ours)
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (number && n >= o->least && n <= o->most)
        fab_opensm_set(c, item, o->setting, fab_opensm_textf(c, "%" PRIu64, n));
    else
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         fab_opensm_textf(c,
                                          "%s accepts numbers from %" PRIu64 " to %" PRIu64
                                          ". Decide which one to set.",
                                          o->setting, o->least, o->most));
}

static void take_option(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                        struct fab_opensm_item *item)
{
    unsigned line;
    const char *value = fab_opensm_conf_get(c->in->conf, o->name, &line);
    *item = (struct fab_opensm_item){.name = o->name,
                                     .value = value != NULL ? value : "(null)",
                                     .line = line,
                                     .setting = "",
                                     .note = o->note};
    bool preset = item->preset = fab_opensm_same_value(item->value, o->preset);
    switch (o->kind) {
    case FAB_OPENSM_KIND_NONE:
        item->fate = FAB_OPENSM_NONE;
        break;
    case FAB_OPENSM_KIND_KEPT:
        fab_opensm_judge(item, preset ? FAB_OPENSM_DEFAULT : FAB_OPENSM_DECIDE,
                         preset ? "" : o->note);
        break;
    case FAB_OPENSM_KIND_NUMBER:
        take_number(c, o, item);
        break;
    case FAB_OPENSM_KIND_FLAG:
        if (preset)
            fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
        else
            fab_opensm_set(c, item, o->setting, o->to);
        break;
    case FAB_OPENSM_KIND_RULE:
        o->rule(c, o, item);
        break;
    }
}

static void take_unknown(struct fab_opensm_convert *c, const struct fab_opensm_line *l,
                         struct fab_opensm_item *item)
{
    const char *near = fab_opensm_near(l->name);
    *item = (struct fab_opensm_item){.name = l->name,
                                     .value = l->value,
                                     .line = l->line,
                                     .fate = FAB_OPENSM_UNKNOWN,
                                     .setting = ""};
    if (near != NULL)
        item->note =
            fab_opensm_textf(c, "OpenSM 3.3.23 has no such option; did you mean %s?", near);
    else
        item->note = "OpenSM 3.3.23 has no such option.";
}

/* ---- all ------------------------------------------------------------------------------------- */

static void take_all(struct fab_opensm_convert *c)
{
    struct fab_opensm_item *item = c->out->item;
    for (size_t i = 0; i < fab_opensm_option_count; i++)
        take_option(c, &fab_opensm_options[i], item++);
    for (unsigned file = 0; file < FAB_OPENSM_FILES; file++)
        if (fab_opensm_files[file].option == NULL) {
            *item = (struct fab_opensm_item){
                .name = fab_opensm_files[file].name, .value = "", .setting = "", .note = ""};
            fab_opensm_file_rule(c, (enum fab_opensm_file)file, item++);
        }
    for (size_t i = 0; i < c->in->conf->count; i++)
        if (fab_opensm_option_find(c->in->conf->line[i].name) == NULL)
            take_unknown(c, &c->in->conf->line[i], item++);
    c->out->count = (size_t)(item - c->out->item);
}

int fab_opensm_import(const struct fab_opensm_input *in, struct fab_opensm_import *ret)
{
    struct fab_opensm_import out = {.outputs = 1};
    struct fab_opensm_convert *c = calloc(1, sizeof *c);
    struct fab_text yaml = {0};
    size_t room = fab_opensm_option_count + FAB_OPENSM_FILES + in->conf->count;
    out.item = fab_base_arena_alloc(&out.arena, room, sizeof *out.item);
    if (c != NULL && out.item != NULL) {
        *c = (struct fab_opensm_convert){.in = in, .arena = &out.arena, .out = &out};
        take_all(c);
        fab_opensm_yaml(c, &yaml);
        out.output[0] = (struct fab_opensm_output){
            .name = "fabricd.yaml",
            .text = fab_base_arena_text(&out.arena, fab_base_text_get(&yaml), yaml.len),
            .len = yaml.len};
    }
    bool failed = c == NULL || out.arena.failed || yaml.status != FAB_OK;
    free(c);
    fab_base_text_fini(&yaml);
    if (failed) {
        fab_base_arena_fini(&out.arena);
        return FAB_E_NOMEM;
    }
    *ret = out;
    return FAB_OK;
}

void fab_opensm_import_fini(struct fab_opensm_import *i)
{
    fab_base_arena_fini(&i->arena);
    *i = (struct fab_opensm_import){0};
}
