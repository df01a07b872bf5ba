libfabmgr_libfabmgr_la_SOURCES += \
	%D%/mads.c \
	%D%/mads.h \
	%D%/slots.c \
	%D%/slots.h \
	%D%/window.c \
	%D%/window.h
