# Discovery and the simulated fabric, which test each other.
SUPPORT_DRIVE = tests/support/drive.c tests/support/drive.h

UNIT_TESTS += tests/unit/test_discover
tests_unit_test_discover_SOURCES = tests/unit/test_discover.c tests/unit/discover_bench.h \
	$(SUPPORT_DRIVE)
tests_unit_test_discover_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_discover_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_discover_targeted
tests_unit_test_discover_targeted_SOURCES = tests/unit/test_discover_targeted.c \
	tests/unit/discover_bench.h $(SUPPORT_DRIVE)
tests_unit_test_discover_targeted_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_discover_targeted_LDADD = $(LIB_TEST_LIBS)

SIM_LAB = tests/unit/sim_lab.c tests/unit/sim_lab.h $(SUPPORT_DRIVE)

UNIT_TESTS += tests/unit/test_sim
tests_unit_test_sim_SOURCES = tests/unit/test_sim.c $(SIM_LAB)
tests_unit_test_sim_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sim_links
tests_unit_test_sim_links_SOURCES = tests/unit/test_sim_links.c $(SIM_LAB)
tests_unit_test_sim_links_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_links_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sim_routes
tests_unit_test_sim_routes_SOURCES = tests/unit/test_sim_routes.c $(SIM_LAB)
tests_unit_test_sim_routes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_routes_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sim_traps
tests_unit_test_sim_traps_SOURCES = tests/unit/test_sim_traps.c $(SIM_LAB)
tests_unit_test_sim_traps_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_traps_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sim_services
tests_unit_test_sim_services_SOURCES = tests/unit/test_sim_services.c $(SIM_LAB)
tests_unit_test_sim_services_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_services_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_golden_sim
tests_unit_test_golden_sim_SOURCES = tests/unit/test_golden_sim.c tests/support/golden.c tests/support/golden.h $(SIM_LAB)
tests_unit_test_golden_sim_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_golden_sim_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sim_faults
tests_unit_test_sim_faults_SOURCES = tests/unit/test_sim_faults.c $(SIM_LAB)
tests_unit_test_sim_faults_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_faults_LDADD = $(LIB_TEST_LIBS)

# Run by hand: they print figures and check nothing.
noinst_PROGRAMS += tests/bench/bench_discover
tests_bench_bench_discover_SOURCES = tests/bench/bench_discover.c tests/bench/bench.h $(SUPPORT_DRIVE)
tests_bench_bench_discover_LDADD = libfabmgr/libfabmgr.a

FUZZ_TARGETS += tests/fuzz/fuzz_sim tests/fuzz/fuzz_discover
tests_fuzz_fuzz_sim_SOURCES = tests/fuzz/fuzz_sim.c $(FUZZ_MAIN)
tests_fuzz_fuzz_sim_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_sim_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_discover_SOURCES = tests/fuzz/fuzz_discover.c $(FUZZ_MAIN)
tests_fuzz_fuzz_discover_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_discover_LDFLAGS = $(FUZZ_LINK)

UNIT_TESTS += tests/unit/test_transport_sim
tests_unit_test_transport_sim_SOURCES = tests/unit/test_transport_sim.c
tests_unit_test_transport_sim_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_transport_sim_LDADD = $(DAEMON_TEST_LIBS)
UNIT_TESTS += tests/unit/test_transport_nomem
tests_unit_test_transport_nomem_SOURCES = tests/unit/test_transport_nomem.c
tests_unit_test_transport_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_transport_nomem_LDADD = $(DAEMON_TEST_LIBS)
tests_unit_test_transport_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_discover_silent
tests_unit_test_discover_silent_SOURCES = tests/unit/test_discover_silent.c $(SUPPORT_DRIVE)
tests_unit_test_discover_silent_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_discover_silent_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_discover_nomem
tests_unit_test_discover_nomem_SOURCES = tests/unit/test_discover_nomem.c $(SUPPORT_DRIVE)
tests_unit_test_discover_nomem_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_discover_nomem_LDADD = $(LIB_TEST_LIBS)
tests_unit_test_discover_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

noinst_PROGRAMS += tests/bench/bench_sim
tests_bench_bench_sim_SOURCES = tests/bench/bench_sim.c tests/support/drive.c tests/support/drive.h
tests_bench_bench_sim_LDADD = libfabmgr/libfabmgr.a

# Scenarios: the whole manager in virtual time (tests/sim/README.md).
SCENARIO_SOURCES = tests/sim/scenario.h tests/sim/scenario_expect.c tests/sim/scenario_read.c \
	tests/sim/scenario_power.c tests/sim/scenario_run.c tests/sim/scenario_verbs.c tests/sim/stage.h \
	tests/sim/stage_judge.c tests/sim/stage_lanes.c tests/sim/stage_summary.c tests/sim/verbs.h \
	tests/support/golden.c tests/support/golden.h
