libfabmgr_libfabmgr_la_SOURCES += \
	%D%/builder.c \
	%D%/builder.h \
	%D%/classify.c \
	%D%/classify.h \
	%D%/diff.c \
	%D%/fabric.c \
	%D%/fabric.h \
	%D%/generate.h \
	%D%/island.c \
	%D%/seal.c \
	%D%/text.h
