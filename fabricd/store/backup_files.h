/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a backup may contain. For the folder fabricd/store only. */
#ifndef FABRICD_STORE_BACKUP_FILES_H
#define FABRICD_STORE_BACKUP_FILES_H

#define BACKUP_DATABASE "fabricd.db"
#define BACKUP_SETTINGS "fabricd.yaml"
/* the first entry of a backup; it has lines of the form "KEY VALUE" */
#define BACKUP_MANIFEST "manifest"
#define BACKUP_MANIFEST_MOST 4096
#define BACKUP_NAME_MOST 31

/* key files of the state directory; a backup contains those that exist */
static const char *const backup_keys[] = {"audit_head", "audit_key", "sa_key", "m_key", "cc_key"};
#define BACKUP_KEYS (sizeof(backup_keys) / sizeof(*backup_keys))

#endif
