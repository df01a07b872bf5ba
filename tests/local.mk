# Tests. All tests print TAP, so that `make check` counts test cases, not programs.
#
# A unit test room_thing:   tests/unit/test_thing.c, one main that returns test_run(suite) (see
#                           tests/unit/testing.h); add it to UNIT_TESTS and give it its own block below.
# A fuzz target fuzz_thing: tests/fuzz/fuzz_thing.c with LLVMFuzzerTestOneInput and seeds in
#                           tests/fuzz/seeds/fuzz_thing/; add it to FUZZ_TARGETS and give it its own block.

EXTRA_DIST += tests/layers.sh tests/calls.sh tests/help.sh tests/hardening.sh tests/events.sh tests/coverage.sh tests/static.sh tests/integration tests/unit/testing.h tests/fuzz/README.md tests/fuzz/seeds

LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
# MALLOC_PERTURB_: glibc fills memory from malloc(), and freed memory, with bytes other than 0, so that a test of a
# function that reads such memory fails.
AM_TESTS_ENVIRONMENT = \
	CK_TAP_LOG_FILE_NAME=-; export CK_TAP_LOG_FILE_NAME; \
	CK_VERBOSITY=silent; export CK_VERBOSITY; \
	MALLOC_PERTURB_=165; export MALLOC_PERTURB_; \
	NM='$(NM)'; export NM; OBJDUMP='$(OBJDUMP)'; export OBJDUMP; \
	FUZZ_SEEDS='$(abs_top_srcdir)/tests/fuzz/seeds'; export FUZZ_SEEDS; \
	abs_top_srcdir='$(abs_top_srcdir)'; export abs_top_srcdir; \
	abs_top_builddir='$(abs_top_builddir)'; export abs_top_builddir;

TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
# A unit test of libfabmgr links LIB_TEST_LIBS; a unit test of a room of the daemon links DAEMON_TEST_LIBS.
LIB_TEST_LIBS = libfabmgr/libfabmgr.a $(CHECK_LIBS)
DAEMON_TEST_LIBS = $(FABRICD_LIBS) $(CHECK_LIBS)

UNIT_TESTS =
EXTRA_PROGRAMS =
FUZZ_TARGETS =

# ---- discover, sim
include tests/sim.mk

# ---- subnet administration
include tests/sa.mk

# ---- which room may use which, and which functions the library may call
TESTS += tests/layers.sh tests/calls.sh

# ---- help, man pages and completion agree
TESTS += tests/help.sh tests/hardening.sh

# ---- fabsim as a program
EXTRA_DIST += tests/sim/test_fabsim.sh tests/sim/test_fabsim.py
TESTS += tests/sim/test_fabsim.sh

# ---- the table of events, its man page and the code agree
TESTS += tests/events.sh

# ---- base: version
UNIT_TESTS += tests/unit/test_version
tests_unit_test_version_SOURCES = tests/unit/test_version.c
tests_unit_test_version_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_version_LDADD = $(LIB_TEST_LIBS)

# ---- the cost of wire encoding and of the session (not a test)
noinst_PROGRAMS += tests/bench/bench_mads
tests_bench_bench_mads_SOURCES = tests/bench/bench_mads.c
tests_bench_bench_mads_LDADD = libfabmgr/libfabmgr.a

# ---- the cost of repairs (not a test)
noinst_PROGRAMS += tests/bench/bench_repair
tests_bench_bench_repair_SOURCES = tests/bench/bench_repair.c tests/bench/bench.h
tests_bench_bench_repair_LDADD = libfabmgr/libfabmgr.a
noinst_PROGRAMS += tests/bench/bench_in_place
tests_bench_bench_in_place_SOURCES = tests/bench/bench_in_place.c tests/bench/bench.h
tests_bench_bench_in_place_LDADD = libfabmgr/libfabmgr.a
noinst_PROGRAMS += tests/bench/bench_mcast
tests_bench_bench_mcast_SOURCES = tests/bench/bench_mcast.c tests/bench/bench.h
tests_bench_bench_mcast_LDADD = libfabmgr/libfabmgr.a

# ---- congestion control
UNIT_TESTS += tests/unit/test_congestion
tests_unit_test_congestion_SOURCES = tests/unit/test_congestion.c
tests_unit_test_congestion_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_congestion_LDADD = $(LIB_TEST_LIBS)
UNIT_TESTS += tests/unit/test_roce
tests_unit_test_roce_SOURCES = tests/unit/test_roce.c
tests_unit_test_roce_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_roce_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/sim/test_cc
tests_sim_test_cc_SOURCES = tests/sim/test_cc.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_cc_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_cc_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_congestion_random
tests_unit_test_congestion_random_SOURCES = tests/unit/test_congestion_random.c
tests_unit_test_congestion_random_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_congestion_random_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_congestion_nomem
tests_unit_test_congestion_nomem_SOURCES = tests/unit/test_congestion_nomem.c
tests_unit_test_congestion_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_congestion_nomem_LDADD = $(DAEMON_TEST_LIBS)
tests_unit_test_congestion_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_congestion_log
tests_unit_test_congestion_log_SOURCES = tests/unit/test_congestion_log.c
tests_unit_test_congestion_log_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_congestion_log_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_congestion
tests_fuzz_fuzz_congestion_SOURCES = tests/fuzz/fuzz_congestion.c $(FUZZ_MAIN)
tests_fuzz_fuzz_congestion_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_congestion_LDFLAGS = $(FUZZ_LINK)

# ---- traffic classes
UNIT_TESTS += tests/unit/test_classes
tests_unit_test_classes_SOURCES = tests/unit/test_classes.c
tests_unit_test_classes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_classes_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_config_nomem
tests_unit_test_config_nomem_SOURCES = tests/unit/test_config_nomem.c
tests_unit_test_config_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_config_nomem_LDADD = $(DAEMON_TEST_LIBS)
tests_unit_test_config_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup

UNIT_TESTS += tests/unit/test_classes_nomem
tests_unit_test_classes_nomem_SOURCES = tests/unit/test_classes_nomem.c
tests_unit_test_classes_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_classes_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_classes_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_qos
tests_unit_test_qos_SOURCES = tests/unit/test_qos.c tests/unit/qos_world.h
tests_unit_test_qos_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_qos_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_qos_shares
tests_unit_test_qos_shares_SOURCES = tests/unit/test_qos_shares.c tests/unit/qos_world.h
tests_unit_test_qos_shares_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_qos_shares_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_classes
tests_fuzz_fuzz_classes_SOURCES = tests/fuzz/fuzz_classes.c $(FUZZ_MAIN)
tests_fuzz_fuzz_classes_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_classes_LDFLAGS = $(FUZZ_LINK)

