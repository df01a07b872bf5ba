fabricd_libfabricd_a_SOURCES += %D%/alerts.c %D%/config.c %D%/config.h %D%/difference.c %D%/document.c %D%/document.h %D%/files.c %D%/files.h %D%/listen.c %D%/place.c %D%/place.h %D%/slurp.c %D%/classes.c %D%/slurp.h \
	%D%/raw.h %D%/replication.c %D%/roles.c %D%/schema.c %D%/secret.c %D%/secret.h %D%/settings.c %D%/show.c
