fabricd_libfabricd_la_SOURCES += %D%/placeholder.c
