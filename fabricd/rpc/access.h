/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the roles of callers. The option fabric.v1.role of a method, in the proto files, says
 * which role a caller needs for this method. The setting rpc.roles says which role a caller has;
 * each call uses the value that the setting has at that time. */
#ifndef FABRICD_RPC_ACCESS_H
#define FABRICD_RPC_ACCESS_H

#include <stdint.h>

#include "fabricd/config/config.h"
#include "fabricd/rpc/caller.h"
#include "fabricd/rpc/grpc.h"

/* The role checks that the gRPC layer calls. They need a connection whose `context` is a struct
 * rpc. */
extern const struct grpc_access access_by_role;

/* The role of a caller, and why the caller has it. */
struct access_grant {
    enum config_role role;
    /* the entry of rpc.roles that gives the role; NULL: no entry gives one */
    const struct config_role_entry *entry;
};
struct access_grant access_grant(const struct config *c, const struct caller *who);
/* Returns the role that the method needs. A method of fabric.v1 without the option needs
 * CONFIG_ROLE_ADMINISTRATOR. Methods of gRPC itself, such as reflection, are open to all. */
enum config_role access_needed(const char *service, const char *method);

#define ACCESS_SERVICES 8
#define ACCESS_METHODS 96
/* The roles that the methods of all services need, read from the descriptors once at start. */
struct access_table {
    /* [index of the service][index of the method in the service]; values of enum config_role */
    uint8_t needed[ACCESS_SERVICES][ACCESS_METHODS];
};
/* Fills the table for these services, a NULL-terminated list. */
void access_table_fill(struct access_table *t, const struct service *const *services);

#define REFUSALS_CALLERS 16
/* Limits the number of events about refused calls. */
struct refusals {
    /* the callers in the last events about refused calls, and the time of each of these events */
    struct {
        char caller[CALLER_TEXT_LEN];
        uint64_t at_us;
    } last[REFUSALS_CALLERS];
    /* number of refused calls since the last event about refused calls */
    uint64_t unreported;
};

#endif
