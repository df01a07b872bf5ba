libfabmgr_libfabmgr_a_SOURCES += \
	%D%/describe.c \
	%D%/entry.c \
	%D%/player.c \
	%D%/player.h \
	%D%/recording.h \
	%D%/index.c \
	%D%/index.h
