#!/bin/bash
# test_service.sh: runs the files of `make install` as systemd would run them, in a chroot that has only these
# files. sysusers.d must make the user of the service. ExecStart of the unit must run as this user without
# capabilities, and manage a simulated fabric and a fabric of ibsim. It may make no system call that the unit
# denies, and must show its keys to no other user.
. "$(dirname "$0")/lib.sh"
need systemd-analyze systemd-sysusers setpriv ibsim
[ "$(id -u)" = 0 ] || {
    echo "1..0 # SKIP only root can use chroot"
    tap_n=-1
    exit 0
}
umask 022

# ---- installation

root=$scratch/root
chmod 755 "$scratch"
mkdir -p "$root"/{etc,run,tmp,var/lib,usr/lib,usr/lib64}
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
chmod 1777 "$root/tmp"
check 'make install' make -s -C "$build" install DESTDIR="$root"
unit=$(find "$root" -name fabricd.service)
rules=$(find "$root" -name 60-fabricd.rules)
for device in umad issm; do
    same "udev gives $device devices to the user of the service alone" \
        "SUBSYSTEM==\"infiniband_mad\", KERNEL==\"$device*\", OWNER=\"fabricd\", GROUP=\"root\", MODE=\"0600\"" \
        "$(grep "$device" "$rules")"
done

