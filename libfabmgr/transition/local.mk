libfabmgr_libfabmgr_a_SOURCES += \
	%D%/by_repair.c \
	%D%/carrying.c \
	%D%/early.c \
	%D%/internal.h \
	%D%/judge.c \
	%D%/mixture.c \
	%D%/order.c \
	%D%/paths.c \
	%D%/plan_order.c \
	%D%/plan_order.h \
	%D%/plan_steps.h \
	%D%/rounds.c \
	%D%/transition.c \
	%D%/transition.h \
	%D%/union.c \
	%D%/work.h