# ---- base
UNIT_TESTS += tests/unit/test_base
tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_base_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_pages
tests_unit_test_pages_SOURCES = tests/unit/test_pages.c
tests_unit_test_pages_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_pages_LDADD = $(LIB_TEST_LIBS)

# ---- wire
UNIT_TESTS += tests/unit/test_wire
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c
tests_unit_test_wire_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_wire_LDADD = $(LIB_TEST_LIBS)

# ---- wire: headers
UNIT_TESTS += tests/unit/test_wire_mad
tests_unit_test_wire_mad_SOURCES = tests/unit/test_wire_mad.c
tests_unit_test_wire_mad_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_wire_mad_LDADD = $(LIB_TEST_LIBS)

# ---- smstate
UNIT_TESTS += tests/unit/test_smstate
tests_unit_test_smstate_SOURCES = tests/unit/test_smstate.c
tests_unit_test_smstate_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_smstate_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_damping
tests_unit_test_damping_SOURCES = tests/unit/test_damping.c
tests_unit_test_damping_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_damping_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_block
tests_fuzz_fuzz_block_SOURCES = tests/fuzz/fuzz_block.c $(FUZZ_MAIN)
tests_fuzz_fuzz_block_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_block_LDFLAGS = $(FUZZ_LINK)
UNIT_TESTS += tests/unit/test_history
tests_unit_test_history_SOURCES = tests/unit/test_history.c
tests_unit_test_history_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_history_LDADD = $(LIB_TEST_LIBS)
UNIT_TESTS += tests/unit/test_counters
tests_unit_test_counters_SOURCES = tests/unit/test_counters.c
tests_unit_test_counters_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_counters_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_drain
tests_unit_test_drain_SOURCES = tests/unit/test_drain.c
tests_unit_test_drain_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_drain_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_floor
tests_unit_test_floor_SOURCES = tests/unit/test_floor.c
tests_unit_test_floor_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_floor_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_isolation
tests_unit_test_isolation_SOURCES = tests/unit/test_isolation.c
tests_unit_test_isolation_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_isolation_LDADD = $(LIB_TEST_LIBS)

# ---- mads
UNIT_TESTS += tests/unit/test_mads
tests_unit_test_mads_SOURCES = tests/unit/test_mads.c tests/unit/mads_session.h
tests_unit_test_mads_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_mads_LDADD = $(LIB_TEST_LIBS)

# ---- mads: window, conversations
UNIT_TESTS += tests/unit/test_mads_window
tests_unit_test_mads_window_SOURCES = tests/unit/test_mads_window.c tests/unit/mads_session.h
tests_unit_test_mads_window_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_mads_window_LDADD = $(LIB_TEST_LIBS)

# ---- every allocation fails in turn
UNIT_TESTS += tests/unit/test_nomem
EXTRA_DIST += tests/unit/failing_alloc.h
tests_unit_test_nomem_SOURCES = tests/unit/test_nomem.c
tests_unit_test_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# ---- hostile MADs
FUZZ_TARGETS += tests/fuzz/fuzz_mad
tests_fuzz_fuzz_mad_SOURCES = tests/fuzz/fuzz_mad.c $(FUZZ_MAIN)
tests_fuzz_fuzz_mad_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_mad_LDFLAGS = $(FUZZ_LINK)

# ---- base: bus
UNIT_TESTS += tests/unit/test_bus
tests_unit_test_bus_SOURCES = tests/unit/test_bus.c
tests_unit_test_bus_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_bus_LDADD = $(DAEMON_TEST_LIBS)

# ---- base: events
UNIT_TESTS += tests/unit/test_events
tests_unit_test_events_SOURCES = tests/unit/test_events.c
tests_unit_test_events_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_events_LDADD = $(DAEMON_TEST_LIBS)

# ---- base: log
UNIT_TESTS += tests/unit/test_log
tests_unit_test_log_SOURCES = tests/unit/test_log.c
tests_unit_test_log_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_log_LDADD = $(DAEMON_TEST_LIBS)

# ---- config
UNIT_TESTS += tests/unit/test_config
tests_unit_test_config_SOURCES = tests/unit/test_config.c
tests_unit_test_config_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_config_LDADD = $(DAEMON_TEST_LIBS)

EXTRA_DIST += tests/unit/fabrics.h

# ---- support for tests
UNIT_TESTS += tests/unit/test_secrets
tests_unit_test_secrets_SOURCES = tests/unit/test_secrets.c
tests_unit_test_secrets_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_secrets_LDADD = $(DAEMON_TEST_LIBS)

EXTRA_DIST += tests/unit/fabrics.h

# ---- support for tests
UNIT_TESTS += tests/unit/test_pool
tests_unit_test_pool_SOURCES = tests/unit/test_pool.c
tests_unit_test_pool_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_pool_LDADD = $(DAEMON_TEST_LIBS)

# ---- fabric
UNIT_TESTS += tests/unit/test_fabric
tests_unit_test_fabric_SOURCES = tests/unit/test_fabric.c
tests_unit_test_fabric_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_fabric_LDADD = $(LIB_TEST_LIBS)

# ---- fabric: text
UNIT_TESTS += tests/unit/test_text
tests_unit_test_text_SOURCES = tests/unit/test_text.c
tests_unit_test_text_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_text_LDADD = $(LIB_TEST_LIBS)

# ---- fabric: the families of generated fabrics, and routing on them
UNIT_TESTS += tests/unit/test_families
tests_unit_test_families_SOURCES = tests/unit/test_families.c
tests_unit_test_families_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_families_LDADD = $(LIB_TEST_LIBS)

# ---- fabric: further features of generated fabrics
UNIT_TESTS += tests/unit/test_variation
tests_unit_test_variation_SOURCES = tests/unit/test_variation.c
tests_unit_test_variation_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_variation_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_condition
tests_unit_test_condition_SOURCES = tests/unit/test_condition.c
tests_unit_test_condition_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_condition_LDADD = $(LIB_TEST_LIBS)

# ---- cabling: the smallest number of moves of cables, and differences from a plan
UNIT_TESTS += tests/unit/test_cabling_moves
tests_unit_test_cabling_moves_SOURCES = tests/unit/test_cabling_moves.c
tests_unit_test_cabling_moves_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cabling_moves_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_cabling_read
tests_unit_test_cabling_read_SOURCES = tests/unit/test_cabling_read.c
tests_unit_test_cabling_read_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cabling_read_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_cabling_nomem
tests_unit_test_cabling_nomem_SOURCES = tests/unit/test_cabling_nomem.c
tests_unit_test_cabling_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cabling_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_cabling_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_cabling_infer
tests_unit_test_cabling_infer_SOURCES = tests/unit/test_cabling_infer.c tests/unit/cabling_fabrics.h
tests_unit_test_cabling_infer_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cabling_infer_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_cabling
tests_unit_test_cabling_SOURCES = tests/unit/test_cabling.c tests/unit/cabling_fabrics.h tests/unit/cabling_mistakes.h
tests_unit_test_cabling_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cabling_LDADD = $(LIB_TEST_LIBS)

