libfabmgr_libfabmgr_la_SOURCES += \
	%D%/network.c \
	%D%/internal.h \
	%D%/column/column.c \
	%D%/contingency/contingency.c \
	%D%/contingency/contingency.h \
	%D%/session/idmap.c \
	%D%/session/idmap.h \
	%D%/column/tile.c \
	%D%/labels/labels.c \
	%D%/labels/relabel.c \
	%D%/contingency/link_load.c \
	%D%/write_order.c \
	%D%/contingency/encode.c \
	%D%/proof.c \
	%D%/column/relax.c \
	%D%/repair.c \
	%D%/repair.h \
	%D%/contingency/compress.c \
	%D%/session/session.c \
	%D%/session/session.h \
	%D%/column/prefetch.c
