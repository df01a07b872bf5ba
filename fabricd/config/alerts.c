/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the list `alerts`, whose entries are targets that get events. A URL can contain a secret,
 * so no message shows the URL, and the URL can be in a separate file (file:PATH). */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "fabricd/config/slurp.h"
#include "libfabmgr/base/status.h"

#define URL_MAX 4096
#define PATH_LEN 48
#define EXPECTED_URL "https://HOST/PATH, http://HOST/PATH, or file:FILE with the URL in FILE"

static const char *const severities[] = {"debug", "info", "warning", "error"};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns true if the text is an http or https URL with a host, without blanks and control
 * characters. */
static bool is_url(const char *text)
{
    const char *host = begins_with(text, "https://")  ? text + 8
                       : begins_with(text, "http://") ? text + 7
                                                      : "";
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    return host[0] != '\0' && host[0] != '/' && host[0] != ':';
}

static int read_url(const char *path, const char *file, struct report *report, char **ret)
{
    char why[300], *text = NULL;
    size_t len = 0;
    int rc = slurp_secret(file, URL_MAX, "a URL", &text, &len, why, sizeof(why));
    if (rc != FAB_OK) {
        report_key(report, path, "%s: %s", path, why);
        return rc;
    }
    /* there is room for the NUL, because the buffer is larger than the maximum size of the file */
    text[len] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    *ret = text;
    return FAB_OK;
}

static int take_url(const char *entry, const char *value, struct report *report, char **ret)
{
    char path[PATH_LEN];
    int rc = FAB_OK;
    snprintf(path, sizeof(path), "%s.webhook", entry);
    if (begins_with(value, "file:"))
        rc = read_url(path, value + strlen("file:"), report, ret);
    else if ((*ret = strdup(value)) == NULL)
        rc = FAB_E_NOMEM;
    if (rc == FAB_OK && !is_url(*ret))
        rc = report_key(report, path, "%s: expected " EXPECTED_URL, path);
    return rc;
}

static int take_severity(const char *entry, const char *value, struct report *report,
                         enum event_severity *ret)
{
    char path[PATH_LEN];
    *ret = EVENT_WARNING;
    for (unsigned i = EVENT_INFO; value != NULL && i <= EVENT_ERROR; i++)
        if (strcmp(value, severities[i]) == 0) {
            *ret = (enum event_severity)i;
            return FAB_OK;
        }
    if (value == NULL)
        return FAB_OK;
    snprintf(path, sizeof(path), "%s.min_severity", entry);
    report_value(report, path, "info, warning or error");
    return FAB_E_INVAL;
}

static bool matches_an_event(const char *pattern)
{
    for (unsigned i = 0; i < EVENT_IDS; i++)
        if (event_rows[i].type != NULL && fnmatch(pattern, event_rows[i].type, FNM_NOESCAPE) == 0)
            return true;
    return false;
}

static int take_types(const char *entry, const struct raw_alert *raw, struct report *report,
                      struct config_alert *to)
{
    char path[2 * PATH_LEN];
    to->types = calloc(raw->types_count + 1u, sizeof(*to->types));
    if (to->types == NULL)
        return FAB_E_NOMEM;
    for (unsigned i = 0; i < raw->types_count; i++) {
        if (!matches_an_event(raw->types[i])) {
            snprintf(path, sizeof(path), "%s.types[%u]", entry, i);
            report_value(report, path,
                         "an event type such as link-down, or a pattern such as 'link-*' "
                         "(fabricd-events(7) lists the types)");
            return FAB_E_INVAL;
        }
        if ((to->types[i] = strdup(raw->types[i])) == NULL)
            return FAB_E_NOMEM;
        to->type_count++;
    }
    return FAB_OK;
}

static int take_alert(const char *entry, const struct raw_alert *raw, struct report *report,
                      struct config_alert *to)
{
    bool syslog = raw->syslog != NULL && strcmp(raw->syslog, "yes") == 0;
    if (raw->syslog != NULL && !syslog && strcmp(raw->syslog, "no") != 0) {
        char path[PATH_LEN];
        snprintf(path, sizeof(path), "%s.syslog", entry);
        report_value(report, path, "yes or no");
        return FAB_E_INVAL;
    }
    if ((raw->webhook != NULL) == syslog)
        return report_key(report, entry,
                          "%s: expected either webhook or 'syslog: yes' in each entry", entry);
    if (syslog && raw->ca != NULL)
        return report_key(report, entry, "%s: ca is only for a webhook", entry);
    int rc = raw->webhook != NULL ? take_url(entry, raw->webhook, report, &to->url) : FAB_OK;
    if (rc == FAB_OK && raw->ca != NULL && (to->ca = strdup(raw->ca)) == NULL)
        rc = FAB_E_NOMEM;
    if (rc == FAB_OK)
        rc = take_severity(entry, raw->min_severity, report, &to->min_severity);
    return rc == FAB_OK ? take_types(entry, raw, report, to) : rc;
}

int alerts_take(const struct raw *raw, struct report *report, struct config_alerts *ret)
{
    int rc = FAB_OK;
    ret->alert = calloc(raw->alerts_count + 1u, sizeof(*ret->alert));
    if (ret->alert == NULL)
        return FAB_E_NOMEM;
    for (unsigned i = 0; i < raw->alerts_count && rc == FAB_OK; i++) {
        char entry[PATH_LEN / 2];
        snprintf(entry, sizeof(entry), "alerts[%u]", i);
        /* count the entry before it is filled in, so that alerts_fini frees it even if take_alert
         * fails */
        ret->count++;
        rc = take_alert(entry, &raw->alerts[i], report, &ret->alert[i]);
    }
    return rc;
}

void alerts_fini(struct config_alerts *alerts)
{
    for (size_t i = 0; i < alerts->count; i++) {
        struct config_alert *a = &alerts->alert[i];
        for (size_t t = 0; t < a->type_count; t++)
            free(a->types[t]);
        free(a->types);
        free(a->url);
        free(a->ca);
    }
    free(alerts->alert);
    *alerts = (struct config_alerts){0};
}

bool config_alert_wants(const struct config_alert *a, const struct event *e)
{
    if (e->severity < a->min_severity)
        return false;
    for (size_t i = 0; i < a->type_count; i++)
        if (fnmatch(a->types[i], e->type, FNM_NOESCAPE) == 0)
            return true;
    return a->type_count == 0;
}
