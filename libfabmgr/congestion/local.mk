libfabmgr_libfabmgr_a_SOURCES += \
	%D%/advise.c \
	%D%/advise.h \
	%D%/congestion.c \
	%D%/congestion.h \
	%D%/derive.c \
	%D%/derive.h \
	%D%/explain.c \
	%D%/explain.h \
	%D%/log.c \
	%D%/log.h \
	%D%/roce.c \
	%D%/roce_explain.c \
	%D%/roce_parts.h \
	%D%/roce.h \
	%D%/summary.c \
	%D%/summary.h \
	%D%/table.c
