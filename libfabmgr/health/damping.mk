libfabmgr_libfabmgr_la_SOURCES += \
	%D%/damping.c \
	%D%/damping.h
