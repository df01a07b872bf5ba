#!/bin/bash
# test_demo.sh: scripts/demo does what the README says, and leaves no files or processes.
. "$(dirname "$0")/lib.sh"

mkdir tmp
export BUILD_DIR=$build TMPDIR=$scratch/tmp
check 'the demo succeeds' "$top/scripts/demo"
cp check.out demo.out
like 'it shows the reroute and its time' "$(cat demo.out)" 'reroute took [0-9.]+ ms'
same 'it leaves no files' '' "$(ls tmp)"
same 'it leaves no process' '' "$(pgrep -f "$scratch/tmp" || true)"
