/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of JSON by the commands that fabricd itself has (--rehearse, --hardware-report). */
#ifndef FABRICD_BASE_JSON_PUT_H
#define FABRICD_BASE_JSON_PUT_H

/* Prints a text to standard output as a JSON string. Bytes outside ASCII are printed as the
 * characters U+0080 to U+00FF, because names from the fabric may contain any bytes. */
void json_put_string(const char *text);

#endif
