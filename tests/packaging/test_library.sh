#!/bin/bash
# test_library.sh: the packages libfabmgr0 and libfabmgr-dev. PACKAGES is the folder of the packages. They are
# unpacked into a folder of the test, and a client is compiled against them, in C and C++.
. "$(dirname "$0")/../integration/lib.sh"
need dpkg-deb gcc g++ pkg-config objdump
packages=$(cd "${PACKAGES:-$top/packages}" && pwd)
for name in libfabmgr0 libfabmgr-dev; do
    check "$name is unpacked" dpkg-deb -x "$(ls "$packages/$name"_*.deb)" "$scratch/root" || exit 1
done
root=$scratch/root
library=$(find "$root" -name 'libfabmgr.so.*' -type f)
folder=$(dirname "$library")
public=$root/usr/include/fabmgr

# ---- the library

same 'the library has its soname' libfabmgr.so.0 "$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')"
same 'the links of the packages lead to it' "$(basename "$library") $(basename "$library")" \
    "$(readlink "$folder/libfabmgr.so" "$folder/libfabmgr.so.0" | paste -sd ' ')"
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
same 'every symbol has the version of the interface' '' "$(grep -v '@@LIBFABMGR_0$' <<<"$exported")"
exported=$(sed 's/@.*//' <<<"$exported")
find "$public" -name '*.h' | xargs sed 's|//.*||' | grep -oE '\b(fab_(base|client|grpc)|fabric__v1|google__protobuf)_[a-z0-9_]*' |
    sort -u >declared
same 'every exported symbol is in a public header' '' "$(comm -23 <(echo "$exported") declared)"
for header in client/client.h base/version.h grpc/code.h; do
    grep -v typedef "$public/libfabmgr/$header" | grep -oE '\bfab_[a-z_]+\(' | tr -d '('
done | sort -u >functions
same 'every function of the public headers is exported' '' "$(comm -23 functions <(echo "$exported"))"

# ---- the headers

export PKG_CONFIG_PATH=$folder/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
same 'pkg-config knows the version' "$(dpkg-deb -f "$(ls "$packages"/libfabmgr0_*.deb)" Version | sed 's/-.*//')" \
    "$(pkg-config --modversion libfabmgr)"
flags="-Wall -Wextra -Werror $(pkg-config --cflags libfabmgr)"
# each alone, as the only line of a source file
headers() {
    local header bad=
    for header in $(cd "$public" && find . -name '*.h' | sed 's|^\./||' | sort); do
        echo "#include \"$header\"" | "$@" $flags -fsyntax-only - || bad="$bad $header"
    done
    [ -z "$bad" ] || echo "do not compile:$bad"
    [ -z "$bad" ]
}
check 'each public header compiles alone as C' headers gcc -std=c11 -Wpedantic -x c
check 'each public header compiles alone as C++' headers g++ -std=c++11 -x c++

# ---- a client

libs=$(pkg-config --libs libfabmgr)
check 'a client in C is compiled and linked' gcc $flags -x c "$here/../packaging/client.c" -o client-c $libs
check 'the same client in C++' g++ -std=c++11 $flags -x c++ "$here/../packaging/client.c" -o client-c++ $libs
"$fabsim" generate leaf-spine --leaves 2 --spines 2 --hosts 2 >fabric.net
manager_start '' --sim fabric.net
check 'fabricd runs' await 20 settled 0
version=$("$fabricd" --version | awk '{ print $2 }')
for language in c c++; do
    same "the client in ${language^} calls it" "library $version, fabricd $version" \
        "$(LD_LIBRARY_PATH=$folder timeout 20 "./client-$language" "unix:$scratch/fabricd.sock")"
done
stop "$manager"
like 'without a manager, the client says so' "$(LD_LIBRARY_PATH=$folder timeout 20 ./client-c "unix:$scratch/none.sock")" '^UNAVAILABLE: '
