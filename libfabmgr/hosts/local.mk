libfabmgr_libfabmgr_la_SOURCES += \
	%D%/hosts.c \
	%D%/hosts.h \
	%D%/racks.c
