libfabmgr_libfabmgr_la_SOURCES += \
	%D%/isolation.c \
	%D%/isolation.h
