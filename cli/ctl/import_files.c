/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of OpenSM, and writes those of fabricd. import_files.h says in which order the
 * folders are searched. */
#include "cli/ctl/import_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "libfabmgr/base/status.h"

#define CACHE_DIR "/var/cache/opensm"

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a regular file. Returns OK, NOT_FOUND, LIMIT, NOMEM or IO; for IO, errno has the reason. */
static int read_file(const char *path, size_t most, char **ret_text, size_t *ret_len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? FAB_E_NOT_FOUND : FAB_E_IO;
    int r = fstat(fd, &st) != 0 ? FAB_E_IO : FAB_OK;
    if (r == FAB_OK && !S_ISREG(st.st_mode)) {
        errno = EINVAL;
        r = FAB_E_IO;
    }
    if (r == FAB_OK && (size_t)st.st_size > most)
        r = FAB_E_LIMIT;
    char *text = r == FAB_OK ? malloc((size_t)st.st_size + 1) : NULL;
    size_t len = 0;
    if (r == FAB_OK && text == NULL)
        r = FAB_E_NOMEM;
    while (r == FAB_OK && len < (size_t)st.st_size) {
        ssize_t n = read(fd, text + len, (size_t)st.st_size - len);
        if (n < 0)
            r = FAB_E_IO;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    if (r != FAB_OK) {
        free(text);
        return r;
    }
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return FAB_OK;
}

static int say_unread(const char *path, int status)
{
    return complain(status == FAB_E_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_FAILED, "%s: %s", path,
                    status == FAB_E_IO          ? strerror(errno)
                    : status == FAB_E_NOT_FOUND ? "no such file"
                    : status == FAB_E_LIMIT     ? "the file is too long"
                                                : "out of memory");
}

/* Reads the file folder/name into f->text[kind]. Returns NOT_FOUND without a message. After any
 * other error, prints the error and sets *ret_code to its exit code. */
static int try_file(struct import_files *f, unsigned kind, const char *folder, const char *name,
                    int *ret_code)
{
    char path[IMPORT_PATH_LEN];
    int len = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    if (len < 0 || (size_t)len >= sizeof path)
        return FAB_E_NOT_FOUND;
    int r = read_file(path, FAB_OPENSM_FILE_MAX, &f->text[kind], &f->len[kind]);
    if (r != FAB_OK && r != FAB_E_NOT_FOUND)
        *ret_code = say_unread(path, r);
    if (r == FAB_OK)
        f->path[kind] = strdup(path);
    if (r == FAB_OK && f->path[kind] == NULL)
        *ret_code = complain(EXIT_FAILED, "out of memory");
    return r;
}

static int read_cached(const struct import_places *p, struct import_files *f, unsigned kind)
{
    const char *name = fab_opensm_files[kind].name, *variable = getenv("OSM_CACHE_DIR");
    int code = EXIT_OK;
    int r = try_file(f, kind, p->cache != NULL ? p->cache : p->dir, name, &code);
    if (r == FAB_E_NOT_FOUND && p->cache == NULL && !p->dir_given)
        try_file(f, kind, variable != NULL ? variable : CACHE_DIR, name, &code);
    return code;
}

static int read_named(const struct import_places *p, struct import_files *f, unsigned kind)
{
    unsigned line;
    const char *value = fab_opensm_conf_get(&f->conf, fab_opensm_files[kind].option, &line);
    int code = EXIT_OK;
    if (value == NULL || value[0] == '\0')
        return EXIT_OK;
    const char *slash = strrchr(value, '/');
    const char *name = slash != NULL ? slash + 1 : value;
    int r = try_file(f, kind, p->dir, name, &code);
    /* A path below /etc/opensm may come from OpenSM's template, and not from the user. If the user
     * named the folder of opensm.conf, do not read this path: the file on this host may belong to
     * another configuration. */
    bool own = strncmp(value, "/etc/opensm/", 12) != 0 || !p->dir_given;
    if (r == FAB_E_NOT_FOUND && value[0] == '/' && own)
        try_file(f, kind, "", value, &code);
    return code;
}

static int read_conf(const char *dir, struct fab_opensm_conf *ret)
{
    char path[IMPORT_PATH_LEN], *text = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/opensm.conf", dir);
    int r = read_file(path, FAB_OPENSM_CONF_MAX, &text, &len);
    if (r == FAB_OK)
        r = fab_opensm_conf_read(text, len, ret);
    free(text);
    return r == FAB_OK ? EXIT_OK : say_unread(path, r);
}

int import_files_read(const struct import_places *p, struct import_files *ret)
{
    struct import_files f = {.text = {NULL}};
    int code = read_conf(p->dir, &f.conf);
    for (unsigned kind = 0; kind < FAB_OPENSM_FILES && code == EXIT_OK; kind++)
        code = fab_opensm_files[kind].option != NULL ? read_named(p, &f, kind)
                                                     : read_cached(p, &f, kind);
    if (code == EXIT_OK)
        *ret = f;
    else
        import_files_free(&f);
    return code;
}

void import_files_free(struct import_files *f)
{
    for (unsigned kind = 0; kind < FAB_OPENSM_FILES; kind++) {
        if (f->text[kind] != NULL)
            explicit_bzero(f->text[kind], f->len[kind]); /* the file guid2mkey contains M_Keys */
        free(f->text[kind]);
        free(f->path[kind]);
    }
    fab_opensm_conf_fini(&f->conf);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int say_failed(const char *path)
{
    return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0;
}

int import_files_absent(const char *folder, const struct fab_opensm_output *o, size_t count)
{
    char path[IMPORT_PATH_LEN];
    struct stat st;
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, o[i].name);
        if (lstat(path, &st) == 0)
            return complain(EXIT_FAILED,
                            "%s exists; nothing was written. Choose another folder with --dir, or "
                            "use --force to replace the files (the former ones get the name "
                            "FILE.former)",
                            path);
        if (errno != ENOENT && errno != ENOTDIR)
            return say_failed(path);
    }
    return EXIT_OK;
}

