libfabmgr_libfabmgr_a_SOURCES += \
	%D%/attr_diff.c \
	%D%/attr_diff.h \
	%D%/vl_writes.c \
	%D%/vl_writes.h \
	%D%/mft_writes.c \
	%D%/mft_writes.h \
	%D%/observed.c \
	%D%/observed_move.h \
	%D%/lft_changes.c \
	%D%/lft_changes.h \
	%D%/lft_order.c \
	%D%/lft_order.h \
	%D%/lft_order_internal.h \
	%D%/lft_parts.c \
	%D%/pkey_writes.c \
	%D%/pkey_writes.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/scrub.c \
	%D%/scrub.h \
	%D%/lft_early.c \
	%D%/lft_early.h \
	%D%/lft_constraints.c
