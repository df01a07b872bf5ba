# The RPC, tested with Debian's Python gRPC library and a fake manager.
EXTRA_DIST += tests/rpc/python.sh tests/rpc/harness.py tests/rpc/place.py tests/rpc/golden_file.py tests/rpc/ctl_schema.py tests/rpc/http2.py tests/rpc/test_answers.py tests/rpc/test_answers.sh tests/rpc/test_fabricctl.py \
	tests/rpc/test_daemon.py tests/rpc/test_daemon.sh tests/rpc/test_fabricctl.sh tests/rpc/test_grpcio.py tests/rpc/test_grpcio.sh tests/rpc/test_grpcjs.py tests/rpc/test_grpcjs.sh \
	tests/rpc/grpcjs/client.js tests/rpc/grpcjs/package.json tests/rpc/grpcjs/package-lock.json \
	tests/rpc/test_alerts.py tests/rpc/test_alerts.sh tests/rpc/test_audit_log.py tests/rpc/test_audit_log.sh tests/rpc/test_backup.py tests/rpc/test_backup.sh tests/rpc/test_cabling.py tests/rpc/test_cabling.sh tests/rpc/test_cert.py tests/rpc/test_cert.sh tests/rpc/test_contexts.py tests/rpc/test_contexts.sh tests/rpc/old_manager.py tests/rpc/test_old_manager.py tests/rpc/test_old_manager.sh tests/rpc/test_floods.py tests/rpc/test_floods.sh tests/rpc/python_client.py tests/rpc/test_python_client.py tests/rpc/test_python_client.sh tests/rpc/test_python_examples.py tests/rpc/test_python_examples.sh tests/rpc/test_ib_kubernetes.py tests/rpc/test_ib_kubernetes.sh tests/rpc/test_roles.py tests/rpc/test_roles.sh tests/rpc/test_support.py tests/rpc/test_support.sh tests/rpc/test_studies.py tests/rpc/test_studies.sh tests/rpc/test_tls.py tests/rpc/test_tls.sh tests/rpc/test_golden.py tests/rpc/test_golden.sh tests/rpc/gone_place.py tests/rpc/test_gone.py tests/rpc/test_gone.sh tests/rpc/test_history.py tests/rpc/test_history.sh tests/rpc/test_metrics.py tests/rpc/test_metrics.sh tests/rpc/test_policy.py tests/rpc/test_policy.sh tests/rpc/test_topology.py tests/rpc/test_topology.sh tests/rpc/test_top.py tests/rpc/test_top.sh tests/rpc/test_inventory.py tests/rpc/test_inventory.sh tests/rpc/test_hosts.py tests/rpc/test_hosts.sh \
	tests/rpc/golden/answers.txt tests/rpc/golden/colors.txt tests/rpc/golden/fake-colors.txt tests/rpc/golden/dragonfly.txt tests/rpc/golden/fabsim.txt tests/rpc/golden/leaf-spine.txt tests/rpc/golden/messages.txt \
	tests/rpc/golden/serve.txt tests/rpc/golden/settings.txt tests/rpc/golden/torus.txt tests/rpc/golden/fake.txt tests/rpc/golden/mistakes.txt tests/rpc/golden/recordings.txt tests/rpc/golden/refused.txt \
	tests/rpc/fake_cc.h tests/rpc/fake_history.h tests/rpc/fake_sm.h tests/rpc/kill_at.c

if TESTS_ENABLED
check_PROGRAMS += tests/rpc/rpc_server
TESTS += tests/rpc/test_old_manager.sh tests/rpc/test_alerts.sh tests/rpc/test_answers.sh tests/rpc/test_audit_log.sh tests/rpc/test_backup.sh tests/rpc/test_cert.sh tests/rpc/test_daemon.sh tests/rpc/test_fabricctl.sh tests/rpc/test_golden.sh tests/rpc/test_grpcio.sh \
	tests/rpc/test_cabling.sh tests/rpc/test_contexts.sh tests/rpc/test_floods.sh tests/rpc/test_python_client.sh tests/rpc/test_python_examples.sh tests/rpc/test_ib_kubernetes.sh tests/rpc/test_roles.sh tests/rpc/test_support.sh tests/rpc/test_studies.sh tests/rpc/test_tls.sh tests/rpc/test_gone.sh tests/rpc/test_history.sh tests/rpc/test_metrics.sh tests/rpc/test_policy.sh tests/rpc/test_topology.sh tests/rpc/test_top.sh tests/rpc/test_inventory.sh tests/rpc/test_hosts.sh
