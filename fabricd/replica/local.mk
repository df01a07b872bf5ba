fabricd_libfabricd_a_SOURCES += %D%/announce.c %D%/changes.c %D%/etcd.c %D%/etcd.h %D%/format.c %D%/members.c %D%/receive.c %D%/replica.c %D%/replica.h %D%/send.c %D%/state.h
