libfabmgr_libfabmgr_la_SOURCES += \
	%D%/answer.c \
	%D%/discover.c \
	%D%/discover.h \
	%D%/machine.h \
	%D%/paths.c \
	%D%/places.c \
	%D%/queue.c \
	%D%/result.c \
	%D%/scoped.c
