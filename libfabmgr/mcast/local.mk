libfabmgr_libfabmgr_la_SOURCES += \
	%D%/branches.c \
	%D%/follow.c \
	%D%/groups.c \
	%D%/groups.h \
	%D%/net.c \
	%D%/net.h \
	%D%/store.c \
	%D%/store.h \
	%D%/tree.c \
	%D%/tree.h \
	%D%/trees.c \
	%D%/trees.h \
	%D%/ways.c \
	%D%/ways.h