# ---- fabric: generate
UNIT_TESTS += tests/unit/test_generate
tests_unit_test_generate_SOURCES = tests/unit/test_generate.c
tests_unit_test_generate_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_generate_LDADD = $(LIB_TEST_LIBS)

EXTRA_PROGRAMS += tests/bench/bench_fabric
tests_bench_bench_fabric_SOURCES = tests/bench/bench_fabric.c
tests_bench_bench_fabric_LDADD = libfabmgr/libfabmgr.a

FUZZ_TARGETS += tests/fuzz/fuzz_text
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c $(FUZZ_MAIN)
tests_fuzz_fuzz_text_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_text_LDFLAGS = $(FUZZ_LINK)

# ---- policy
UNIT_TESTS += tests/unit/test_policy
tests_unit_test_policy_SOURCES = tests/unit/test_policy.c
tests_unit_test_policy_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_policy_LDADD = $(LIB_TEST_LIBS)

# ---- store
UNIT_TESTS += tests/unit/test_store
tests_unit_test_store_SOURCES = tests/unit/test_store.c
tests_unit_test_store_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_audit
tests_unit_test_audit_SOURCES = tests/unit/test_audit.c
tests_unit_test_audit_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_audit_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_store_harm
EXTRA_DIST += tests/unit/state_dir.h
tests_unit_test_store_harm_SOURCES = tests/unit/test_store_harm.c
tests_unit_test_store_harm_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_harm_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_counters_db
tests_unit_test_counters_db_SOURCES = tests/unit/test_counters_db.c
tests_unit_test_counters_db_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_counters_db_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_store_replicated
tests_unit_test_store_replicated_SOURCES = tests/unit/test_store_replicated.c
tests_unit_test_store_replicated_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_replicated_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_decisions
tests_unit_test_decisions_SOURCES = tests/unit/test_decisions.c
tests_unit_test_decisions_CFLAGS = $(TEST_CFLAGS) $(EVENT_CFLAGS) $(OPENSSL_CFLAGS)
tests_unit_test_decisions_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_replica_changes
tests_unit_test_replica_changes_SOURCES = tests/unit/test_replica_changes.c
tests_unit_test_replica_changes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_replica_changes_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_replica_announce
tests_unit_test_replica_announce_SOURCES = tests/unit/test_replica_announce.c
tests_unit_test_replica_announce_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_replica_announce_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_replica_marks
tests_unit_test_replica_marks_SOURCES = tests/unit/test_replica_marks.c
tests_unit_test_replica_marks_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_replica_marks_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_majority
tests_unit_test_majority_SOURCES = tests/unit/test_majority.c
tests_unit_test_majority_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_majority_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_wrap
tests_unit_test_wrap_SOURCES = tests/unit/test_wrap.c
tests_unit_test_wrap_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_wrap_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_store_gone
tests_unit_test_store_gone_SOURCES = tests/unit/test_store_gone.c
tests_unit_test_store_gone_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_gone_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_store_snapshots
tests_unit_test_store_snapshots_SOURCES = tests/unit/test_store_snapshots.c
tests_unit_test_store_snapshots_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_snapshots_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_store_hosts
tests_unit_test_store_hosts_SOURCES = tests/unit/test_store_hosts.c tests/unit/same_service.h
tests_unit_test_store_hosts_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_hosts_LDADD = $(DAEMON_TEST_LIBS)

# ---- fuzz: registry
FUZZ_TARGETS += tests/fuzz/fuzz_registry
tests_fuzz_fuzz_registry_SOURCES = tests/fuzz/fuzz_registry.c $(FUZZ_MAIN)
tests_fuzz_fuzz_registry_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_registry_LDFLAGS = $(FUZZ_LINK)

# ---- fuzz: config
FUZZ_TARGETS += tests/fuzz/fuzz_config
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(FUZZ_MAIN)
tests_fuzz_fuzz_config_LDADD = $(FABRICD_LIBS)
tests_fuzz_fuzz_config_LDFLAGS = $(FUZZ_LINK)

# ---- applied policies
UNIT_TESTS += tests/unit/test_declared
tests_unit_test_declared_SOURCES = tests/unit/test_declared.c
tests_unit_test_declared_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_declared_LDADD = $(DAEMON_TEST_LIBS)
tests_unit_test_declared_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
FUZZ_TARGETS += tests/fuzz/fuzz_declared
tests_fuzz_fuzz_declared_SOURCES = tests/fuzz/fuzz_declared.c $(FUZZ_MAIN)
tests_fuzz_fuzz_declared_LDADD = $(FABRICD_LIBS)
tests_fuzz_fuzz_declared_LDFLAGS = $(FUZZ_LINK)

# ---- agent
UNIT_TESTS += tests/unit/test_agent
tests_unit_test_agent_SOURCES = tests/unit/test_agent.c
tests_unit_test_agent_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_agent_LDADD = $(DAEMON_TEST_LIBS)

# ---- loop
UNIT_TESTS += tests/unit/test_next_round
tests_unit_test_next_round_SOURCES = tests/unit/test_next_round.c tests/unit/next_round_table.h
tests_unit_test_next_round_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_next_round_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_loop
tests_unit_test_loop_SOURCES = tests/unit/test_loop.c
tests_unit_test_loop_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_loop_LDADD = $(DAEMON_TEST_LIBS)
tests_unit_test_loop_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc

# ---- sm: the whole manager on the simulated fabric
UNIT_TESTS += tests/sim/test_sm
tests_sim_test_sm_SOURCES = tests/sim/test_sm.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_LDADD = $(DAEMON_TEST_LIBS)

# ---- sm: faults
UNIT_TESTS += tests/sim/test_sm_faults
tests_sim_test_sm_faults_SOURCES = tests/sim/test_sm_faults.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_faults_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_faults_LDADD = $(DAEMON_TEST_LIBS)
tests_sim_test_sm_faults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fab_repair_rebalance,--wrap=fab_fabric_count

# ---- sm: degraded links
UNIT_TESTS += tests/sim/test_degraded
tests_sim_test_degraded_SOURCES = tests/sim/test_degraded.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_degraded_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_degraded_LDADD = $(DAEMON_TEST_LIBS)

