libfabmgr_libfabmgr_a_SOURCES += \
	%D%/mads.c \
	%D%/mads.h \
	%D%/rmpp.c \
	%D%/rmpp.h \
	%D%/slots.c \
	%D%/slots.h \
	%D%/window.c \
	%D%/window.h
