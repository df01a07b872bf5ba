fabricd_libfabricd_la_SOURCES += %D%/alerts.h %D%/private.h %D%/alerts.c %D%/body.c %D%/webhook.c
