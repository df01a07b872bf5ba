libfabmgr_libfabmgr_a_SOURCES += \
	%D%/absent.c \
	%D%/check.h \
	%D%/compare.c \
	%D%/compare.h \
	%D%/exchanges.c \
	%D%/infer.c \
	%D%/infer.h \
	%D%/levels.c \
	%D%/levels.h \
	%D%/match.c \
	%D%/moves.c \
	%D%/moves.h \
	%D%/name.c \
	%D%/name.h \
	%D%/pattern.c \
	%D%/pattern.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/rails.c \
	%D%/read.c \
	%D%/read.h \
	%D%/read_csv.c \
	%D%/read_netdiscover.c \
	%D%/read_topo.c
