fabricd_libfabricd_a_SOURCES += %D%/audit.c %D%/audit.h %D%/audit_chain.c %D%/audit_chain.h %D%/audit_files.c %D%/audit_log.c %D%/backup.c %D%/backup.h %D%/backup_files.h %D%/copy.c %D%/copy.h %D%/container.c %D%/container.h %D%/restore.c \
	%D%/drains.c \
	%D%/drains.h \
	%D%/inventory.c \
	%D%/inventory.h \
	%D%/policies.c \
	%D%/policies.h \
	%D%/fields.c %D%/fields.h %D%/forgotten.c %D%/forgotten.h %D%/hosts.c %D%/hosts.h %D%/gone.c %D%/gone.h %D%/derive.c %D%/derive.h %D%/division.c %D%/division.h %D%/key.c %D%/key.h %D%/m_key.c %D%/m_key.h %D%/leases.c %D%/lock.c %D%/lock.h %D%/places.c %D%/places.h %D%/record.c %D%/record.h \
	%D%/replicated.c %D%/replicated.h %D%/replicated_rows.c %D%/replicated_rows.h %D%/replicated_tables.c %D%/replicated_tables.h \
	%D%/registry.c %D%/rows.c %D%/rows.h %D%/schema.c %D%/schema.h %D%/sizes.c %D%/sizes.h %D%/shared_key.c %D%/shared_key.h %D%/snapshots.c %D%/snapshots.h %D%/sql.c %D%/sql.h %D%/state.h %D%/store.c %D%/store.h \
	%D%/file_identity.c %D%/file_identity.h %D%/tables.h %D%/wrap.c %D%/wrap.h %D%/writer.c %D%/writer.h \
	%D%/counters.c %D%/counters.h %D%/counters_aside.c %D%/counters_db.c %D%/counters_db.h %D%/counters_findings.c %D%/counters_read.c %D%/counters_space.c %D%/counters_state.h %D%/counters_top.c %D%/counters_write.c %D%/counters_write.h
