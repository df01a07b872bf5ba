#!/bin/bash
# test_packages.sh: installs the packages of scripts/package in a fresh Debian 12, with apt, from a repository of
# files. PACKAGES is the folder of the packages. The packages must run from the installed paths, never start the
# service by themselves, upgrade with a database of the schema before, keep the state when they are removed, and
# leave nothing when they are purged.
if [ "$(id -u)" = 0 ] && [ -z "${mounts_are_private:-}" ]; then
    exec unshare --mount env mounts_are_private=yes "$0"
fi
. "$(dirname "$0")/../integration/lib.sh"
need mmdebstrap dpkg-scanpackages setpriv sqlite3 curl
[ "$(id -u)" = 0 ] || {
    echo "1..0 # SKIP only root can use chroot"
    tap_n=-1
    exit 0
}
packages=$(cd "${PACKAGES:-$top/packages}" && pwd)
names='fabricd fabricctl fabsim fabricd-doc fabricd-web libfabmgr0 libfabmgr-dev python3-fabricd'
umask 022
chmod 755 "$scratch"
root=$scratch/root
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
trap 'umount "$root/proc" 2>/dev/null; finish' EXIT

# took NAME: prints the seconds since the last call.
took_since=$SECONDS
took() {
    echo "# $1: $((SECONDS - took_since)) s"
    took_since=$SECONDS
}

# in_root COMMAND...: runs the command in the chroot, as root.
in_root() {
    chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/ \
        DEBIAN_FRONTEND=noninteractive "$@"
}
apt() {
    in_root timeout 300 apt-get -q -y --no-install-recommends "$@"
}

# ---- the tarball

version=$(sed -n 's/^AC_INIT(\[fabricd\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
check 'make dist makes the tarball again, in another folder and with another umask' \
    sh -c "umask 077; make -s -C '$build' dist"
same 'it has the same bytes' "$(sha256sum <"$packages/fabricd-$version.tar.xz")" "$(sha256sum <"$build/fabricd-$version.tar.xz")"
took 'tarball'

# ---- a fresh Debian 12

check 'mmdebstrap makes a minimal Debian 12' mmdebstrap -q --mode=root --variant=apt bookworm "$root" || exit 1
[ -e "$root/etc/resolv.conf" ] || cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc" # systemd-tmpfiles needs it
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/test"
took 'Debian 12'

# Two repositories: `now` has the packages, and `before` the same packages with a lower version, since nothing was
# released before 0.1.0.
repository() {
    (cd "$root/srv/$1" && dpkg-scanpackages -m . >Packages 2>/dev/null)
    echo "deb [trusted=yes] file:/srv/$1 ./" >"$root/etc/apt/sources.list.d/$1.list"
}
older() {
    local tree=$scratch/older
    rm -rf "$tree"
    dpkg-deb -R "$1" "$tree"
    sed -i "s/^Version: .*/Version: 0.0.9-1/; s/\\(([=<>]* \\)$now)/\\10.0.9-1)/g" "$tree/DEBIAN/control"
    dpkg-deb -Zgzip -z1 -b "$tree" "$root/srv/before" >/dev/null
}
mkdir "$root/srv/now" "$root/srv/before"
now=
for name in $names; do
    file=$(ls "$packages/$name"_*.deb) || {
        not_ok 'there are packages' "no $name in $packages: run scripts/package"
        exit 1
    }
    now=$(dpkg-deb -f "$file" Version)
    cp "$file" "$root/srv/now/"
    older "$file"
done
repository now
repository before

# Scripts of packages that look for systemd find a systemctl that only notes how it was called.
mkdir -p "$root/run/systemd/system"
echo 'DPkg::Path "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";' >"$root/etc/apt/apt.conf.d/test"
cat >"$root/usr/local/bin/systemctl" <<'EOF'
#!/bin/sh
echo "systemctl $*" >>/systemctl.calls
case "$*" in *is-enabled* | *is-active*) exit 1 ;; esac
EOF
chmod 755 "$root/usr/local/bin/systemctl"
calls() {
    grep -E 'systemctl .*(start|stop|enable) .*fabricd' "$root/systemctl.calls" 2>/dev/null | sort | paste -sd ,
    : >"$root/systemctl.calls"
}

# ---- what must be true

installed() {
    local name wrong=
    for name in $names; do
        in_root dpkg-query -W -f='${db:Status-Abbrev} ${Version}\n' "$name" | grep -q "^ii *$1\$" || wrong="$wrong $name"
    done
    [ -z "$wrong" ] || echo "$wrong"
}
# remains: everything that belongs to fabricd: by name, by owner, and by the lists of files of the packages.
remains() {
    (cd "$root" && {
        find . -xdev \( -iname '*fabric*' -o -iname '*fabsim*' \)
        # files of users that no longer exist, and of the user of the service
        find . -xdev \( -nouser -o -nogroup -o -uid "${uid:-0}" -a ! -uid 0 \)
    } | grep -vE '^\./(srv|proc|sys|var/cache/apt|var/lib/apt/lists)/' | sort -u | paste -sd ' ')
}

