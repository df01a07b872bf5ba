libfabmgr_libfabmgr_la_SOURCES += \
	%D%/affected.c \
	%D%/dead_links.c \
	%D%/delta.c \
	%D%/internal.h \
	%D%/network.c \
	%D%/proof.c \
	%D%/repair.c \
	%D%/repair.h \
	%D%/write_order.c \
	%D%/column/column.c \
	%D%/column/prefetch.c \
	%D%/column/relax.c \
	%D%/column/tile.c \
	%D%/contingency/compress.c \
	%D%/contingency/contingency.c \
	%D%/contingency/contingency.h \
	%D%/contingency/encode.c \
	%D%/contingency/link_load.c \
	%D%/labels/labels.c \
	%D%/labels/relabel.c \
	%D%/session/idmap.c \
	%D%/session/idmap.h \
	%D%/session/session.c \
	%D%/session/session.h
