libfabmgr_libfabmgr_a_SOURCES += \
	%D%/counters.c \
	%D%/counters.h \
	%D%/damping.c \
	%D%/damping.h \
	%D%/drain.c \
	%D%/drain.h \
	%D%/drain_plan.c \
	%D%/drain_plan.h \
	%D%/floor.c \
	%D%/floor.h \
	%D%/hosts.h \
	%D%/isolation.c \
	%D%/isolation.h \
	%D%/known.c \
	%D%/known.h \
	%D%/persistence.c \
	%D%/persistence.h
