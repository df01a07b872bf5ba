libfabmgr_libfabmgr_la_SOURCES += %D%/certificate.c %D%/export.c %D%/export.h %D%/service_levels.c %D%/opensm.c %D%/slurm.c %D%/topology.c %D%/writer.h
