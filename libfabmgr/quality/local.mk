libfabmgr_libfabmgr_la_SOURCES += %D%/all.c %D%/scene.c %D%/scene.h %D%/flows.c %D%/order.c %D%/quality.c %D%/quality.h
