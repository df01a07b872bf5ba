libfabmgr_libfabmgr_a_SOURCES += %D%/code.c %D%/code.h %D%/descriptor.c %D%/descriptor.h %D%/reader.c %D%/text.c %D%/grpc.h
