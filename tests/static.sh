#!/bin/bash
# static.sh BUILD [JOBS]: runs clang-tidy with the checks of .clang-tidy on every source of libfabmgr, fabricd and
# cli.
#
# BUILD is a build folder (for config.h and the generated protobuf headers). Prints each finding. The exit code is 0
# if there is none. A wrong finding is silenced in its line by NOLINT, with the name of the check and the reason.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
jobs=${2:-$(nproc)}
cd "$top" || exit 1
flags="-std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -I$top -I$build -I$build/proto"
flags="$flags -DSBINDIR=\"/usr/sbin\" -DSYSCONFDIR=\"/etc\"" # cli/local.mk
flags="$flags $(pkg-config --cflags libevent libsqlite3 sqlite3 libnghttp2 libprotobuf-c openssl libcyaml libsystemd 2>/dev/null)"
# One file at a time: some take ten seconds, most less than one.
find libfabmgr fabricd cli -name '*.c' -print0 |
    xargs -0 -n 1 -P "$jobs" sh -c 'clang-tidy --quiet "$2" -- $1 2>/dev/null' static "$flags"
