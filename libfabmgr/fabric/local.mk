libfabmgr_libfabmgr_la_SOURCES += \
	%D%/builder.c \
	%D%/builder.h \
	%D%/classify.c \
	%D%/classify.h \
	%D%/device.c \
	%D%/device.h \
	%D%/diff.c \
	%D%/fabric.c \
	%D%/fabric.h \
	%D%/fat_tree.c \
	%D%/generate.h \
	%D%/island.c \
	%D%/leaf_spine.c \
	%D%/make.c \
	%D%/make.h \
	%D%/random.c \
	%D%/rate.c \
	%D%/rate.h \
	%D%/seal.c \
	%D%/text.h \
	%D%/text_cable.c \
	%D%/text_link.c \
	%D%/text_read.c \
	%D%/text_read.h \
	%D%/text_scan.c \
	%D%/text_scan.h \
	%D%/text_write.c
