libfabmgr_libfabmgr_la_SOURCES += %D%/code.c %D%/reader.c %D%/text.c %D%/grpc.h
