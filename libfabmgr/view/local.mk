libfabmgr_libfabmgr_la_SOURCES += \
	%D%/find.c \
	%D%/view.c \
	%D%/view.h
