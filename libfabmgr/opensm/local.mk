libfabmgr_libfabmgr_a_SOURCES += \
	%D%/conf.c \
	%D%/convert.h \
	%D%/export.c \
	%D%/files.c \
	%D%/import.c \
	%D%/near.c \
	%D%/opensm.h \
	%D%/options.c \
	%D%/rules.c \
	%D%/yaml.c
