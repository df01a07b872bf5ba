libfabmgr_libfabmgr_a_SOURCES += \
	%D%/hosts.c \
	%D%/hosts.h \
	%D%/racks.c
