fabricd_libfabricd_la_SOURCES += \
	%D%/crew.c \
	%D%/crew.h \
	%D%/loop.c \
	%D%/loop.h \
	%D%/thread.h \
	%D%/timeline.c \
	%D%/timeline.h \
	%D%/turns.c \
	%D%/turns.h \
	%D%/worker.c \
	%D%/worker.h
