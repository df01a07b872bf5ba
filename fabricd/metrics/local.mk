fabricd_libfabricd_a_SOURCES += %D%/metrics.h %D%/private.h %D%/form.c %D%/writer.c %D%/manager.c %D%/clients.c %D%/rows.c %D%/ports.c %D%/page.c %D%/maker.c %D%/http.c
