#!/bin/sh
# Tests the RPC server with the gRPC library for JavaScript. npm installs the library into the build folder, in the
# versions of tests/rpc/grpcjs/package-lock.json. Prints TAP.
folder=$(cd "$(dirname "$0")" && pwd)
build=${abs_top_builddir:-$PWD}
modules=$build/tests/rpc/node
skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip "no node and npm (Debian: nodejs, npm)"
if ! cmp -s "$folder/grpcjs/package-lock.json" "$modules/installed.json"; then
    rm -rf "$modules/node_modules" "$modules/installed.json"
    mkdir -p "$modules"
    cp "$folder/grpcjs/package.json" "$folder/grpcjs/package-lock.json" "$modules/"
    chmod u+w "$modules/package.json" "$modules/package-lock.json"
    # --ignore-scripts: the packages are plain JavaScript, and none of their scripts has to run
    (cd "$modules" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 \
        --fetch-timeout=20000) >"$modules/npm.log" 2>&1 </dev/null ||
        skip "npm cannot install @grpc/grpc-js, perhaps because the npm registry cannot be reached; see $modules/npm.log"
    cp "$folder/grpcjs/package-lock.json" "$modules/installed.json"
fi
exec sh "$folder/python.sh" "$folder/test_grpcjs.py"
