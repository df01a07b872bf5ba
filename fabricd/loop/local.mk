fabricd_libfabricd_a_SOURCES += \
	%D%/hold.c \
	%D%/hold.h \
	%D%/thread_pool.c \
	%D%/thread_pool.h \
	%D%/loop.c \
	%D%/loop.h \
	%D%/task.c \
	%D%/task.h \
	%D%/timeline.c \
	%D%/timeline.h \
	%D%/iterations.c \
	%D%/iterations.h \
	%D%/worker.c \
	%D%/worker.h
