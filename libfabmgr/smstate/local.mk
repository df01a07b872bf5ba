libfabmgr_libfabmgr_la_SOURCES += \
	%D%/smstate.c \
	%D%/smstate.h
