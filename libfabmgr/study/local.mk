libfabmgr_libfabmgr_a_SOURCES += \
	%D%/all_to_all.c \
	%D%/choose_engine.c \
	%D%/choose_engine.h \
	%D%/endport_order.c \
	%D%/figures.c \
	%D%/figures.h \
	%D%/job_paths.c \
	%D%/job_paths.h \
	%D%/measurement.c \
	%D%/measurement.h \
	%D%/permutations.c \
	%D%/polish_gain.c \
	%D%/polish_gain.h \
	%D%/quality.c \
	%D%/quality.h \
	%D%/transit.c \
	%D%/transit.h \
	%D%/link_use.c \
	%D%/link_use.h \
	%D%/whatif.c \
	%D%/whatif.h
