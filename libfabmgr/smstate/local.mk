libfabmgr_libfabmgr_la_SOURCES += \
	%D%/holds.c \
	%D%/holds.h \
	%D%/smstate.c \
	%D%/smstate.h
