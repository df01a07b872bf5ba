#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hardening.sh: checks the programs. They must be position independent, must have read-only relocations and no
# executable stack, must check their stack and their buffers, and must be marked for the control-flow protection of
# the processor. Prints TAP. Builds with sanitizers have other checks, and builds without optimization cannot check
# buffers. Both are skipped.
set -u
build=${abs_top_builddir:-$(cd "$(dirname "$0")/.." && pwd)}
export LC_ALL=C
n=0
failed=0

# check WHAT PATTERN TEXT: passes if a line of the text matches the pattern.
check() {
    n=$((n + 1))
    if printf '%s\n' "$3" | grep -q "$2"; then
        echo "ok $n - $1"
    else
        failed=$((failed + 1))
        echo "not ok $n - $1"
    fi
}

if grep -q 'fsanitize\|--coverage' "$build/config.status" || ! grep -q '_FORTIFY_SOURCE=3' "$build/config.status"; then
    echo "1..0 # SKIP sanitizers, coverage or no optimization"
    exit 0
fi
for program in fabricd/fabricd cli/fabricctl cli/fabsim; do
    # libtool puts programs that are linked to shared libraries into .libs.
    file=$build/$program
    [ -f "$(dirname "$file")/.libs/$(basename "$file")" ] && file=$(dirname "$file")/.libs/$(basename "$file")
    header=$(readelf -hW "$file")
    segments=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    symbols=$(readelf -sW --dyn-syms "$file")
    check "$program is position independent" 'Type: *DYN' "$header"
    check "$program has read-only relocations" 'GNU_RELRO' "$segments"
    check "$program binds its symbols at the start" 'NOW' "$dynamic"
    check "$program has no executable stack" 'GNU_STACK.* RW ' "$segments"
    check "$program checks its stack" '__stack_chk_fail' "$symbols"
    check "$program checks its buffers" '__[a-z]*printf_chk\|__mem[a-z]*_chk' "$symbols"
done
# The linker marks a program for IBT and SHSTK only if all its objects are marked, including those of the C
# library. Debian 12 builds the C library without these marks. So this test checks our objects.
if grep -q -e '-fcf-protection' "$build/config.status" && [ "$(uname -m)" = x86_64 ]; then
    objects=$(find "$build/fabricd" "$build/libfabmgr" "$build/cli" -name '*.o' | wc -l)
    marked=$(find "$build/fabricd" "$build/libfabmgr" "$build/cli" -name '*.o' -exec readelf -nW {} + |
        grep -c 'x86 feature: IBT, SHSTK')
    n=$((n + 1))
    if [ "$objects" -gt 0 ] && [ "$objects" = "$marked" ]; then
        echo "ok $n - all $objects objects are marked for indirect branch tracking and shadow stacks"
    else
        failed=$((failed + 1))
        echo "not ok $n - $marked of $objects objects are marked for indirect branch tracking and shadow stacks"
    fi
fi
echo "1..$n"
[ "$failed" = 0 ]
