# Subnet administration: its wire formats, its answers, RMPP, and the agent.
UNIT_TESTS += tests/unit/test_wire_sa
tests_unit_test_wire_sa_SOURCES = tests/unit/test_wire_sa.c
tests_unit_test_wire_sa_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_wire_sa_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_reversible
tests_unit_test_reversible_SOURCES = tests/unit/test_reversible.c tests/unit/route_families.h \
	tests/unit/sa_place.h
tests_unit_test_reversible_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_reversible_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sa_path
tests_unit_test_sa_path_SOURCES = tests/unit/test_sa_path.c tests/unit/sa_place.h
tests_unit_test_sa_path_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sa_path_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sa_choice
tests_unit_test_sa_choice_SOURCES = tests/unit/test_sa_choice.c tests/unit/sa_place.h
tests_unit_test_sa_choice_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sa_choice_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sa_records
tests_unit_test_sa_records_SOURCES = tests/unit/test_sa_records.c tests/unit/sa_place.h
tests_unit_test_sa_records_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sa_records_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_golden_sa
tests_unit_test_golden_sa_SOURCES = tests/unit/test_golden_sa.c tests/unit/sa_place.h tests/support/golden.c \
	tests/support/golden.h
tests_unit_test_golden_sa_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_golden_sa_LDADD = $(LIB_TEST_LIBS)

# How many path answers in a second (not a test).
EXTRA_PROGRAMS += tests/bench/bench_sa
tests_bench_bench_sa_SOURCES = tests/bench/bench_sa.c tests/bench/bench.h
tests_bench_bench_sa_LDADD = libfabmgr/libfabmgr.a

UNIT_TESTS += tests/unit/test_rmpp
tests_unit_test_rmpp_SOURCES = tests/unit/test_rmpp.c
tests_unit_test_rmpp_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_rmpp_LDADD = $(LIB_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_sa
tests_fuzz_fuzz_sa_SOURCES = tests/fuzz/fuzz_sa.c $(FUZZ_MAIN)
tests_fuzz_fuzz_sa_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_sa_LDFLAGS = $(FUZZ_LINK)

UNIT_TESTS += tests/sim/test_sa_agent
tests_sim_test_sa_agent_SOURCES = tests/sim/test_sa_agent.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sa_agent_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sa_agent_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/sim/test_sa_alias
tests_sim_test_sa_alias_SOURCES = tests/sim/test_sa_alias.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sa_alias_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sa_alias_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/sim/test_sa_walk
tests_sim_test_sa_walk_SOURCES = tests/sim/test_sa_walk.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sa_walk_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sa_walk_LDADD = $(DAEMON_TEST_LIBS)

# Path answers over a wire, compared with OpenSM (not a test).
EXTRA_PROGRAMS += tests/bench/sa_flood
tests_bench_sa_flood_SOURCES = tests/bench/sa_flood.c tests/bench/raw_client.h
tests_bench_sa_flood_LDADD = libfabmgr/libfabmgr.a
EXTRA_PROGRAMS += tests/bench/rogue_flood
tests_bench_rogue_flood_SOURCES = tests/bench/rogue_flood.c tests/bench/raw_client.h
tests_bench_rogue_flood_LDADD = libfabmgr/libfabmgr.a
EXTRA_DIST += tests/bench/sa_against_opensm.sh tests/bench/sa_under_faults.sh tests/bench/rogue_floods.sh

# Registrations of hosts, and reports.
UNIT_TESTS += tests/sim/test_sa_registry
tests_sim_test_sa_registry_SOURCES = tests/sim/test_sa_registry.c tests/unit/same_service.h tests/sim/sa_scene.h tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sa_registry_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_sim_test_sa_registry_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/sim/test_sa_reports
tests_sim_test_sa_reports_SOURCES = tests/sim/test_sa_reports.c tests/unit/same_service.h tests/sim/sa_scene.h tests/sim/lab.c tests/sim/lab.h
tests_sim_test_sa_reports_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sa_reports_LDADD = $(DAEMON_TEST_LIBS)

# A host that registers, for the integration tests.
if TESTS_ENABLED
check_PROGRAMS += tests/support/sa_host
endif
tests_support_sa_host_SOURCES = tests/support/sa_host.c
tests_support_sa_host_CFLAGS = $(AM_CFLAGS) $(UMAD_CFLAGS)
tests_support_sa_host_LDADD = libfabmgr/libfabmgr.a $(UMAD_LIBS)

# A host for tests/integration/test_multicast.sh.
if TESTS_ENABLED
check_PROGRAMS += tests/support/mc_member
endif
tests_support_mc_member_SOURCES = tests/support/mc_member.c
tests_support_mc_member_CFLAGS = $(AM_CFLAGS) $(UMAD_CFLAGS)
tests_support_mc_member_LDADD = libfabmgr/libfabmgr.a $(UMAD_LIBS)
UNIT_TESTS += tests/unit/test_registry
tests_unit_test_registry_SOURCES = tests/unit/test_registry.c
tests_unit_test_registry_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_registry_LDADD = $(LIB_TEST_LIBS)
