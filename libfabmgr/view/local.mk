libfabmgr_libfabmgr_la_SOURCES += \
	%D%/concern.c \
	%D%/concern.h \
	%D%/find.c \
	%D%/gone.c \
	%D%/gone.h \
	%D%/view.c \
	%D%/view.h
