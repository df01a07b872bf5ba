/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A terminal that shows one picture of text at a time, and from which single keys are read. The
 * pictures appear on the alternate screen of the terminal. Therefore the terminal looks as before
 * when the program ends, even if a signal ends it, and while the program is suspended (Ctrl-Z). A
 * process can have only one screen.
 */
#ifndef CLI_CTL_SCREEN_H
#define CLI_CTL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if standard input and standard output are a terminal that can place its cursor. */
bool screen_is_possible(void);
/* Changes to the alternate screen, and sets the terminal so that single keys can be read. Returns
 * false if this is not possible. */
bool screen_open(void);
void screen_close(void);
/* Writes the number of columns and rows; 80 and 24 if the terminal does not know them. */
void screen_size(unsigned *ret_width, unsigned *ret_height);
/* Shows a picture. Each line of the text must erase the rest of its row ("\033[K"). All lines
 * except the last must end with "\n". */
void screen_show(const char *text, size_t len);

enum { SCREEN_TIMEOUT = -1, SCREEN_RESIZED = -2, SCREEN_ENDED = -3 };
/* Waits for a key, at most `timeout_ms`; -1: without a limit. Returns the key, or SCREEN_TIMEOUT
 * (also if a signal interrupts the wait), SCREEN_RESIZED (the size changed, or the program was
 * continued), or SCREEN_ENDED (the terminal is gone). */
int screen_key(int timeout_ms);

#endif
