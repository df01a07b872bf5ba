libfabmgr_libfabmgr_a_SOURCES += \
	%D%/branches.c \
	%D%/trees_update.c \
	%D%/groups.c \
	%D%/groups.h \
	%D%/net.c \
	%D%/net.h \
	%D%/guide.c \
	%D%/guide.h \
	%D%/group_store.c \
	%D%/group_store.h \
	%D%/tree.c \
	%D%/tree.h \
	%D%/trees.c \
	%D%/trees.h \
	%D%/distances.c \
	%D%/distances.h