endif
tests_rpc_rpc_server_SOURCES = tests/rpc/rpc_server.c tests/rpc/fake_sm.c tests/rpc/fake_cc.c tests/rpc/fake_history.c
tests_rpc_rpc_server_CFLAGS = $(TEST_CFLAGS) $(OPENSSL_CFLAGS)
tests_rpc_rpc_server_LDADD = $(FABRICD_LIBS)

# A preload library of test_cert.py.
check_DATA += tests/rpc/kill_at.so
CLEANFILES += tests/rpc/kill_at.so
tests/rpc/kill_at.so: tests/rpc/kill_at.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -fPIC -shared -o $@ $(srcdir)/tests/rpc/kill_at.c -ldl

# ---- hostile connections
FUZZ_TARGETS += tests/fuzz/fuzz_rpc
tests_fuzz_fuzz_rpc_SOURCES = tests/fuzz/fuzz_rpc.c $(FUZZ_MAIN)
tests_fuzz_fuzz_rpc_CFLAGS = $(AM_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_fuzz_fuzz_rpc_LDADD = $(FABRICD_LIBS)
tests_fuzz_fuzz_rpc_LDFLAGS = $(FUZZ_LINK)

# ---- the texts of gRPC
UNIT_TESTS += tests/unit/test_grpc
tests_unit_test_grpc_SOURCES = tests/unit/test_grpc.c
tests_unit_test_grpc_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_grpc_LDADD = $(LIB_TEST_LIBS)

# ---- pages, descriptors and events of the RPC
UNIT_TESTS += tests/unit/test_rpc
tests_unit_test_rpc_SOURCES = tests/unit/test_rpc.c
tests_unit_test_rpc_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_rpc_LDADD = $(DAEMON_TEST_LIBS)

# ---- the form and the lines of the metrics
UNIT_TESTS += tests/unit/test_metrics
tests_unit_test_metrics_SOURCES = tests/unit/test_metrics.c
tests_unit_test_metrics_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_metrics_LDADD = $(DAEMON_TEST_LIBS)

# ---- the queues and the body of alerts
UNIT_TESTS += tests/unit/test_alerts
tests_unit_test_alerts_SOURCES = tests/unit/test_alerts.c
tests_unit_test_alerts_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_alerts_LDADD = $(DAEMON_TEST_LIBS)

# ---- listening addresses, and the lock of the state directory
UNIT_TESTS += tests/unit/test_listen
tests_unit_test_listen_SOURCES = tests/unit/test_listen.c
tests_unit_test_listen_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS) $(LIBEVENT_CFLAGS)
tests_unit_test_listen_LDADD = $(DAEMON_TEST_LIBS)

# ---- TLS handshakes on their own thread
UNIT_TESTS += tests/unit/test_handshake
tests_unit_test_handshake_SOURCES = tests/unit/test_handshake.c
tests_unit_test_handshake_CFLAGS = $(TEST_CFLAGS) $(OPENSSL_CFLAGS)
tests_unit_test_handshake_LDADD = $(DAEMON_TEST_LIBS) $(OPENSSL_LIBS)

# ---- the output of fabricctl, and the arguments that it reads
UNIT_TESTS += tests/unit/test_ctl
tests_unit_test_ctl_SOURCES = tests/unit/test_ctl.c
tests_unit_test_ctl_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_ctl_LDADD = $(CTL_LIBS) $(CHECK_LIBS)

UNIT_TESTS += tests/unit/test_schema
tests_unit_test_schema_SOURCES = tests/unit/test_schema.c
tests_unit_test_schema_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_schema_LDADD = $(CTL_LIBS) $(CHECK_LIBS)

UNIT_TESTS += tests/unit/test_output
tests_unit_test_output_SOURCES = tests/unit/test_output.c
tests_unit_test_output_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_output_LDADD = $(CTL_LIBS) $(CHECK_LIBS)

UNIT_TESTS += tests/unit/test_anonymize
tests_unit_test_anonymize_SOURCES = tests/unit/test_anonymize.c
tests_unit_test_anonymize_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_anonymize_LDADD = $(CTL_LIBS) $(CHECK_LIBS)

# ---- lists of hosts, as the manager and fabricctl read them
UNIT_TESTS += tests/unit/test_glob
tests_unit_test_glob_SOURCES = tests/unit/test_glob.c
tests_unit_test_glob_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_glob_LDADD = cli/libctl.a $(DAEMON_TEST_LIBS) $(YAML_LIBS)

UNIT_TESTS += tests/unit/test_host_list
tests_unit_test_host_list_SOURCES = tests/unit/test_host_list.c
tests_unit_test_host_list_CFLAGS = $(TEST_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_unit_test_host_list_LDADD = cli/libctl.a $(DAEMON_TEST_LIBS) $(YAML_LIBS)
