libfabmgr_libfabmgr_la_SOURCES += \
	%D%/version.c \
	%D%/version.h
