/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in until clock, log and bus are here: a library needs one object. */
typedef int base_placeholder;
