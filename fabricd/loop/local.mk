fabricd_libfabricd_la_SOURCES += \
	%D%/loop.c \
	%D%/loop.h \
	%D%/timeline.c \
	%D%/timeline.h \
	%D%/worker.c \
	%D%/worker.h
