libfabmgr_libfabmgr_a_SOURCES += \
	%D%/block.c \
	%D%/block.h \
	%D%/column.c \
	%D%/column.h \
	%D%/encode.c \
	%D%/rank.c \
	%D%/rank.h \
	%D%/reading.c \
	%D%/reading.h \
	%D%/rollup.c \
	%D%/rollup.h \
	%D%/trend.c \
	%D%/trend.h