# ---- sm: every mixture of old and new tables
UNIT_TESTS += tests/sim/test_sm_transitions
tests_sim_test_sm_transitions_SOURCES = tests/sim/test_sm_transitions.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_transitions_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_transitions_LDADD = $(DAEMON_TEST_LIBS)
tests_sim_test_sm_transitions_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fab_transition_make \
	-Wl,--wrap=fab_verify_steps_new,--wrap=fab_verify_steps_judge

# ---- sm: drains
UNIT_TESTS += tests/sim/test_drain
tests_sim_test_drain_SOURCES = tests/sim/test_drain.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_drain_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_drain_LDADD = $(DAEMON_TEST_LIBS)

# ---- sm: links that come back
UNIT_TESTS += tests/sim/test_sm_returns
tests_sim_test_sm_returns_SOURCES = tests/sim/test_sm_returns.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_returns_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_returns_LDADD = $(DAEMON_TEST_LIBS)

# ---- sm: the manager loses its own port
UNIT_TESTS += tests/sim/test_device_lost
tests_sim_test_device_lost_SOURCES = tests/sim/test_device_lost.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_device_lost_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_device_lost_LDADD = $(DAEMON_TEST_LIBS)

# A preload library of tests/integration/test_device.sh.
check_DATA = tests/integration/reconnect.so
CLEANFILES += tests/integration/reconnect.so
tests/integration/reconnect.so: tests/integration/reconnect.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -fPIC -shared -o $@ $(srcdir)/tests/integration/reconnect.c -ldl

# ---- sm: the background proof
UNIT_TESTS += tests/sim/test_sm_reproof
tests_sim_test_sm_reproof_SOURCES = tests/sim/test_sm_reproof.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_reproof_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_reproof_LDADD = $(DAEMON_TEST_LIBS)

# ---- sm: multicast
UNIT_TESTS += tests/sim/test_multicast
tests_sim_test_multicast_SOURCES = tests/sim/test_multicast.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_multicast_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_multicast_LDADD = $(DAEMON_TEST_LIBS)
tests_sim_test_multicast_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fab_mcast_net_new

# ---- pm
UNIT_TESTS += tests/sim/test_sim_traffic
tests_sim_test_sim_traffic_SOURCES = tests/sim/test_sim_traffic.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sim_traffic_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sim_traffic_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/sim/test_health
tests_sim_test_health_SOURCES = tests/sim/test_health.c tests/sim/isolation_world.c tests/sim/isolation_world.h tests/sim/lab.c tests/sim/lab.h
tests_sim_test_health_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_health_LDADD = $(DAEMON_TEST_LIBS) -lm

# False positives of the isolation, and of published thresholds.
EXTRA_PROGRAMS += tests/bench/bench_isolation
tests_bench_bench_isolation_SOURCES = tests/bench/bench_isolation.c tests/sim/isolation_world.c tests/sim/isolation_world.h tests/sim/lab.c tests/sim/lab.h
tests_bench_bench_isolation_CFLAGS = $(TEST_CFLAGS)
tests_bench_bench_isolation_LDADD = $(DAEMON_TEST_LIBS) -lm

UNIT_TESTS += tests/sim/test_pm
tests_sim_test_pm_SOURCES = tests/sim/test_pm.c tests/sim/lab.c tests/sim/lab.h tests/support/golden.c tests/support/golden.h
tests_sim_test_pm_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_pm_LDADD = $(DAEMON_TEST_LIBS)

# ---- sm: other managers, requests
UNIT_TESTS += tests/sim/test_announce
tests_sim_test_announce_SOURCES = tests/sim/test_announce.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_announce_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_announce_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/sim/test_sm_others
tests_sim_test_sm_others_SOURCES = tests/sim/test_sm_others.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_others_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_others_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/sim/test_sm_nomem
tests_sim_test_sm_nomem_SOURCES = tests/sim/test_sm_nomem.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_nomem_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_nomem_LDADD = $(DAEMON_TEST_LIBS)
tests_sim_test_sm_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=_mark_point

# ---- sm: control packets of other managers, and the cost of sweeps and repairs
UNIT_TESTS += tests/unit/test_key
tests_unit_test_key_SOURCES = tests/unit/test_key.c
tests_unit_test_key_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_key_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_answers
tests_attack_test_answers_SOURCES = tests/attack/test_answers.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_answers_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_answers_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_election
tests_attack_test_election_SOURCES = tests/attack/test_election.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_election_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_election_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_identity_guid
tests_attack_test_identity_guid_SOURCES = tests/attack/test_identity_guid.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_identity_guid_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_identity_guid_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_traps
tests_attack_test_traps_SOURCES = tests/attack/test_traps.c tests/sim/lab.c tests/sim/lab.h tests/sim/sa_scene.h
tests_attack_test_traps_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_traps_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_violations
tests_attack_test_violations_SOURCES = tests/attack/test_violations.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_violations_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_violations_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_offenders
tests_attack_test_offenders_SOURCES = tests/attack/test_offenders.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_offenders_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_offenders_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_quotas
tests_attack_test_quotas_SOURCES = tests/attack/test_quotas.c tests/sim/sa_scene.h tests/sim/lab.c tests/sim/lab.h
tests_attack_test_quotas_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_quotas_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_identity
tests_attack_test_identity_SOURCES = tests/attack/test_identity.c tests/sim/lab.c tests/sim/lab.h tests/unit/state_dir.h
tests_attack_test_identity_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_identity_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_baseline
tests_attack_test_baseline_SOURCES = tests/attack/test_baseline.c tests/sim/lab.c tests/sim/lab.h tests/unit/state_dir.h
tests_attack_test_baseline_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_baseline_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_baseline_kill
tests_attack_test_baseline_kill_SOURCES = tests/attack/test_baseline_kill.c tests/sim/lab.c tests/sim/lab.h tests/unit/state_dir.h
tests_attack_test_baseline_kill_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_baseline_kill_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_scrub
tests_attack_test_scrub_SOURCES = tests/attack/test_scrub.c tests/attack/tamper.h tests/sim/lab.c tests/sim/lab.h
tests_attack_test_scrub_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_scrub_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_floods
tests_attack_test_floods_SOURCES = tests/attack/test_floods.c tests/sim/sa_scene.h tests/sim/lab.c tests/sim/lab.h
tests_attack_test_floods_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_floods_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_scrub_scale
tests_attack_test_scrub_scale_SOURCES = tests/attack/test_scrub_scale.c tests/attack/tamper.h tests/sim/golden_devices.c tests/sim/golden_devices.h tests/support/golden.c tests/support/golden.h tests/sim/lab.c tests/sim/lab.h
tests_attack_test_scrub_scale_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_scrub_scale_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_cc_keys
tests_attack_test_cc_keys_SOURCES = tests/attack/test_cc_keys.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_cc_keys_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_cc_keys_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/attack/test_keys
tests_attack_test_keys_SOURCES = tests/attack/test_keys.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_keys_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_keys_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/attack/test_derived_keys
tests_attack_test_derived_keys_SOURCES = tests/attack/test_derived_keys.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_derived_keys_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_derived_keys_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/attack/test_foreign_keys
tests_attack_test_foreign_keys_SOURCES = tests/attack/test_foreign_keys.c tests/sim/lab.c tests/sim/lab.h
tests_attack_test_foreign_keys_CFLAGS = $(TEST_CFLAGS)
tests_attack_test_foreign_keys_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/sim/test_sm_control
tests_sim_test_sm_control_SOURCES = tests/sim/test_sm_control.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_control_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_control_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/sim/test_sm_partitions
tests_sim_test_sm_partitions_SOURCES = tests/sim/test_sm_partitions.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_partitions_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_partitions_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/sim/test_sm_costs
tests_sim_test_sm_costs_SOURCES = tests/sim/test_sm_costs.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sm_costs_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sm_costs_LDADD = $(DAEMON_TEST_LIBS)
tests_sim_test_sm_costs_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fab_discover_new

