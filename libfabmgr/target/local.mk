libfabmgr_libfabmgr_la_SOURCES += \
	%D%/lanes.c \
	%D%/port.c \
	%D%/target.c \
	%D%/target.h \
	%D%/vls.c \
	%D%/vls.h
