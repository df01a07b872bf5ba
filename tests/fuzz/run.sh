#!/bin/sh
# run.sh TARGET...: fuzz each libFuzzer program for FUZZ_SECONDS, starting from its seeds. TAP.
# What it finds is left in ./fuzz-findings/.
set -u
seconds=${FUZZ_SECONDS:-10}
findings=$PWD/fuzz-findings
mkdir -p "$findings"
echo "1..$#"
n=0
failed=0
for target in "$@"; do
    n=$((n + 1))
    name=$(basename "$target")
    corpus=$(mktemp -d)
    if "./$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$findings/$name-" \
        "$corpus" "$FUZZ_SEEDS/$name" >"$corpus.log" 2>&1; then
        echo "ok $n - $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$corpus.log") inputs"
    else
        failed=$((failed + 1))
        echo "not ok $n - $name"
        sed 's/^/# /' "$corpus.log" | tail -60
    fi
    rm -rf "$corpus" "$corpus.log"
done
rmdir "$findings" 2>/dev/null
[ "$failed" -eq 0 ]
