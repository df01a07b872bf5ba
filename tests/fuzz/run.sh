#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh TARGET...: runs each libFuzzer program for FUZZ_SECONDS, starting from its seeds. Runs as many programs
# at a time as there are processors. Prints TAP. Inputs that fail are stored in ./fuzz-findings/.
set -u
seconds=${FUZZ_SECONDS:-10}
findings=$PWD/fuzz-findings

# fuzz TARGET REPORT: runs a program. If it fails, its log stays in REPORT.log.
fuzz() {
    name=$(basename "$1")
    corpus=$(mktemp -d)
    if "./$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$findings/$name-" \
        "$corpus" "$FUZZ_SEEDS/$name" >"$2.log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: *//p' "$2.log" >"$2"
    fi
    rm -rf "$corpus"
}
if [ "${1:-}" = --one ]; then
    fuzz "$2" "$FUZZ_REPORTS/$(basename "$2")"
    exit
fi

mkdir -p "$findings"
FUZZ_REPORTS=$(mktemp -d)
export FUZZ_REPORTS
echo "1..$#"
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh "$0" --one
n=0
failed=0
for target in "$@"; do
    n=$((n + 1))
    name=$(basename "$target")
    if [ -f "$FUZZ_REPORTS/$name" ]; then
        echo "ok $n - $name: $(cat "$FUZZ_REPORTS/$name") inputs"
    else
        failed=$((failed + 1))
        echo "not ok $n - $name"
        sed 's/^/# /' "$FUZZ_REPORTS/$name.log" | tail -60
    fi
done
rm -rf "$FUZZ_REPORTS"
rmdir "$findings" 2>/dev/null
[ "$failed" -eq 0 ]
