libfabmgr_libfabmgr_la_SOURCES += \
	%D%/trees.c \
	%D%/trees.h \
	%D%/ways.c \
	%D%/ways.h