/* Renames the file `from` to `to`. If there is a file `to` already, returns false with errno
 * EEXIST. */
static bool rename_to_free(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    /* some file systems, such as NFS, do not have RENAME_NOREPLACE */
    return errno == EINVAL && link(from, to) == 0 && unlink(from) == 0;
}

int import_file_write(const char *folder, const struct fab_opensm_output *o, bool force)
{
    char path[IMPORT_PATH_LEN], fresh[IMPORT_PATH_LEN + 8], former[IMPORT_PATH_LEN + 8];
    snprintf(path, sizeof path, "%s/%s", folder, o->name);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    snprintf(former, sizeof former, "%s.former", path);
    unlink(fresh);
    int fd =
        open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, o->secret ? 0600 : 0644);
    if (fd < 0)
        return say_failed(fresh);
    bool good = write_all(fd, o->text, o->len);
    if (close(fd) != 0 || !good)
        return say_failed(fresh);
    if (force && rename(path, former) != 0 && errno != ENOENT)
        return say_failed(former);
    if (rename_to_free(fresh, path))
        return EXIT_OK;
    int code = say_failed(path);
    unlink(fresh);
    return code;
}

int import_absolute(const char *folder, char ret[IMPORT_PATH_LEN])
{
    char here[IMPORT_PATH_LEN - 256];
    int len = -1;
    if (folder[0] == '/')
        len = snprintf(ret, IMPORT_PATH_LEN, "%s", folder);
    else if (getcwd(here, sizeof here) != NULL)
        len = snprintf(ret, IMPORT_PATH_LEN, "%s/%s", here, folder);
    if (len < 0 || len > IMPORT_PATH_LEN - 256)
        return complain(EXIT_USAGE, "\"%.100s\": the path is too long", folder);
    while (len > 1 && ret[len - 1] == '/')
        ret[--len] = '\0';
    return EXIT_OK;
}

int import_file_read(const char *path, char **ret_text, size_t *ret_len)
{
    return read_file(path, FAB_OPENSM_FILE_MAX, ret_text, ret_len);
}
