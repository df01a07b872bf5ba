libfabmgr_libfabmgr_la_SOURCES += %D%/whatif.c %D%/whatif.h
