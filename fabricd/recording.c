/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records and restores the state on which a run depends besides incoming MADs: LID leases, ports
 * that an operator disabled, pinned names, and the settings. fabricd records this state when it
 * starts. A replay first restores this state in a temporary directory, so that it needs nothing but
 * the recording.
 *
 * RPC calls and reloads of the settings are not recorded. If a call or a reload caused MADs, a
 * replay reports these MADs as differences.
 */
#include "fabricd/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/transport/record.h"
#include "libfabmgr/base/status.h"

/* ---- recording ---- */

static void tell_settings(struct transport *recorder, const char *path)
{
    char *text = malloc(FAB_RECORDING_BODY_MAX + 1u);
    FILE *file = text ? fopen(path, "re") : NULL;
    size_t len = file ? fread(text, 1, FAB_RECORDING_BODY_MAX + 1u, file) : 0;
    if (len > 0)
        transport_record_settings(recorder, text, len);
    if (len == 0 || len > FAB_RECORDING_BODY_MAX)
        log_warning("record", "%s is not in the recording; keep a copy of it for the replay", path);
    if (file)
        fclose(file);
    free(text);
}

int recording_tell_state(struct transport *recorder, struct store *store, const char *settings_file)
{
    struct fab_lease *leases = NULL;
    struct store_port *disabled = NULL;
    struct fab_pin *pins = NULL;
    size_t lease_count = 0, disabled_count = 0, pin_count = 0;
    int r = store_load_leases(store, &leases, &lease_count);
    if (r == FAB_OK)
        r = store_load_disabled(store, &disabled, &disabled_count);
    if (r == FAB_OK)
        r = store_load_pins(store, &pins, &pin_count);
    if (settings_file)
        tell_settings(recorder, settings_file);
    for (size_t i = 0; r == FAB_OK && i < lease_count; i++)
        transport_record_lease(recorder, leases[i].port_guid, (uint16_t)leases[i].lid,
                               leases[i].lmc);
    for (size_t i = 0; r == FAB_OK && i < disabled_count; i++)
        transport_record_disabled(recorder, disabled[i].node_guid, disabled[i].port);
    for (size_t i = 0; r == FAB_OK && i < pin_count; i++)
        transport_record_pin(recorder, pins[i].guid, pins[i].name);
    free(leases);
    free(disabled);
    free(pins);
    return r;
}

/* ---- reading ---- */

/* a reader of the entries before the first MAD of a recording; these entries contain the state */
struct state {
    struct fab_base_reader at;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry entry;
};

static bool state_first(struct state *s, const struct recording *r)
{
    struct fab_recording_header header;
    s->at = fab_base_reader(r->bytes, r->len);
    return fab_recording_unpack_header(&s->at, &header) == FAB_OK;
}

static bool state_next(struct state *s)
{
    return fab_recording_unpack(&s->at, s->mad, &s->entry) == FAB_OK &&
           s->entry.kind != FAB_RECORDING_OUT && s->entry.kind != FAB_RECORDING_IN;
}

static void find_settings(struct recording *r)
{
    struct state s;
    for (bool good = state_first(&s, r); good && state_next(&s);)
        if (s.entry.kind == FAB_RECORDING_SETTINGS) {
            r->settings = (const char *)s.entry.bytes;
            r->settings_len = s.entry.len;
        }
}

static int map_file(struct recording *r, const char *path)
{
    struct stat st;
    void *at = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        errno = EINVAL;
        if (S_ISREG(st.st_mode) && st.st_size > 0)
            at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return error;
    r->bytes = at;
    r->len = (size_t)st.st_size;
    return 0;
}

int recording_open(struct recording *r, const char *path, char *why, size_t why_len)
{
    const char *folder = getenv("TMPDIR");
    *r = (struct recording){0};
    int error = map_file(r, path);
    if (error) {
        snprintf(why, why_len, "%s: %s", path,
                 error == EINVAL ? "this is not a recording of fabricd" : strerror(error));
        return FAB_E_IO;
    }
    find_settings(r);
    char name[sizeof(r->state_dir)];
    int len = snprintf(name, sizeof(name), "%s/fabricd-replay.XXXXXX", folder ? folder : "/tmp");
    if (len < 0 || (size_t)len >= sizeof(name) || !mkdtemp(name)) {
        snprintf(why, why_len, "cannot make a directory for the replay in %s",
                 folder ? folder : "/tmp");
        recording_close(r);
        return FAB_E_IO;
    }
    memcpy(r->state_dir, name, sizeof(name));
    return FAB_OK;
}

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    (void)rmdir(path);
}

void recording_close(struct recording *r)
{
    if (r->bytes)
        munmap((void *)(uintptr_t)r->bytes, r->len);
    if (r->state_dir[0])
        remove_folder(r->state_dir);
    *r = (struct recording){0};
}

static void restore_pin(const struct fab_recording_entry *e, struct store *store)
{
    struct fab_pin pin = {.guid = e->guid};
    memcpy(pin.name, e->bytes, e->len);
    store_put_pin(store, &pin, true);
}

static size_t count_leases(const struct recording *r)
{
    struct state s;
    size_t count = 0;
    for (bool good = state_first(&s, r); good && state_next(&s);)
        count += s.entry.kind == FAB_RECORDING_LEASE;
    return count;
}

int recording_restore(const struct recording *r, struct store *store)
{
    struct state s;
    size_t count = 0;
    struct fab_lease *leases = calloc(count_leases(r) + 1, sizeof(*leases));
    if (!leases)
        return FAB_E_NOMEM;
    for (bool good = state_first(&s, r); good && state_next(&s);) {
        const struct fab_recording_entry *e = &s.entry;
        if (e->kind == FAB_RECORDING_LEASE)
            leases[count++] =
                (struct fab_lease){.port_guid = e->guid, .lid = e->lid, .lmc = e->small};
        if (e->kind == FAB_RECORDING_DISABLED)
            store_put_disabled(store, e->guid, e->small, true);
        if (e->kind == FAB_RECORDING_PIN)
            restore_pin(e, store);
    }
    /* Leases show that the recorded manager had been master before. So it had already asked all
     * hosts to register again, and did not ask them in the recorded run. */
    if (count) {
        store_put_leases(store, leases, count);
        store_put_asked(store);
    }
    store_flush(store);
    free(leases);
    return FAB_OK;
}

/* ---- the report ---- */

bool recording_report(struct transport *replay)
{
    struct fab_recording_player_stats s;
    transport_replay_stats(replay, &s);
    transport_replay_log_missing(replay);
    printf("replayed:    %u MADs sent and %u received, of %u and %u in the recording\n", s.asked,
           s.delivered, s.recorded_out, s.recorded_in);
    printf("differences: %u (%u sent now only, %u sent in the recording only)\n",
           s.unexpected + s.missing, s.unexpected, s.missing);
    if (s.not_judged)
        printf("not judged:  %u sent now only, which read counters or are in the last second\n",
               s.not_judged);
    return s.unexpected + s.missing == 0;
}
