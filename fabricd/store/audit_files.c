/* SPDX-License-Identifier: BSD-3-Clause */
/* The two files of the audit log in the state directory. audit_key has the key, as 64 hexadecimal
 * digits. audit_head has one line with the number of the last row, its MAC, and a MAC over both. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/store/audit_chain.h"
#include "fabricd/store/key.h"
#include "libfabmgr/base/status.h"

#define KEY_FILE "audit_key"
#define HEAD_FILE "audit_head"
/* Maximum length in bytes of the line in audit_head. A number of 20 digits, two MACs of 64 digits,
 * two blanks and the line end take 151 bytes. */
#define HEAD_LINE 160

static int key_make(const char *dir, struct audit_key *ret, char *why, size_t why_len)
{
    char line[2 * AUDIT_MAC + 2];
    if (getrandom(ret->bytes, sizeof(ret->bytes), 0) != (ssize_t)sizeof(ret->bytes)) {
        snprintf(why, why_len, "no random key for %s: %s", KEY_FILE, strerror(errno));
        return FAB_E_IO;
    }
    audit_mac_text(ret->bytes, line);
    strcat(line, "\n");
    return store_key_file_write(dir, KEY_FILE, line, strlen(line), why, why_len);
}

int audit_key_get(const char *dir, struct audit_key *ret, char *why, size_t why_len)
{
    char *text = NULL, line[2 * AUDIT_MAC + 1];
    size_t len = 0;
    _Static_assert(sizeof(ret->bytes) == AUDIT_MAC, "the key is written like a MAC");
    int status = store_key_file_read(dir, KEY_FILE, &text, &len, why, why_len);
    if (status == FAB_E_NOT_FOUND)
        return key_make(dir, ret, why, why_len);
    if (status != FAB_OK)
        return status;
    if (len > 0 && text[len - 1] == '\n')
        len--;
    snprintf(line, sizeof(line), "%.*s", len < sizeof(line) ? (int)len : 0, text);
    free(text);
    if (audit_mac_parse(line, ret->bytes))
        return FAB_OK;
    snprintf(why, why_len,
             "the key file %s/%s does not have 64 hexadecimal digits; put the right one back, or "
             "remove it: fabricd then makes another one, and 'fabricctl audit verify' refuses the "
             "rows so far",
             dir, KEY_FILE);
    return FAB_E_FORMAT;
}

/* Computes the MAC that protects the file audit_head, in the same way as the MAC of a row after the
 * head. The input of this MAC has values that no row has, so the MAC is never equal to that of a
 * row. */
static int head_mac(const struct audit_key *key, const struct audit_head *head,
                    uint8_t ret[AUDIT_MAC])
{
    const struct audit_row row = {.seq = head->seq, .text = {[AUDIT_METHOD] = HEAD_FILE}};
    return audit_mac(key, head->mac, &row, ret);
}

static bool head_parse(const char *line, const struct audit_key *key, struct audit_head *ret)
{
    char macs[2][2 * AUDIT_MAC + 1];
    uint8_t mac[AUDIT_MAC], expected[AUDIT_MAC];
    struct audit_head head;
    if (sscanf(line, "%" SCNu64 " %64[0-9a-f] %64[0-9a-f]", &head.seq, macs[0], macs[1]) != 3 ||
        !audit_mac_parse(macs[0], head.mac) || !audit_mac_parse(macs[1], mac) ||
        head_mac(key, &head, expected) != FAB_OK || memcmp(mac, expected, AUDIT_MAC) != 0)
        return false;
    *ret = head;
    return true;
}

int audit_head_open(const char *dir, const struct audit_key *key, int *ret_fd,
                    struct audit_head *ret, char *why, size_t why_len)
{
    char path[PATH_MAX], line[HEAD_LINE + 1] = "";
    int fd = -1;
    *ret = (struct audit_head){0};
    if ((size_t)snprintf(path, sizeof(path), "%s/" HEAD_FILE, dir) < sizeof(path))
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ssize_t n = fd >= 0 ? pread(fd, line, HEAD_LINE, 0) : -1;
    if (n < 0) {
        snprintf(why, why_len, "%s cannot be used: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return FAB_E_IO;
    }
    if (n > 0 && !head_parse(line, key, ret))
        log_error("audit", "%s does not belong to this audit log; it is replaced", path);
    *ret_fd = fd;
    return FAB_OK;
}

int audit_head_write(int fd, const struct audit_key *key, const struct audit_head *head)
{
    char line[HEAD_LINE + 1], macs[2][2 * AUDIT_MAC + 1];
    uint8_t mac[AUDIT_MAC];
    int status = head_mac(key, head, mac);
    if (status != FAB_OK)
        return status;
    audit_mac_text(head->mac, macs[0]);
    audit_mac_text(mac, macs[1]);
    int len = snprintf(line, sizeof(line), "%020" PRIu64 " %s %s\n", head->seq, macs[0], macs[1]);
    return pwrite(fd, line, (size_t)len, 0) == len ? FAB_OK : FAB_E_IO;
}
