libfabmgr_libfabmgr_la_SOURCES += \
	%D%/groups.c \
	%D%/groups.h \
	%D%/net.c \
	%D%/net.h \
	%D%/store.c \
	%D%/store.h \
	%D%/trees.c \
	%D%/trees.h \
	%D%/ways.c \
	%D%/ways.h
