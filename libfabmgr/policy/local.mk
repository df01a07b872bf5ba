libfabmgr_libfabmgr_la_SOURCES += \
	%D%/append.c \
	%D%/append.h \
	%D%/classes.c \
	%D%/classes.h \
	%D%/classes_make.h \
	%D%/classes_read.c \
	%D%/classes_rule.c \
	%D%/congestion.c \
	%D%/congestion.h \
	%D%/gid.c \
	%D%/gid.h \
	%D%/m_key_list.c \
	%D%/m_key_list.h \
	%D%/m_keys.c \
	%D%/m_keys.h \
	%D%/partitions.c \
	%D%/partitions.h \
	%D%/partitions_make.h \
	%D%/partitions_read.c \
	%D%/pins.c \
	%D%/pins.h \
	%D%/policy.c \
	%D%/policy.h \
	%D%/routers.c \
	%D%/routers.h \
	%D%/tables.c \
	%D%/tables.h
