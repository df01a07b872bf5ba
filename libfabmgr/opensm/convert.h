/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a conversion from OpenSM, and the functions that its parts share. For this folder
 * only. */
#ifndef LIBFABMGR_OPENSM_CONVERT_H
#define LIBFABMGR_OPENSM_CONVERT_H

#include "libfabmgr/opensm/opensm.h"

#define FAB_OPENSM_SETTINGS 96

/* a setting of fabricd.yaml, with its value */
struct fab_opensm_setting {
    const char *group, *key, *value; /* the setting "group.key", and its value in YAML syntax */
    /* name of the option or of the file from which the setting comes */
    const char *origin;
};
struct fab_opensm_convert {
    const struct fab_opensm_input *in;
    struct fab_arena *arena;
    struct fab_opensm_import *out;
    struct fab_opensm_setting setting[FAB_OPENSM_SETTINGS];
    size_t settings;
};
struct fab_opensm_option;
typedef void fab_opensm_rule(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                             struct fab_opensm_item *item);

enum fab_opensm_kind {
    /* fabricd has no use for the option, whatever its value is; the note says why */
    FAB_OPENSM_KIND_NONE,
    /* without a setting, fabricd behaves as OpenSM does with the default of the option; for any
     * other value, the operator must decide */
    FAB_OPENSM_KIND_KEPT,
    FAB_OPENSM_KIND_NUMBER, /* the option is a number, which becomes the value of a setting */
    /* if the option does not have its default, a setting gets the value of the member `to` */
    FAB_OPENSM_KIND_FLAG,
    FAB_OPENSM_KIND_RULE, /* a function converts the option */
};
struct fab_opensm_option {
    /* preset: OpenSM's default, as its template shows it */
    const char *name, *preset;
    enum fab_opensm_kind kind;
    const char *setting; /* NUMBER, FLAG: path of fabricd's setting, "group.key" */
    /* NUMBER: default of fabricd's setting. FLAG: value that fabricd's setting gets if the OpenSM
     * option does not have its default. */
    const char *to;
    uint64_t least, most; /* NUMBER: range of fabricd's setting */
    const char *note;
    fab_opensm_rule *rule; /* RULE: function that converts the option */
};
extern const struct fab_opensm_option fab_opensm_options[];
extern const size_t fab_opensm_option_count;
const struct fab_opensm_option *fab_opensm_option_find(const char *name);
/* Returns the name of the option that is most similar to `name`; NULL: no option has a similar
 * name. */
const char *fab_opensm_near(const char *name);

/* Reads a number as OpenSM does: decimal, or hexadecimal after 0x. Returns false if the text is no
 * number. */
bool fab_opensm_number(const char *text, uint64_t *ret);
/* Returns the name that an engine of fabricd has in OpenSM; NULL: OpenSM does not have this
 * engine. */
const char *fab_opensm_engine(const char *name, size_t len);
bool fab_opensm_is_true(const char *text);
/* Returns true if both values are the same number, or the same word in any case. */
bool fab_opensm_same_value(const char *a, const char *b);
/* Returns the value that fab_opensm_conf_get finds for an option in the configuration to convert.
 */
const char *fab_opensm_get(const struct fab_opensm_convert *c, const char *name);
/* Returns true if the value of the option is TRUE. */
bool fab_opensm_has(const struct fab_opensm_convert *c, const char *name);

const char *fab_opensm_textf(struct fab_opensm_convert *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a setting "group.key". Writes the setting with its value to item->setting, and sets the fate
 * of the item to TAKEN. If the value has control characters, or there is no room for another
 * setting, the function adds no setting, and sets the fate to DECIDE. */
void fab_opensm_set(struct fab_opensm_convert *c, struct fab_opensm_item *item, const char *setting,
                    const char *value);
/* Returns the text as a YAML scalar in single quotes. */
const char *fab_opensm_quote(struct fab_opensm_convert *c, const char *text);
/* Adds a file to c->out->output[], and returns the path that the file will have, as a YAML scalar.
 * `name`, `len` and `secret`: as in struct fab_opensm_output; `text` is not copied. */
const char *fab_opensm_write(struct fab_opensm_convert *c, const char *name, const char *text,
                             size_t len, bool secret);
/* Sets the fate and the note of an item. */
void fab_opensm_judge(struct fab_opensm_item *item, enum fab_opensm_fate fate, const char *note);

/* Converts a file that is not opensm.conf. */
void fab_opensm_file_rule(struct fab_opensm_convert *c, enum fab_opensm_file file,
                          struct fab_opensm_item *item);
/* Writes the settings as fabricd.yaml. */
void fab_opensm_yaml(const struct fab_opensm_convert *c, struct fab_text *to);

/* the functions to which the table in options.c refers */
fab_opensm_rule fab_opensm_rule_port, fab_opensm_rule_m_key, fab_opensm_rule_m_key_part,
    fab_opensm_rule_sm_key, fab_opensm_rule_sa_key, fab_opensm_rule_prefix, fab_opensm_rule_max_vls,
    fab_opensm_rule_enforce, fab_opensm_rule_no_enforce, fab_opensm_rule_engine,
    fab_opensm_rule_heavy, fab_opensm_rule_perfmgr_time, fab_opensm_rule_log, fab_opensm_rule_qos,
    fab_opensm_rule_cc_key, fab_opensm_rule_cc, fab_opensm_rule_file, fab_opensm_rule_lmc_esp0;

#endif
