libfabmgr_libfabmgr_a_SOURCES += \
	%D%/answer.c \
	%D%/baseline.c \
	%D%/baseline.h \
	%D%/baseline_names.c \
	%D%/baseline_names.h \
	%D%/contest.c \
	%D%/discover.c \
	%D%/discover.h \
	%D%/keep.c \
	%D%/losses.c \
	%D%/losses.h \
	%D%/machine.h \
	%D%/paths.c \
	%D%/model.c \
	%D%/places.c \
	%D%/places.h \
	%D%/queue.c \
	%D%/result.c \
	%D%/silent.c \
	%D%/silent.h \
	%D%/targeted.c