# ---- view
UNIT_TESTS += tests/unit/test_view
tests_unit_test_view_SOURCES = tests/unit/test_view.c
tests_unit_test_view_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_view_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_concern
tests_unit_test_concern_SOURCES = tests/unit/test_concern.c
tests_unit_test_concern_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_concern_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_topology_diff
tests_unit_test_topology_diff_SOURCES = tests/unit/test_topology_diff.c
tests_unit_test_topology_diff_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_topology_diff_LDADD = $(LIB_TEST_LIBS)

# ---- fabric, policy, view: without memory
UNIT_TESTS += tests/unit/test_fabric_nomem
tests_unit_test_fabric_nomem_SOURCES = tests/unit/test_fabric_nomem.c
tests_unit_test_fabric_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_fabric_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_fabric_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# ---- address, route, verify, plan
EXTRA_DIST += tests/unit/dealing_pool.h tests/unit/fabric_sets.h tests/unit/verify_vls.h tests/unit/naive.h tests/unit/proving.h tests/unit/rmpp_receiver.h tests/unit/routing.h

UNIT_TESTS += tests/unit/test_address
tests_unit_test_address_SOURCES = tests/unit/test_address.c
tests_unit_test_address_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_address_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_route
tests_unit_test_route_SOURCES = tests/unit/test_route.c
tests_unit_test_route_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_torus
tests_unit_test_torus_SOURCES = tests/unit/test_torus.c
tests_unit_test_torus_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_torus_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_dragonfly
tests_unit_test_dragonfly_SOURCES = tests/unit/test_dragonfly.c
tests_unit_test_dragonfly_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_dragonfly_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_legal
tests_unit_test_legal_SOURCES = tests/unit/test_legal.c
tests_unit_test_legal_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_legal_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_fattree
tests_unit_test_fattree_SOURCES = tests/unit/test_fattree.c
tests_unit_test_fattree_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_fattree_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_nue
tests_unit_test_nue_SOURCES = tests/unit/test_nue.c
tests_unit_test_nue_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_nue_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_tables
tests_unit_test_tables_SOURCES = tests/unit/test_tables.c
tests_unit_test_tables_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_tables_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_tables
tests_fuzz_fuzz_tables_SOURCES = tests/fuzz/fuzz_tables.c $(FUZZ_MAIN)
tests_fuzz_fuzz_tables_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_tables_LDFLAGS = $(FUZZ_LINK)

UNIT_TESTS += tests/unit/test_node_names
tests_unit_test_node_names_SOURCES = tests/unit/test_node_names.c
tests_unit_test_node_names_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_node_names_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_opensm
tests_unit_test_opensm_SOURCES = tests/unit/test_opensm.c
tests_unit_test_opensm_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_opensm_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_opensm
tests_fuzz_fuzz_opensm_SOURCES = tests/fuzz/fuzz_opensm.c $(FUZZ_MAIN)
tests_fuzz_fuzz_opensm_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_opensm_LDFLAGS = $(FUZZ_LINK)

UNIT_TESTS += tests/unit/test_lid_list
tests_unit_test_lid_list_SOURCES = tests/unit/test_lid_list.c
tests_unit_test_lid_list_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_lid_list_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_host_list
tests_fuzz_fuzz_host_list_SOURCES = tests/fuzz/fuzz_host_list.c $(FUZZ_MAIN)
tests_fuzz_fuzz_host_list_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_host_list_LDFLAGS = $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_lid_list
tests_fuzz_fuzz_lid_list_SOURCES = tests/fuzz/fuzz_lid_list.c $(FUZZ_MAIN)
tests_fuzz_fuzz_lid_list_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_lid_list_LDFLAGS = $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_node_names
tests_fuzz_fuzz_node_names_SOURCES = tests/fuzz/fuzz_node_names.c $(FUZZ_MAIN)
tests_fuzz_fuzz_node_names_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_node_names_LDFLAGS = $(FUZZ_LINK)

# ---- partitions
UNIT_TESTS += tests/unit/test_partitions
tests_unit_test_partitions_SOURCES = tests/unit/test_partitions.c
tests_unit_test_partitions_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_partitions_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_partition
tests_unit_test_partition_SOURCES = tests/unit/test_partition.c
tests_unit_test_partition_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_partition_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_partition_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_baseline
tests_unit_test_baseline_SOURCES = tests/unit/test_baseline.c
tests_unit_test_baseline_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_baseline_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_paths
tests_unit_test_paths_SOURCES = tests/unit/test_paths.c
tests_unit_test_paths_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_paths_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_partition_incast
tests_unit_test_partition_incast_SOURCES = tests/unit/test_partition_incast.c
tests_unit_test_partition_incast_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_partition_incast_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_cabling
tests_fuzz_fuzz_cabling_SOURCES = tests/fuzz/fuzz_cabling.c $(FUZZ_MAIN)
tests_fuzz_fuzz_cabling_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_cabling_LDFLAGS = $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_partitions
tests_fuzz_fuzz_partitions_SOURCES = tests/fuzz/fuzz_partitions.c $(FUZZ_MAIN)
tests_fuzz_fuzz_partitions_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_partitions_LDFLAGS = $(FUZZ_LINK)

