libfabmgr_libfabmgr_la_SOURCES += \
	%D%/counters.c \
	%D%/counters.h
