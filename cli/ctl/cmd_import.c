/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl import opensm`, which converts a configuration of OpenSM. It needs no
 * manager. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/import_files.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define OPENSM_DIR "/etc/opensm"
#define FABRICD_DIR "/etc/fabricd"
#define FATES (FAB_OPENSM_UNKNOWN + 1)

static const struct out_column columns[] = {
    {"name", "OPTION", false},     {"value", "VALUE", false}, {"fate", "IS", false},
    {"setting", "SETTING", false}, {"note", "NOTE", false},
};

static enum out_tone tone_of(enum fab_opensm_fate fate)
{
    static const enum out_tone tones[FATES] = {[FAB_OPENSM_TAKEN] = OUT_GOOD,
                                               [FAB_OPENSM_DEFAULT] = OUT_PLAIN,
                                               [FAB_OPENSM_NONE] = OUT_DIM,
                                               [FAB_OPENSM_DECIDE] = OUT_WARN,
                                               [FAB_OPENSM_UNKNOWN] = OUT_BAD};
    return tones[fate];
}

static void say_item(struct out *o, const struct fab_opensm_item *i)
{
    out_row(o);
    out_text(o, "name", NULL, OUT_PLAIN, i->name);
    if (i->line > 0)
        out_textf(o, "OPTION", OUT_PLAIN, "%s (line %u)", i->name, i->line);
    else
        out_textf(o, "OPTION", OUT_PLAIN, "%s", i->name);
    out_number(o, "line", NULL, OUT_PLAIN, i->line);
    out_text(o, "value", "VALUE", OUT_PLAIN, i->value);
    out_bool(o, "opensm_default", NULL, OUT_PLAIN, i->preset);
    out_text(o, "fate", "IS", tone_of(i->fate), fab_opensm_fate_name(i->fate));
    out_text(o, "setting", "SETTING", OUT_PLAIN, i->setting);
    out_text(o, "note", "NOTE", OUT_PLAIN, i->note);
    out_row_end(o);
}

/* Returns true if the item is printed. Without --all, text output has only the items that became
 * settings, and those that the operator must look at. JSON output has all items. */
static bool is_shown(const struct session *s, const struct fab_opensm_item *i)
{
    return s->all || s->out_format != OUT_TEXT || i->fate == FAB_OPENSM_TAKEN ||
           i->fate == FAB_OPENSM_DECIDE || i->fate == FAB_OPENSM_UNKNOWN ||
           (i->fate == FAB_OPENSM_NONE && !i->preset && i->line > 0);
}

static void say_counts(struct out *o, const struct fab_opensm_import *i)
{
    static const char *const keys[FATES] = {"taken", "default", "no_meaning", "decide", "unknown"};
    size_t count[FATES] = {0};
    for (size_t k = 0; k < i->count; k++)
        count[i->item[k].fate]++;
    for (unsigned k = 0; k < FATES; k++)
        out_number(o, keys[k], NULL, OUT_PLAIN, count[k]);
    out_textf(o, "Options", OUT_PLAIN,
              "%zu taken, %zu default anyway, %zu without meaning, %zu to decide, %zu unknown",
              count[FAB_OPENSM_TAKEN], count[FAB_OPENSM_DEFAULT], count[FAB_OPENSM_NONE],
              count[FAB_OPENSM_DECIDE], count[FAB_OPENSM_UNKNOWN]);
}

static void say_files(struct session *s, const struct fab_opensm_import *i, const char *folder)
{
    static const struct out_column file_columns[] = {{"file", "FILE", false},
                                                     {"secret", "SECRET", false}};
    out_table(s->out, "files", file_columns, 2, false);
    for (size_t k = 0; k < i->outputs; k++) {
        out_row(s->out);
        out_text(s->out, "file", "FILE", OUT_PLAIN, i->output[k].name);
        out_bool(s->out, "secret", "SECRET", OUT_PLAIN, i->output[k].secret);
        out_row_end(s->out);
    }
    out_table_end(s->out);
    if (s->dry_run)
        out_note(s->out, OUT_DIM, "Nothing was written to %s (--dry-run).", folder);
    else
        out_note(s->out, OUT_DIM,
                 "The files are in %s. Next, check the settings ('fabricd --check-config -f "
                 "%s/fabricd.yaml'), and rehearse the takeover while OpenSM runs ('fabricd "
                 "--rehearse -f %s/fabricd.yaml').",
                 folder, folder, folder);
}

static void say_all(struct session *s, const struct fab_opensm_import *i, const char *folder)
{
    out_record(s->out, NULL);
    out_text(s->out, "directory", NULL, OUT_PLAIN, folder);
    out_bool(s->out, "written", NULL, OUT_PLAIN, !s->dry_run);
    say_counts(s->out, i);
    out_table(s->out, "options", columns, sizeof columns / sizeof *columns, false);
    for (size_t k = 0; k < i->count; k++)
        if (is_shown(s, &i->item[k]))
            say_item(s->out, &i->item[k]);
    out_table_end(s->out);
    say_files(s, i, folder);
    out_record_end(s->out);
}

static int write_files(const struct session *s, const struct fab_opensm_import *i,
                       const char *folder)
{
    int code = s->force ? EXIT_OK : import_files_absent(folder, i->output, i->outputs);
    if (code == EXIT_OK && mkdir(folder, 0755) != 0 && errno != EEXIST)
        code = complain(EXIT_FAILED, "%s: %s", folder, strerror(errno));
    /* Write fabricd.yaml, which is output 0, last. It names the other files, so these must exist
     * before. */
    for (size_t k = i->outputs; k-- > 0 && code == EXIT_OK;)
        code = import_file_write(folder, &i->output[k], s->force);
    return code;
}

static int convert(struct session *s, const struct import_files *f, const char *folder)
{
    struct fab_opensm_input in = {.conf = &f->conf, .folder = folder};
    struct fab_opensm_import out;
    for (unsigned kind = 0; kind < FAB_OPENSM_FILES; kind++) {
        in.file[kind].text = f->text[kind];
        in.file[kind].path = f->path[kind];
        in.file[kind].len = f->len[kind];
    }
    if (fab_opensm_import(&in, &out) != FAB_OK)
        return complain(EXIT_FAILED, "out of memory");
    int code = s->dry_run ? EXIT_OK : write_files(s, &out, folder);
    if (code == EXIT_OK)
        say_all(s, &out, folder);
    fab_opensm_import_fini(&out);
    return code;
}

static int import_opensm(struct session *s)
{
    char folder[IMPORT_PATH_LEN];
    struct import_files files;
    const struct import_places places = {
        .dir = s->argc > 0 ? s->argv[0] : OPENSM_DIR, .dir_given = s->argc > 0, .cache = s->cache};
    int code = import_absolute(s->dir != NULL ? s->dir : FABRICD_DIR, folder);
    if (code == EXIT_OK)
        code = import_files_read(&places, &files);
    if (code != EXIT_OK)
        return code;
    code = convert(s, &files, folder);
    import_files_free(&files);
    return code;
}

const struct cmd cmd_import_opensm = {
    .noun = "import",
    .verb = "opensm",
    .args = "[DIR] [--cache DIR] [--dir DIR] [--all] [--dry-run] [--force]",
    .summary = "convert the configuration of OpenSM",
    .max_args = 1,
    .options = "QyADN",
    .json = "directory:text written:bool taken:u32 default:u32 no_meaning:u32 decide:u32 "
            "unknown:u32 options:[ name:text line:u32 value:text opensm_default:bool "
            "fate:'taken'|'default'|'no meaning'|'decide'|'unknown' setting:text note:text ] "
            "files:[ file:text secret:bool ]",
    .run = import_opensm,
};
