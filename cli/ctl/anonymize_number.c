/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds GUIDs and addresses in texts. A GUID has 64 bits, of which the first 24 identify the
 * vendor, so a number below 2^32 is no GUID. Some numbers are not replaced: the default subnet
 * prefix; the prefixes of multicast GIDs, because they show the scope and the P_Key; and addresses
 * that every machine has, such as that of localhost. */
#include "cli/ctl/anonymize_number.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define GUID_LEAST (UINT64_C(1) << 32)
#define DEFAULT_PREFIX UINT64_C(0xfe80000000000000)
#define ADDRESS_MOST 45 /* maximum length of an IPv6 address in characters */

static size_t span(const char *text, size_t len, const char *more)
{
    size_t n = 0;
    while (n < len &&
           (isxdigit((unsigned char)text[n]) || (text[n] != '\0' && strchr(more, text[n]) != NULL)))
        n++;
    return n;
}

static bool ends(const char *text, size_t len, size_t at)
{
    return at == len || !pseudonyms_in_word(text[at]);
}

/* Depending on the pass, learns the number, checks that it is no original, or replaces it. Returns
 * the pseudonym if the pass replaces numbers, otherwise the number itself. */
static uint64_t replace(struct anonymize_text *t, enum pseudonym_kind kind, uint64_t number)
{
    if (t->pass == ANONYMIZE_LEARN)
        anonymize_note(t, pseudonyms_learn_number(t->pseudonyms, kind, number));
    if (t->pass == ANONYMIZE_CHECK && pseudonyms_is_original(t->pseudonyms, kind, number))
        anonymize_note(t, FAB_E_DENIED);
    return t->pass == ANONYMIZE_WRITE ? pseudonyms_number(t->pseudonyms, kind, number) : number;
}

static uint64_t replace_prefix(struct anonymize_text *t, uint64_t prefix)
{
    bool general = prefix == DEFAULT_PREFIX || prefix == 0 || prefix >> 56 == 0xff;
    return general ? prefix : replace(t, PSEUDONYM_PREFIX, prefix);
}

