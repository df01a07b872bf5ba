/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in until the client is here: a library needs one object. */
typedef int fab_client_placeholder;