UNIT_TESTS += tests/sim/run_scenarios
tests_sim_run_scenarios_SOURCES = tests/sim/run_scenarios.c tests/sim/next_round_seen.c tests/sim/next_round_seen.h \
	tests/unit/next_round_table.h tests/sim/scenario_golden.c $(SCENARIO_SOURCES)
tests_sim_run_scenarios_CFLAGS = $(TEST_CFLAGS)
tests_sim_run_scenarios_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sm_next_round
tests_sim_run_scenarios_LDADD = cli/libfabsim.a $(DAEMON_TEST_LIBS)
# Not the folder, because make dist would also take the objects in the build folder of that name.
EXTRA_DIST += tests/sim/README.md $(wildcard $(srcdir)/tests/sim/*.scenario) \
	$(wildcard $(srcdir)/tests/sim/golden/scenarios/*.golden)

# Golden files: texts of what devices hold (UPDATE_GOLDEN=1 rewrites them).
UNIT_TESTS += tests/sim/test_golden_devices
tests_sim_test_golden_devices_SOURCES = tests/sim/test_golden_devices.c tests/sim/golden_devices.c \
	tests/sim/golden_devices.h tests/sim/golden_scenes.h \
	tests/support/golden.c tests/support/golden.h tests/sim/lab.c tests/sim/lab.h
# A step sets only the fields that it needs.
tests_sim_test_golden_devices_CFLAGS = $(TEST_CFLAGS) -Wno-missing-field-initializers
tests_sim_test_golden_devices_LDADD = $(DAEMON_TEST_LIBS)
tests_sim_test_golden_devices_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fab_sim_sma_answer,--wrap=fab_sim_gsi_answer
EXTRA_DIST += $(wildcard $(srcdir)/tests/sim/golden/*.*)

UNIT_TESTS += tests/unit/test_golden_lib
tests_unit_test_golden_lib_SOURCES = tests/unit/test_golden_lib.c tests/support/golden.c tests/support/golden.h
tests_unit_test_golden_lib_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_golden_lib_LDADD = $(LIB_TEST_LIBS)

# ---- the tables of all engines on many fabrics
UNIT_TESTS += tests/unit/test_golden_routes
tests_unit_test_golden_routes_SOURCES = tests/unit/test_golden_routes.c tests/support/golden.c tests/support/golden.h
tests_unit_test_golden_routes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_golden_routes_LDADD = $(LIB_TEST_LIBS)
EXTRA_DIST += $(wildcard $(srcdir)/tests/unit/golden/*.*)

UNIT_TESTS += tests/sim/test_scenario
tests_sim_test_scenario_SOURCES = tests/sim/test_scenario.c $(SCENARIO_SOURCES)
tests_sim_test_scenario_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_scenario_LDADD = cli/libfabsim.a $(DAEMON_TEST_LIBS)

# ---- recordings
UNIT_TESTS += tests/unit/test_recording
tests_unit_test_recording_SOURCES = tests/unit/test_recording.c
tests_unit_test_recording_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_recording_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_tape
tests_unit_test_tape_SOURCES = tests/unit/test_tape.c
tests_unit_test_tape_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_tape_LDADD = $(DAEMON_TEST_LIBS)
tests_unit_test_tape_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=close

UNIT_TESTS += tests/sim/test_replay
tests_sim_test_replay_SOURCES = tests/sim/test_replay.c
tests_sim_test_replay_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_replay_LDADD = $(DAEMON_TEST_LIBS)

FUZZ_TARGETS += tests/fuzz/fuzz_recording
tests_fuzz_fuzz_recording_SOURCES = tests/fuzz/fuzz_recording.c $(FUZZ_MAIN)
tests_fuzz_fuzz_recording_LDADD = libfabmgr/libfabmgr.a
tests_fuzz_fuzz_recording_LDFLAGS = $(FUZZ_LINK)

UNIT_TESTS += tests/unit/test_losses
tests_unit_test_losses_SOURCES = tests/unit/test_losses.c
tests_unit_test_losses_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_losses_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/sim/test_freeze
tests_sim_test_freeze_SOURCES = tests/sim/test_freeze.c tests/sim/lab.c tests/sim/lab.h
tests_sim_test_freeze_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_freeze_LDADD = $(DAEMON_TEST_LIBS)

UNIT_TESTS += tests/unit/test_standing
tests_unit_test_standing_SOURCES = tests/unit/test_standing.c
tests_unit_test_standing_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_standing_LDADD = $(LIB_TEST_LIBS)
