libfabmgr_libfabmgr_la_SOURCES += \
	%D%/internal.h \
	%D%/judge.c \
	%D%/mixture.c \
	%D%/order.c \
	%D%/paths.c \
	%D%/rounds.c \
	%D%/transition.c \
	%D%/transition.h \
	%D%/work.h
