libfabmgr_libfabmgr_la_SOURCES += \
	%D%/all_to_all.c \
	%D%/choose_engine.c \
	%D%/choose_engine.h \
	%D%/endport_order.c \
	%D%/figures.c \
	%D%/figures.h \
	%D%/measurement.c \
	%D%/measurement.h \
	%D%/permutations.c \
	%D%/quality.c \
	%D%/quality.h \
	%D%/whatif.c \
	%D%/whatif.h