# ---- the service and its clients

# as_service COMMAND...: as the unit runs its program: as the user fabricd, without capabilities.
as_service() {
    "${become_service[@]}" "$@"
}
# operator COMMAND...: as a member of the group fabric that is not an administrator.
operator() {
    chroot "$root" /usr/bin/setpriv --reuid=65534 --regid=65534 --groups="$socket_gid" /usr/bin/env -i \
        PATH=/usr/bin:/bin LC_ALL=C.UTF-8 timeout 60 "$@"
}
ready() {
    operator fabricctl status | grep -q 'master, idle'
}
service_start() {
    # shellcheck disable=SC2046
    start "$1" "${become_service[@]}" $(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/fabricd.service") --sim /tmp/fabric.net
    service=$started
    await 20 ready
}
# folders: mode and owner of the folders of the service.
folders() {
    in_root stat -c '%n %a %U:%G' /etc/fabricd/fabricd.yaml /run/fabricd /var/lib/fabricd | paste -sd ,
}
ids() {
    uid=$(awk -F: '$1 == "fabricd" { print $3 }' "$root/etc/passwd")
    gid=$(awk -F: '$1 == "fabricd" { print $3 }' "$root/etc/group")
    socket_gid=$(awk -F: '$1 == "fabric" { print $3 }' "$root/etc/group")
    become_service=(chroot "$root" /usr/bin/setpriv --reuid="$uid" --regid="$gid" --groups="$socket_gid"
        --inh-caps=-all --bounding-set=-all --no-new-privs
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/tmp)
}
expected='/etc/fabricd/fabricd.yaml 644 root:root,/run/fabricd 755 fabricd:fabricd,/var/lib/fabricd 700 fabricd:fabricd'

# ---- a new installation

check 'apt reads the repository' apt update
# shellcheck disable=SC2086
check 'apt installs the packages' apt install $names
cp check.out install.out
took 'installation'
same "the packages are installed" '' "$(installed "$now")"
like 'the installation says how to start the service' "$(cat install.out)" 'not started:.*systemctl enable --now fabricd'
same 'it neither starts nor enables it' '' "$(calls)"
same 'no link of systemd starts it at boot' '' "$(find "$root/etc/systemd" -name '*fabricd*')"
same 'the files of the service have their owners' "$expected" "$(folders)"
ids
like 'the service has a user of its own' "$(in_root id fabricd)" '^uid=[0-9]+\(fabricd\) gid=[0-9]+\(fabricd\) groups=.*\(fabric\)'
for program in fabricd fabricctl fabsim fabricd-web; do
    like "$program has a version" "$(in_root $program --version)" "^$program ${now%-*}"
done
check 'the installed settings are valid' as_service fabricd --check-config -f /etc/fabricd/fabricd.yaml

in_root fabsim generate leaf-spine --leaves 4 --spines 2 --hosts 4 >"$root/tmp/fabric.net"
service_start first.log
check 'the installed service brings the embedded fabric up' await 20 ready
like 'a member of the group fabric sees the state' "$(operator fabricctl status)" 'deadlock-free, all [0-9]+ pairs'
same 'so does a program in Python' 16 \
    "$(operator python3 -c 'import fabricd; print(len(fabricd.Fabric().hosts()))' 2>&1)"
like 'and an example of python3-fabricd' "$(operator python3 /usr/share/doc/python3-fabricd/examples/inventory_csv.py \
    write --cables /tmp/cables.csv 2>&1; cat "$root/tmp/cables.csv")" 'host-0001,dcim.interface,1,leaf-001'
# the gateway, as its unit runs it
web_id=$(awk -F: '$1 == "fabricd-web" { print $3 ":" $4 }' "$root/etc/passwd")
start web.log chroot "$root" /usr/bin/setpriv --reuid="${web_id%:*}" --regid="${web_id#*:}" --groups="$socket_gid" \
    --inh-caps=-all --bounding-set=-all --no-new-privs /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    /usr/sbin/fabricd-web --listen 127.0.0.1:0
gateway=$started
check 'the installed gateway starts' await 20 grep -q serving web.log
web_url=$(sed -n 's/.*serving //p' web.log)
like 'it is a viewer by its own user' "$(curl -s "${web_url}api/v1/WhoAmI")" '"caller":"fabricd-web .*"role":"ROLE_VIEWER"'
like 'it has the page' "$(curl -s "$web_url")" '<title>Fabric</title>'
like 'and a map' "$(curl -s "${web_url}map/view")" '"label":"spine-002"'
stop "$gateway"
stop "$service"
same 'the service ends on request' 0 $?
check 'the demonstration of fabricd-doc runs from the installed paths' as_service /usr/share/doc/fabricd/examples/demo
like 'it shows the reroute and its time' "$(cat check.out)" 'reroute took [0-9.]+ ms'
# shellcheck disable=SC2086
check 'apt purges the packages' apt purge $names
like 'the purge says what it keeps' "$(cat check.out)" 'kept the user fabricd and the groups'
same 'it stops the services' "systemctl stop fabricd-web.service,systemctl stop fabricd.service fabricd@*.service" "$(calls)"
rm "$root/tmp/fabric.net"
same 'nothing remains of a package that was purged' '' "$(remains)"
took 'new installation: service, demonstration, purge'

# ---- an upgrade with data

# shellcheck disable=SC2046
check 'apt installs packages of an older version' apt install $(printf '%s=0.0.9-1 ' $names)
same 'the older version is installed' '' "$(installed 0.0.9-1)"
ids
in_root fabsim generate leaf-spine --leaves 4 --spines 2 --hosts 4 >"$root/tmp/fabric.net"
service_start older.log
check 'its service runs' await 20 ready
guid=$(operator fabricctl node show host-0001 -o json | grep -o '"port_guid": *"0x[0-9a-f]*"' | grep -o '0x[0-9a-f]*' | head -1)
check 'an administrator disables a port' in_root fabricctl port disable leaf-001/5
# an event, without the width of the columns
event=$(operator fabricctl event list | tr -s ' ' | grep 'port-disabled.*leaf-001/5')
like 'the journal of the older version has this event' "$event" 'leaf-001/5'
stop "$service"

# The database gets the schema before, with the rows of this manager, and LID 4711 for a host.
state=$root/var/lib/fabricd
mv "$state/fabricd.db" new.db
rm -f "$state"/fabricd.db-*
check 'there is a database with the schema before' "$build/tests/packaging/old_database" "$state/fabricd.db"
version=$(sqlite3 "$state/fabricd.db" 'PRAGMA user_version')
for table in $(sqlite3 "$state/fabricd.db" "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"); do
    columns=$(sqlite3 "$state/fabricd.db" "SELECT group_concat(name) FROM pragma_table_info('$table')")
    sqlite3 "$state/fabricd.db" "ATTACH '$scratch/new.db' AS new; INSERT INTO $table ($columns) SELECT $columns FROM new.$table"
done
sqlite3 "$state/fabricd.db" "UPDATE lease SET lid = 4711 WHERE port_guid = '$guid'"
chown "$uid:$gid" "$state"/*
chmod 600 "$state"/fabricd.db
before=$(sqlite3 "$state/fabricd.db" .dump | sha256sum)
echo 'log_level: debug' >>"$root/etc/fabricd/fabricd.yaml"
calls >/dev/null

# shellcheck disable=SC2086
check 'apt upgrades the packages' apt install $names
took 'older version, its data, upgrade'
same 'the upgrade installs the version of now' '' "$(installed "$now")"
same 'the upgrade restarts only what runs' \
    "systemctl try-restart fabricd-web.service,systemctl try-restart fabricd.service fabricd@*.service" "$(calls)"
same 'the upgrade keeps the database' "$before" "$(sqlite3 "$state/fabricd.db" .dump | sha256sum)"
same 'it keeps the settings of the operator' 'log_level: debug' "$(tail -1 "$root/etc/fabricd/fabricd.yaml")"
same 'it keeps the rights' "$expected" "$(folders)"
service_start upgraded.log
check 'the new version runs on the database of the schema before' await 20 ready
like 'the host keeps its LID of the database' "$(operator fabricctl node show host-0001 -o json)" '"lid": *4711'
like 'the port is still disabled' "$(operator fabricctl port show leaf-001/5 -o json)" '"physical_state": *"Disabled"'
check 'the journal has the events of the version before' grep -qxF -- "$event" <(operator fabricctl event list | tr -s ' ')
stop "$service"
same 'the database has the next schema' $((version + 1)) "$(sqlite3 "$state/fabricd.db" 'PRAGMA user_version')"
check 'there is a copy of the database before' sqlite3 "$(ls "$state/fabricd.db.v$version-"*)" 'SELECT count(*) FROM lease'

# ---- removal

rm "$root/tmp/fabric.net"
# shellcheck disable=SC2086
check 'apt removes the packages' apt remove $names
same 'the removal stops the services' "systemctl stop fabricd-web.service,systemctl stop fabricd.service fabricd@*.service" "$(calls)"
same 'no program remains' '' "$(find "$root/usr/bin" "$root/usr/sbin" -name 'fab*')"
check 'the state remains' test -s "$state/fabricd.db"
same 'the settings remain' 'log_level: debug' "$(tail -1 "$root/etc/fabricd/fabricd.yaml")"
echo certificate >"$root/etc/fabricd/cert.pem"
# shellcheck disable=SC2086
check 'apt purges the rest' apt purge $names
like 'the purge names the files that it keeps' "$(cat check.out)" 'kept the files that others put into /etc/fabricd'
same 'nothing else remains' './etc/fabricd' "$(remains)"
same 'the files of others remain' certificate "$(cat "$root/etc/fabricd/cert.pem")"
took 'upgraded service, removal, purge'
