fabricd_libfabricd_la_SOURCES += %D%/metrics.h %D%/page.c %D%/http.c
