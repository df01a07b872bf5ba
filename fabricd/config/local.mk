fabricd_libfabricd_la_SOURCES += %D%/config.c %D%/config.h %D%/difference.c %D%/listen.c %D%/place.c %D%/place.h %D%/slurp.c %D%/classes.c %D%/slurp.h \
	%D%/raw.h %D%/roles.c %D%/schema.c %D%/secret.c %D%/secret.h %D%/settings.c %D%/show.c
