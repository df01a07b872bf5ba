libfabmgr_libfabmgr_a_SOURCES += \
	%D%/concern.c \
	%D%/concern.h \
	%D%/filter.c \
	%D%/filter.h \
	%D%/find.c \
	%D%/gone.c \
	%D%/gone.h \
	%D%/name.h \
	%D%/topology_diff.c \
	%D%/topology_diff.h \
	%D%/view.c \
	%D%/view.h