static uint64_t replace_guid(struct anonymize_text *t, uint64_t guid)
{
    if (guid < GUID_LEAST || guid == UINT64_MAX || guid == DEFAULT_PREFIX)
        return guid;
    /* `guid` may be a subnet prefix, which has as many digits as a GUID */
    if (pseudonyms_is_original(t->pseudonyms, PSEUDONYM_PREFIX, guid))
        return replace(t, PSEUDONYM_PREFIX, guid);
    return replace(t, PSEUDONYM_GUID, guid);
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

/* Returns true if hexadecimal digits without "0x" are a GUID. There are two cases: 16 digits that
 * cannot be a decimal number, because they begin with 0 or have a letter; and more than 8 digits
 * whose value was learned as a GUID. */
static bool is_guid(const struct anonymize_text *t, const char *digits, size_t n, uint64_t value)
{
    if (value < GUID_LEAST || n > 16)
        return false;
    return (n == 16 && (digits[0] == '0' || strspn(digits, "0123456789") < n)) ||
           (n > 8 && pseudonyms_is_original(t->pseudonyms, PSEUDONYM_GUID, value));
}

/* Handles a GUID in hexadecimal, with or without "0x". Returns its length; 0: there is none. */
static size_t hexadecimal(struct anonymize_text *t, const char *text, size_t len)
{
    size_t head = len > 2 && strncasecmp(text, "0x", 2) == 0 ? 2 : 0;
    size_t n = span(text + head, len - head, "");
    char digits[17] = "", out[20];
    if (n < 9 || n > 16 || !ends(text, len, head + n))
        return 0;
    memcpy(digits, text + head, n);
    uint64_t value = strtoull(digits, NULL, 16);
    if (head == 0 && !is_guid(t, digits, n, value))
        return 0;
    snprintf(out, sizeof out, "%.*s%0*" PRIx64, (int)head, text, (int)n, replace_guid(t, value));
    if (t->to != NULL)
        fab_base_text_add(t->to, out);
    return head + n;
}

/* Handles a GUID whose digits are in groups of `each` digits, with a colon or a hyphen between two
 * groups. Returns the length of the GUID; 0: the text begins with no GUID of this form. */
static size_t grouped(struct anonymize_text *t, const char *text, size_t len, size_t each)
{
    size_t whole = 16 + 16 / each - 1;
    char digits[17], out[17], c = len > whole - 1 ? text[each] : '\0';
    size_t n = 0;
    if ((c != ':' && c != '-') || len < whole || !ends(text, len, whole) ||
        (len > whole + 1 && text[whole] == c && pseudonyms_in_word(text[whole + 1])))
        return 0;
    for (size_t i = 0; i < whole; i++)
        if (i % (each + 1) == each ? text[i] != c : !isxdigit((unsigned char)text[i]))
            return 0;
        else if (i % (each + 1) != each)
            digits[n++] = text[i];
    digits[n] = '\0';
    uint64_t value = strtoull(digits, NULL, 16);
    if (value < GUID_LEAST)
        return 0;
    snprintf(out, sizeof out, "%016" PRIx64, replace_guid(t, value));
    for (size_t i = 0; i < 16 && t->to != NULL; i++) {
        if (i > 0 && i % each == 0)
            fab_base_text_bytes(t->to, &c, 1);
        fab_base_text_bytes(t->to, &out[i], 1);
    }
    return whole;
}

#define OCTETS_LEAST 6 /* minimum number of pairs; fewer pairs can be a time of day */

/* Handles pairs of hexadecimal digits with colons or hyphens between them: an Ethernet address, an
 * IPoIB address, or a fingerprint. Returns the length of all pairs; 0: the text begins with none of
 * these. */
static size_t octets(struct anonymize_text *t, const char *text, size_t len)
{
    size_t n = 0, pairs = 0;
    while (len - n >= 2 && span(text + n, 2, "") == 2 &&
           (n == 0 || (text[n - 1] == text[2] && memchr(":-", text[2], 2) != NULL))) {
        pairs++;
        n += len - n > 2 ? 3 : 2;
    }
    n = 3 * pairs - 1;
    if (pairs < OCTETS_LEAST || !ends(text, len, n))
        return 0;
    anonymize_whole(t, PSEUDONYM_WORD, text, n);
    return n;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void write_gid(struct anonymize_text *t, const uint8_t gid[16], bool padded)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (t->to == NULL)
        return;
    if (!padded) {
        fab_base_text_add(t->to, inet_ntop(AF_INET6, gid, text, sizeof text));
        return;
    }
    for (size_t i = 0; i < 16; i += 2)
        fab_base_text_addf(t->to, "%s%02x%02x", i > 0 ? ":" : "", gid[i], gid[i + 1]);
}

/* Handles a GID or an IPv6 address. Returns its length; 0: there is none. */
static size_t gid(struct anonymize_text *t, const char *text, size_t len)
{
    uint8_t bytes[16];
    char word[ADDRESS_MOST + 1] = "";
    size_t n = span(text, len, ":.");
    while (n > 0 && (text[n - 1] == '.' || (text[n - 1] == ':' && n > 1 && text[n - 2] != ':')))
        n--;
    if (n < 3 || n > ADDRESS_MOST || !ends(text, len, n))
        return 0;
    memcpy(word, text, n);
    if (inet_pton(AF_INET6, word, bytes) != 1)
        return 0;
    fab_base_put_be64(bytes, replace_prefix(t, fab_base_get_be64(bytes)));
    fab_base_put_be64(bytes + 8, replace_guid(t, fab_base_get_be64(bytes + 8)));
    write_gid(t, bytes, n == 39);
    return n;
}

static bool is_general_ipv4(uint32_t address)
{
    return address == 0 || address == UINT32_MAX || address >> 24 == 127 || address >> 28 == 14 ||
           address >> 17 == (198u << 7 | 18u >> 1); /* an address in 198.18.0.0/15 is a pseudonym */
}

static size_t ipv4(struct anonymize_text *t, const char *text, size_t len)
{
    struct in_addr address;
    char word[16] = "";
    size_t n = 0, found_len = 0;
    while (n < len && n < sizeof word && (isdigit((unsigned char)text[n]) || text[n] == '.'))
        n++;
    while (n > 0 && text[n - 1] == '.')
        n--;
    if (n < 7 || n >= sizeof word || !ends(text, len, n))
        return 0;
    memcpy(word, text, n);
    if (inet_pton(AF_INET, word, &address) != 1)
        return 0;
    if (is_general_ipv4(ntohl(address.s_addr))) {
        if (t->to != NULL)
            fab_base_text_add(t->to, word);
        return n;
    }
    if (t->pass == ANONYMIZE_CHECK && pseudonyms_find(t->pseudonyms, word, n, &found_len) != NULL)
        anonymize_note(t, FAB_E_DENIED);
    anonymize_whole(t, PSEUDONYM_IPV4, word, n);
    return n;
}

size_t anonymize_number(struct anonymize_text *t, const char *text, size_t len, size_t at)
{
    static size_t (*const forms[])(struct anonymize_text *, const char *,
                                   size_t) = {octets, hexadecimal, gid, ipv4};
    char before = at > 0 ? text[at - 1] : ' ';
    const char *from = text + at;
    bool starts = isxdigit((unsigned char)from[0]) ||
                  (from[0] == ':' && len - at > 1 && from[1] == ':' && before != ':');
    /* The digits in "so.0.1.2.3", the version of a library, are not an IPv4 address. Such versions
     * are only in the parts that describe the operating system, for which `strict` is false. */
    if (!starts || (before == '.' && !t->strict))
        return 0;
    size_t n = grouped(t, from, len - at, 2);
    if (n == 0)
        n = grouped(t, from, len - at, 4);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && n == 0; i++)
        n = forms[i](t, from, len - at);
    return n;
}
