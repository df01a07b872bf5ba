# fabricd: everything but main.c is in a convenience library, which the tests link too.

noinst_LIBRARIES += fabricd/libfabricd.a
fabricd_libfabricd_a_SOURCES =
fabricd_libfabricd_a_CFLAGS = $(AM_CFLAGS) $(EVENT_CFLAGS) $(EVENT_EXTRA_CFLAGS) $(EVENT_OPENSSL_CFLAGS) $(UMAD_CFLAGS) \
	$(SQLITE_CFLAGS) $(NGHTTP2_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS) $(CYAML_CFLAGS) $(CURL_CFLAGS) \
	$(SYSTEMD_CFLAGS)

# What a program that uses the daemon's rooms links.
FABRICD_LIBS = fabricd/libfabricd.a libfabmgr/client/libfabclient.a libfabmgr/libfabmgr.a proto/libfabproto.a \
	$(EVENT_OPENSSL_LIBS) $(EVENT_EXTRA_LIBS) $(EVENT_LIBS) $(UMAD_LIBS) $(SQLITE_LIBS) $(NGHTTP2_LIBS) \
	$(PROTOBUFC_LIBS) $(OPENSSL_LIBS) $(CYAML_LIBS) $(CURL_LIBS) $(SYSTEMD_LIBS)

sbin_PROGRAMS += fabricd/fabricd
fabricd_fabricd_SOURCES = fabricd/main.c fabricd/daemon.h fabricd/reload.c fabricd/maintenance.c fabricd/maintenance.h fabricd/options.c fabricd/options.h \
	fabricd/store_watch.c fabricd/store_watch.h fabricd/upkeep.c fabricd/upkeep.h fabricd/device_watch.c fabricd/device_watch.h \
	fabricd/hardware_report.c fabricd/hardware_report.h fabricd/recording.c fabricd/recording.h fabricd/rehearse.c fabricd/rehearse.h fabricd/shared_keys.c
fabricd_fabricd_CFLAGS = $(AM_CFLAGS) $(EVENT_CFLAGS) $(OPENSSL_CFLAGS) $(SYSTEMD_CFLAGS)
fabricd_fabricd_LDADD = $(FABRICD_LIBS)

include fabricd/base/local.mk
include fabricd/loop/local.mk
include fabricd/config/local.mk
include fabricd/transport/local.mk
include fabricd/agent/local.mk
include fabricd/alerts/local.mk
include fabricd/store/local.mk
include fabricd/replica/local.mk
include fabricd/sm/local.mk
include fabricd/pm/local.mk
include fabricd/inventory/local.mk
include fabricd/hardware/local.mk
include fabricd/cc/local.mk
include fabricd/metrics/local.mk
include fabricd/sa/local.mk
include fabricd/policy/local.mk
include fabricd/rpc/local.mk
