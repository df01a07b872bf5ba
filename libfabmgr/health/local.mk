libfabmgr_libfabmgr_la_SOURCES += \
	%D%/counters.c \
	%D%/counters.h \
	%D%/damping.c \
	%D%/damping.h \
	%D%/isolation.c \
	%D%/isolation.h
