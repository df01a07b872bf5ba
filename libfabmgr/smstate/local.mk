libfabmgr_libfabmgr_a_SOURCES += \
	%D%/holds.c \
	%D%/holds.h \
	%D%/smstate.c \
	%D%/smstate.h