# ---- multicast
UNIT_TESTS += tests/unit/test_mcast_trees
tests_unit_test_mcast_trees_SOURCES = tests/unit/test_mcast_trees.c tests/unit/mcast_world.h
tests_unit_test_mcast_trees_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_mcast_trees_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_spanning
tests_unit_test_spanning_SOURCES = tests/unit/test_spanning.c tests/unit/route_families.h
tests_unit_test_spanning_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_spanning_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_verify_multicast
tests_unit_test_verify_multicast_SOURCES = tests/unit/test_verify_multicast.c \
	tests/unit/mcast_world.h tests/unit/verify_vls.h
tests_unit_test_verify_multicast_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_verify_multicast_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_mcast_nomem
tests_unit_test_mcast_nomem_SOURCES = tests/unit/test_mcast_nomem.c tests/unit/mcast_world.h
tests_unit_test_mcast_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_mcast_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_mcast_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray

UNIT_TESTS += tests/unit/test_mcast_writes
tests_unit_test_mcast_writes_SOURCES = tests/unit/test_mcast_writes.c tests/unit/mcast_world.h
tests_unit_test_mcast_writes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_mcast_writes_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_golden_target
tests_unit_test_golden_target_SOURCES = tests/unit/test_golden_target.c tests/unit/qos_world.h tests/support/golden.c \
	tests/support/golden.h
tests_unit_test_golden_target_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_golden_target_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_golden_mcast
tests_unit_test_golden_mcast_SOURCES = tests/unit/test_golden_mcast.c tests/unit/mcast_world.h tests/support/golden.c \
	tests/support/golden.h
tests_unit_test_golden_mcast_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_golden_mcast_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_mcast_groups
tests_unit_test_mcast_groups_SOURCES = tests/unit/test_mcast_groups.c
tests_unit_test_mcast_groups_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_mcast_groups_LDADD = $(LIB_TEST_LIBS)

# ---- plan: scrub
UNIT_TESTS += tests/unit/test_scrub
tests_unit_test_scrub_SOURCES = tests/unit/test_scrub.c
tests_unit_test_scrub_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_scrub_LDADD = $(LIB_TEST_LIBS)

# ---- inventory: what devices and modules say about themselves
UNIT_TESTS += tests/unit/test_inventory
tests_unit_test_inventory_SOURCES = tests/unit/test_inventory.c
tests_unit_test_inventory_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_inventory_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_inventory
tests_fuzz_fuzz_inventory_SOURCES = tests/fuzz/fuzz_inventory.c $(FUZZ_MAIN)
tests_fuzz_fuzz_inventory_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_inventory_LDFLAGS = $(FUZZ_LINK)

UNIT_TESTS += tests/unit/test_hardware
tests_unit_test_hardware_SOURCES = tests/unit/test_hardware.c
tests_unit_test_hardware_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_hardware_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/sim/test_inventory_reader
tests_sim_test_inventory_reader_SOURCES = tests/sim/test_inventory_reader.c tests/sim/lab.c tests/sim/lab.h tests/unit/state_dir.h
tests_sim_test_inventory_reader_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_inventory_reader_LDADD = $(DAEMON_TEST_LIBS)

# ---- target: pins, copies, attributes about tables
UNIT_TESTS += tests/unit/test_hosts
tests_unit_test_hosts_SOURCES = tests/unit/test_hosts.c
tests_unit_test_hosts_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_hosts_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_pins
tests_unit_test_pins_SOURCES = tests/unit/test_pins.c
tests_unit_test_pins_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_pins_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_target
tests_unit_test_target_SOURCES = tests/unit/test_target.c
tests_unit_test_target_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_target_LDADD = $(LIB_TEST_LIBS)

# ---- repair
UNIT_TESTS += tests/unit/test_repair_idmap
tests_unit_test_repair_idmap_SOURCES = tests/unit/test_repair_idmap.c
tests_unit_test_repair_idmap_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_idmap_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_repair
tests_unit_test_repair_SOURCES = tests/unit/test_repair.c tests/unit/repair_world.h
tests_unit_test_repair_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_lft_changes
tests_unit_test_lft_changes_SOURCES = tests/unit/test_lft_changes.c
tests_unit_test_lft_changes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_lft_changes_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_repair_session
tests_unit_test_repair_session_SOURCES = tests/unit/test_repair_session.c
tests_unit_test_repair_session_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_session_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_repair_lanes
tests_unit_test_repair_lanes_SOURCES = tests/unit/test_repair_lanes.c tests/unit/repair_world.h
tests_unit_test_repair_lanes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_lanes_LDADD = $(LIB_TEST_LIBS)
UNIT_TESTS += tests/unit/test_repair_single
tests_unit_test_repair_single_SOURCES = tests/unit/test_repair_single.c tests/unit/repair_world.h
tests_unit_test_repair_single_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_single_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_repair_nomem
tests_unit_test_repair_nomem_SOURCES = tests/unit/test_repair_nomem.c
tests_unit_test_repair_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_repair_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_repair_contingency
tests_unit_test_repair_contingency_SOURCES = tests/unit/test_repair_contingency.c \
	tests/unit/contingency_world.h
tests_unit_test_repair_contingency_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_contingency_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_repair_kept_plans
tests_unit_test_repair_kept_plans_SOURCES = tests/unit/test_repair_kept_plans.c \
	tests/unit/contingency_world.h
tests_unit_test_repair_kept_plans_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_kept_plans_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_repair_stored_plans
tests_unit_test_repair_stored_plans_SOURCES = tests/unit/test_repair_stored_plans.c \
	tests/unit/contingency_world.h