# bring PROGRAM...: copies programs of this machine and their libraries into the chroot.
bring() {
    local file
    for file in "$@" $(ldd "$@" | grep -o '/[^ ]*lib[^ ]*' | sort -u); do
        [ ! -e "$file" ] || [ -e "$root$file" ] || install -D "$file" "$root$file"
    done
}
exec_start=$(sed -n 's/^ExecStart=//p' "$unit")
program=${exec_start%% *}
settings=${exec_start##* }
folder=$root$(dirname "$settings")
bring /usr/bin/setpriv /usr/bin/env "$umad2sim"
bring "$(ls /usr/lib/*/libgcc_s.so.1 /lib/*/libgcc_s.so.1 2>/dev/null | head -1)" # for pthread_cancel
# programs linked by libtool have found their libraries in the folder where they were built
bring $(ldd "$root$program" | grep -o '/[^ ]*\.so[^ ]*' | sort -u)
touch "$root/etc/passwd" "$root/etc/group"
check 'sysusers.d makes the user' systemd-sysusers --root="$root" "$(find "$root" -path '*sysusers.d/*')"
uid=$(awk -F: '$1 == "fabricd" { print $3 }' "$root/etc/passwd")
gid=$(awk -F: '$1 == "fabricd" { print $3 }' "$root/etc/group")
socket_gid=$(awk -F: '$1 == "fabric" { print $3 }' "$root/etc/group")

# ---- the unit

for name in fabricd fabricd@; do
    # systemd-analyze looks for the program on this machine
    sed "s|^ExecStart=[^ ]*|ExecStart=/bin/true|" "$(find "$root" -name "$name.service")" >"$name.service"
    check "$name: systemd accepts the unit" systemd-analyze verify --man=no "$scratch/${name/@/@a}.service"
    check "$name: systemd-analyze security rates it 1.5 or better" \
        systemd-analyze security --offline=true --threshold=15 "$scratch/$name.service"
    echo "# $(systemd-analyze security --offline=true "$scratch/$name.service" | grep -o 'Overall.*[0-9.]')"
    # what this figure does not count
    missing=
    for line in 'User=fabricd' 'CapabilityBoundingSet=' 'AmbientCapabilities=' 'LimitCORE=0' 'LimitNOFILE=65536' \
        'MemoryMax=75%' 'StartLimitIntervalSec=0' 'IPAddressDeny=any' 'IPAddressAllow=localhost' \
        'InaccessiblePaths=-/run/dbus' 'DeviceAllow=char-infiniband_mad rw' 'UMask=0077'; do
        grep -qxF -- "$line" "$name.service" || missing="$missing $line"
    done
    same "$name: the unit limits the service" '' "$missing"
done
check 'no program is linked to D-Bus' sh -c "! ldd $root$program | grep -i dbus"

# ---- the service

state=$root/var/lib/fabricd
run=$root/run/fabricd
install -d -m 700 -o "$uid" -g "$gid" "$state"
install -d -m 755 -o "$uid" -g "$gid" "$run"

# service LOG [VARIABLE=VALUE...] -- OPTION...: runs ExecStart with more options, as systemd would.
service() {
    local log=$1 variables=()
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    start "$log" ${trace[@]+"${trace[@]}"} chroot "$root" /usr/bin/setpriv --reuid="$uid" --regid="$gid" --groups="$socket_gid" \
        --inh-caps=-all --bounding-set=-all --no-new-privs /usr/bin/env --chdir=/var/lib/fabricd \
        STATE_DIRECTORY=/var/lib/fabricd RUNTIME_DIRECTORY=/run/fabricd "${variables[@]}" $exec_start "$@"
    await 20 ask status
}
# rights PID: prints the user, groups and capabilities of a process.
rights() {
    awk '/^(Uid|Gid|Groups|Cap...|NoNewPrivs):/ { sub(":", ""); $1 = $1; print }' "/proc/$1/status" | paste -sd,
}
no_rights="Uid $uid $uid $uid $uid,Gid $gid $gid $gid $gid,Groups $socket_gid"
for set in Inh Prm Eff Bnd Amb; do
    no_rights="$no_rights,Cap$set 0000000000000000"
done
no_rights="$no_rights,NoNewPrivs 1"
ask() {
    timeout 60 "$fabricctl" -s "unix:$run/fabricd.sock" "$@"
}
routed() {
    ask route verify | grep -q 'Pairs: *462, of which 0 unreachable'
}

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >"$root/tmp/fabric.net"
secret=5ec2e7a95ec2e7a9
echo "0x$secret" >"$folder/sm_key"
echo "0x${secret}" | tr a-f A-F >"$folder/m_key"
chown "$uid" "$folder"/*_key
chmod 600 "$folder"/*_key
cat >"$root$settings" <<EOF
subnet:
  sm_key: file:$(dirname "$settings")/sm_key
  m_key: file:$(dirname "$settings")/m_key
EOF

service sim.log -- --sim /tmp/fabric.net --record /var/lib/fabricd/recording
manager=$started
check 'the service manages the embedded fabric' await 20 routed
same 'the service runs as its user, without capabilities' "$no_rights" "$(rights "$manager")"
same 'the user of the service owns the socket, and the group fabric can use it' "$uid $socket_gid 660" \
    "$(stat -c '%u %g %a' "$run/fabricd.sock")"
same 'the user of the service alone can read the state' "" "$(find "$state" -type f -perm /077)"
check 'a link is disabled' ask port disable leaf-001/5
stop "$manager"
same 'the service ends on request' 0 $?
cp sim.log "$root/tmp/" && chmod 644 "$root/tmp/sim.log"

# Another user finds the key nowhere, neither as text nor as bytes in network order.
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
pattern="$secret|$(printf '%s' "$secret" | sed 's/../\\x&/g')"
LC_ALL=C grep -rqaiP "$pattern" "$state" "$folder" &&
    ok 'the key is in the files of the service' || not_ok 'the key is in the files of the service'
found=$(LC_ALL=C "${nobody[@]}" grep -rlaiP "$pattern" "$root" 2>/dev/null)
same 'others find it in no file' "" "$found"
check 'the log names no key' sh -c "! grep -i $secret sim.log"
chmod 644 "$folder/sm_key"
timeout 20 chroot "$root" /usr/bin/setpriv --reuid="$uid" --regid="$gid" --clear-groups $exec_start --check-config \
    >refused.txt 2>&1
like 'a key that others can read is refused' "$(cat refused.txt)" 'sm_key: .*chmod 600'
chmod 600 "$folder/sm_key"

# ---- the unit denies none of the system calls

if command -v strace >/dev/null; then
    trace=(strace -f -o "$scratch/trace")
    service traced.log -- --sim /tmp/fabric.net
    check 'the service is traced' await 20 routed
    for call in 'audit verify' 'route quality' 'diagnostics' 'sweep' 'port enable leaf-001/5'; do
        check "it answers: $call" ask $call
    done
    manager=$(cat "/proc/$started/task/$started/children")
    kill -HUP $manager
    await 10 grep -q 'reloaded' traced.log
    kill $manager
    wait "$started"
    check 'and makes no call that the unit denies' "$python" "$here/denied_calls.py" "$unit" "$program" <trace
    check 'nor one to D-Bus' sh -c "! grep 'connect.*dbus' trace"
    trace=()
fi

# ---- the same on ibsim

cp "$root/tmp/fabric.net" fabric.net
check 'ibsim starts' sim_start fabric.net
service ibsim.log SIM_HOST=host-0001 LD_PRELOAD="$umad2sim" IBSIM_SOCKNAME="$IBSIM_SOCKNAME" -- --umad
check 'the service manages a fabric of ibsim' await 30 routed
same 'as the same user, without capabilities' "$no_rights" "$(rights "$started")"
check 'a link is disabled there' ask port disable leaf-001/5
stop "$started"
same 'the service ends on request on ibsim' 0 $?
sim_stop