tests_unit_test_repair_stored_plans_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_repair_stored_plans_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_verify
tests_unit_test_verify_SOURCES = tests/unit/test_verify.c
tests_unit_test_verify_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_verify_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_verify_vls
tests_unit_test_verify_vls_SOURCES = tests/unit/test_verify_vls.c
tests_unit_test_verify_vls_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_verify_vls_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_plan_vls
tests_unit_test_plan_vls_SOURCES = tests/unit/test_plan_vls.c
tests_unit_test_plan_vls_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plan_vls_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_choice
tests_unit_test_choice_SOURCES = tests/unit/test_choice.c
tests_unit_test_choice_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_choice_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_verify_nomem
tests_unit_test_verify_nomem_SOURCES = tests/unit/test_verify_nomem.c
tests_unit_test_verify_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_verify_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_verify_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_vls
tests_unit_test_vls_SOURCES = tests/unit/test_vls.c
tests_unit_test_vls_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_vls_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_plan_ports
tests_unit_test_plan_ports_SOURCES = tests/unit/test_plan_ports.c
tests_unit_test_plan_ports_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plan_ports_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_plan
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c
tests_unit_test_plan_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plan_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_plan_lft_early
tests_unit_test_plan_lft_early_SOURCES = tests/unit/test_plan_lft_early.c
tests_unit_test_plan_lft_early_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plan_lft_early_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_plan_lft_order
tests_unit_test_plan_lft_order_SOURCES = tests/unit/test_plan_lft_order.c
tests_unit_test_plan_lft_order_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plan_lft_order_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_transition
tests_unit_test_transition_SOURCES = tests/unit/test_transition.c tests/unit/route_families.h
tests_unit_test_transition_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_transition_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_transition_by_repair
tests_unit_test_transition_by_repair_SOURCES = tests/unit/test_transition_by_repair.c
tests_unit_test_transition_by_repair_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_transition_by_repair_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_transition_nomem
tests_unit_test_transition_nomem_SOURCES = tests/unit/test_transition_nomem.c
tests_unit_test_transition_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_transition_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_transition_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_sssp
tests_unit_test_sssp_SOURCES = tests/unit/test_sssp.c
tests_unit_test_sssp_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sssp_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_route_nomem
tests_unit_test_route_nomem_SOURCES = tests/unit/test_route_nomem.c
tests_unit_test_route_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_route_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=reallocarray,--wrap=aligned_alloc

# `make tests/bench/bench_route`, and run it by hand
EXTRA_PROGRAMS += tests/bench/bench_route
tests_bench_bench_route_SOURCES = tests/bench/bench_route.c tests/bench/bench.h
tests_bench_bench_route_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/bench_speed
tests_bench_bench_speed_SOURCES = tests/bench/bench_speed.c tests/bench/bench.h
tests_bench_bench_speed_LDADD = $(FABRICD_LIBS)
EXTRA_PROGRAMS += tests/bench/bench_transition
tests_bench_bench_transition_SOURCES = tests/bench/bench_transition.c tests/bench/bench.h
tests_bench_bench_transition_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/bench_judge
tests_bench_bench_judge_SOURCES = tests/bench/bench_judge.c
tests_bench_bench_judge_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/bench_erosion
tests_bench_bench_erosion_SOURCES = tests/bench/bench_erosion.c tests/bench/bench.h
tests_bench_bench_erosion_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/bench_digest
tests_bench_bench_digest_SOURCES = tests/bench/bench_digest.c tests/bench/bench.h
tests_bench_bench_digest_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/bench_scrub
tests_bench_bench_scrub_SOURCES = tests/bench/bench_scrub.c tests/attack/tamper.h tests/sim/lab.c tests/sim/lab.h
tests_bench_bench_scrub_CFLAGS = $(TEST_CFLAGS)
tests_bench_bench_scrub_LDADD = $(DAEMON_TEST_LIBS)

EXTRA_PROGRAMS += tests/bench/bench_counters
tests_bench_bench_counters_SOURCES = tests/bench/bench_counters.c
tests_bench_bench_counters_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_bench_bench_counters_LDADD = $(DAEMON_TEST_LIBS)

EXTRA_PROGRAMS += tests/bench/bench_plan
tests_bench_bench_plan_SOURCES = tests/bench/bench_plan.c tests/bench/bench.h
tests_bench_bench_plan_LDADD = libfabmgr/libfabmgr.a

# ---- quality
UNIT_TESTS += tests/unit/test_quality
tests_unit_test_quality_SOURCES = tests/unit/test_quality.c
tests_unit_test_quality_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_quality_LDADD = $(LIB_TEST_LIBS)
# `make tests/bench/bench_quality`, and run it by hand
EXTRA_PROGRAMS += tests/bench/bench_quality
tests_bench_bench_quality_SOURCES = tests/bench/bench_quality.c tests/bench/bench.h
tests_bench_bench_quality_LDADD = libfabmgr/libfabmgr.a

# ---- traffic
UNIT_TESTS += tests/unit/test_traffic
tests_unit_test_traffic_SOURCES = tests/unit/test_traffic.c
tests_unit_test_traffic_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_traffic_LDADD = $(LIB_TEST_LIBS)

# `make tests/bench/bench_slow`, and run it by hand
EXTRA_PROGRAMS += tests/bench/bench_slow
tests_bench_bench_slow_SOURCES = tests/bench/bench_slow.c tests/bench/bench.h
tests_bench_bench_slow_LDADD = libfabmgr/libfabmgr.a

# `make tests/bench/bench_traffic`, and run it by hand
EXTRA_PROGRAMS += tests/bench/bench_traffic
tests_bench_bench_traffic_SOURCES = tests/bench/bench_traffic.c \
	tests/bench/congestion/scene.c tests/bench/congestion/scene.h tests/bench/congestion/settings.c
tests_bench_bench_traffic_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/congestion/congestion
tests_bench_congestion_congestion_SOURCES = tests/bench/congestion/congestion.c \
	tests/bench/congestion/plans.c tests/bench/congestion/scene.c tests/bench/congestion/scene.h \
	tests/bench/congestion/settings.c
tests_bench_congestion_congestion_LDADD = libfabmgr/libfabmgr.a

# ---- whatif
UNIT_TESTS += tests/unit/test_whatif
tests_unit_test_whatif_SOURCES = tests/unit/test_whatif.c
tests_unit_test_whatif_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_whatif_LDADD = $(LIB_TEST_LIBS)

# ---- choose
UNIT_TESTS += tests/unit/test_choose
tests_unit_test_choose_SOURCES = tests/unit/test_choose.c
tests_unit_test_choose_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_choose_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_choose_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# ---- polish
UNIT_TESTS += tests/unit/test_polish
tests_unit_test_polish_SOURCES = tests/unit/test_polish.c
tests_unit_test_polish_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_polish_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_local_search
tests_unit_test_local_search_SOURCES = tests/unit/test_local_search.c
tests_unit_test_local_search_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_local_search_LDADD = $(LIB_TEST_LIBS)

# ---- export
UNIT_TESTS += tests/unit/test_svg
tests_unit_test_svg_SOURCES = tests/unit/test_svg.c
tests_unit_test_svg_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_svg_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_export
tests_unit_test_export_SOURCES = tests/unit/test_export.c
tests_unit_test_export_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_export_LDADD = $(LIB_TEST_LIBS)

# ---- quality, whatif, export: without memory
UNIT_TESTS += tests/unit/test_studies_nomem
tests_unit_test_studies_nomem_SOURCES = tests/unit/test_studies_nomem.c
tests_unit_test_studies_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_studies_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_studies_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# ---- the RPC, its client and fabricctl
include tests/rpc/local.mk

# ---- fabsim serve: hostile clients, hostile lines
FUZZ_TARGETS += tests/fuzz/fuzz_umad2sim
tests_fuzz_fuzz_umad2sim_SOURCES = tests/fuzz/fuzz_umad2sim.c $(FUZZ_MAIN)
tests_fuzz_fuzz_umad2sim_LDADD = cli/libfabsim.a libfabmgr/libfabmgr.a
tests_fuzz_fuzz_umad2sim_LDFLAGS = $(FUZZ_LINK)

# ---- fabsim serve: the protocol, the console
UNIT_TESTS += tests/unit/test_hub
tests_unit_test_hub_SOURCES = tests/unit/test_hub.c tests/unit/hub_lab.h
tests_unit_test_hub_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_hub_LDADD = cli/libfabsim.a $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_hub_console
tests_unit_test_hub_console_SOURCES = tests/unit/test_hub_console.c tests/unit/hub_lab.h
tests_unit_test_hub_console_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_hub_console_LDADD = cli/libfabsim.a $(LIB_TEST_LIBS)

# ---- fabsim serve: its cost (bench_serve.py runs this)
EXTRA_PROGRAMS += tests/bench/flood
tests_bench_flood_SOURCES = tests/bench/flood.c tests/bench/raw_client.h
tests_bench_flood_LDADD = libfabmgr/libfabmgr.a

# ---- fuzz: MADs of rogue hosts and managers, key files
FUZZ_TARGETS += tests/fuzz/fuzz_smstate
tests_fuzz_fuzz_smstate_SOURCES = tests/fuzz/fuzz_smstate.c $(FUZZ_MAIN)
tests_fuzz_fuzz_smstate_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_smstate_LDFLAGS = $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_backup
tests_fuzz_fuzz_backup_SOURCES = tests/fuzz/fuzz_backup.c $(FUZZ_MAIN)
tests_fuzz_fuzz_backup_LDADD = $(FABRICD_LIBS)
tests_fuzz_fuzz_backup_LDFLAGS = $(FUZZ_LINK)
FUZZ_TARGETS += tests/fuzz/fuzz_key
tests_fuzz_fuzz_key_SOURCES = tests/fuzz/fuzz_key.c $(FUZZ_MAIN)
tests_fuzz_fuzz_key_LDADD = $(FABRICD_LIBS)
tests_fuzz_fuzz_key_LDFLAGS = $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_rogue
tests_fuzz_fuzz_rogue_SOURCES = tests/fuzz/fuzz_rogue.c tests/sim/lab.c tests/sim/lab.h $(FUZZ_MAIN)
tests_fuzz_fuzz_rogue_CFLAGS = $(TEST_CFLAGS)
tests_fuzz_fuzz_rogue_LDADD = $(DAEMON_TEST_LIBS)
tests_fuzz_fuzz_rogue_LDFLAGS = $(FUZZ_LINK)

# ---- (a fuzz target looks like this)
# FUZZ_TARGETS += tests/fuzz/fuzz_thing
# tests_fuzz_fuzz_thing_SOURCES = tests/fuzz/fuzz_thing.c $(FUZZ_MAIN)
# tests_fuzz_fuzz_thing_LDADD = libfabmgr/libfabmgr.a
# tests_fuzz_fuzz_thing_LDFLAGS = $(FUZZ_LINK)

FUZZ_LINK = $(AM_LDFLAGS) $(FAB_FUZZ_LDFLAGS)
EXTRA_DIST += tests/fuzz/replay_main.c
if FUZZERS
# libFuzzer brings the main function. `make fuzz FUZZ_SECONDS=60` runs every target.
FUZZ_MAIN =
FUZZ_SECONDS = 10
check_PROGRAMS += $(FUZZ_TARGETS)
fuzz: $(BUILT_SOURCES) $(FUZZ_TARGETS)
	FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_SEEDS='$(abs_top_srcdir)/tests/fuzz/seeds' \
	$(SHELL) $(top_srcdir)/tests/fuzz/run.sh $(FUZZ_TARGETS)
.PHONY: fuzz
else
FUZZ_MAIN = tests/fuzz/replay_main.c
if TESTS_ENABLED
check_PROGRAMS += $(FUZZ_TARGETS)
TESTS += $(FUZZ_TARGETS)
endif
endif
# ---- packages (scripts/check packages)
EXTRA_DIST += tests/packaging/test_packages.sh tests/packaging/test_library.sh tests/packaging/client.c
EXTRA_PROGRAMS += tests/packaging/old_database
tests_packaging_old_database_SOURCES = tests/packaging/old_database.c
tests_packaging_old_database_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_packaging_old_database_LDADD = $(FABRICD_LIBS)

EXTRA_DIST += tests/bench/replication.sh tests/fuzz/run.sh tests/bench/umadcount.c tests/bench/smp_ping.c tests/bench/against_opensm.py \
	tests/bench/bench_serve.py tests/bench/background.py tests/bench/fault_records.py \
	tests/bench/damage.py tests/bench/erosion.py tests/bench/takeover.py tests/bench/standbys.sh tests/bench/standbys.py tests/bench/families.py tests/bench/lanes.py tests/bench/orders.py tests/bench/faults.py tests/bench/rpc_floods.py tests/bench/rpc_under_faults.py tests/bench/counters_share.py tests/bench/lists.py tests/bench/simulated.py tests/bench/congestion/congestion.py

if TESTS_ENABLED
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
# Tests that read files of the tree. make distcheck TESTS='$(TARBALL_TESTS)' checks that the tarball has these
# files, without minutes of random fabrics.
TARBALL_TESTS = tests/layers.sh tests/help.sh tests/events.sh tests/unit/test_config tests/sim/run_scenarios $(FUZZ_TARGETS)
# Tests with threads: make check TESTS='$(THREAD_TESTS)' in a build with --enable-thread-sanitizer. The
# scenarios are not among them, because their worker runs in virtual time, on the thread of the loop.
THREAD_TESTS = tests/unit/test_pages tests/unit/test_pool tests/unit/test_loop tests/unit/test_store tests/unit/test_store_hosts \
	tests/unit/test_transport_sim tests/unit/test_handshake tests/unit/test_counters_db tests/unit/test_replica_marks tests/sim/test_cc tests/sim/test_sm tests/sim/test_sm_faults \
	tests/sim/test_sm_others tests/sim/test_sa_agent tests/sim/test_replay \
	tests/rpc/test_floods.sh tests/rpc/test_grpcio.sh tests/rpc/test_fabricctl.sh tests/rpc/test_studies.sh tests/rpc/test_tls.sh
