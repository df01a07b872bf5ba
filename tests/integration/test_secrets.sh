#!/bin/bash
# test_secrets.sh: a manager with known secrets records, answers a viewer, shows its metrics, makes a backup and
# support bundles, refuses settings and crashes. None of the secrets, including the passphrase of the backup, may
# be in files that other users can read, in answers to a viewer or in a bundle. find_secrets.py searches for them
# in many forms: as text, decimal, bytes or protobuf number. In the files of the manager, it must find all of them.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need setpriv openssl curl protoc
[ "$(id -u)" = 0 ] || need a_root_shell
"$python" -c "import grpc" 2>/dev/null || need python3-grpcio
umask 022
chmod 755 "$scratch"
nobody=(setpriv --reuid=65534 --regid=65534 --groups=65534)

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >fabric.net
install -m 600 /dev/null sm_key
echo 0x5ec2e7a95ec2e7a9 >sm_key
check 'an authority is made' "$fabricctl" cert init --dir ca
check 'and a certificate' "$fabricctl" cert issue manager localhost --dir ca
port=$((20000 + $$ % 20000))
cat >f.yaml <<EOF
metrics: {listen: 127.0.0.1:$port}
listen: ['unix:$scratch/fabricd.sock', 'tls:127.0.0.1:$((port + 1))']
socket_group: nogroup
tls: {cert: $scratch/ca/manager.pem, key: $scratch/ca/manager.key, ca: $scratch/ca/ca.pem}
subnet: {sm_key: 'file:$scratch/sm_key', m_key: generated}
congestion: {apply: yes, cc_key: generated}
EOF
echo 'somebody wrote this' >recording # mode 0644
exec 8<recording                       # and has the file open
ulimit -c unlimited
manager_start '' -f "$scratch/f.yaml" --sim "$scratch/fabric.net" --record "$scratch/recording"
check 'the fabric comes up' await 20 settled 0
await 20 grep -q 0x state/cc_key
same 'a file that others could read is replaced by a recording of mode 0600' "600 0" \
    "$(stat -c %a recording) $(wc -c <&8)"
same 'core dumps are off' 'Permission denied' \
    "$("${nobody[@]}" cat "/proc/$manager/environ" 2>&1 | grep -o 'Permission denied')"

# ---- what other users get

protoc -I "$top/proto" --include_imports --descriptor_set_out reflection.set "$top/proto/grpc/reflection/v1/reflection.proto"
chmod 644 reflection.set
"${nobody[@]}" env HOME=/ "$python" -B "$here/as_viewer.py" "$scratch/fabricd.sock" "$scratch/reflection.set" \
    >viewer.out 2>viewer.err
like 'a viewer calls every method, and some are refused' "$(cat viewer.err)" '^asked [5-9][0-9] refused [1-9][0-9]* services [5-9]'
same 'as many methods as the proto files have' "$(cat "$top"/proto/fabric/v1/*.proto "$top"/proto/grpc/*/*/*.proto | grep -c '^  rpc ')" \
    "$(sed -n 's/^asked \([0-9]*\) .*/\1/p' viewer.err)"
curl -s "http://127.0.0.1:$port/metrics" >metrics.out
check 'the metrics are read' grep -q fabricd_master metrics.out
"${nobody[@]}" "$fabricctl" -s "unix:$scratch/fabricd.sock" key show >show.out 2>&1
ctl event list >events.out 2>&1
ctl audit list >audit.out 2>&1

# ---- a backup and support bundles

install -m 600 /dev/null passphrase
echo 'the quick brown secret fox' >passphrase
check 'a backup is made' ctl backup backup --passphrase-file passphrase
"$fabricctl" restore backup --verify --passphrase-file passphrase >verify.out 2>&1
mkdir bin
printf '#!/bin/sh\ncat %s/fabricd.log\n' "$scratch" >bin/journalctl
chmod 755 bin bin/journalctl
for how in '' --anonymize; do
    mkdir "bundle$how"
    # shellcheck disable=SC2086
    check "a support bundle is made $how" env PATH="$scratch/bin:$PATH" "$fabricctl" -s "unix:$scratch/fabricd.sock" \
        support-bundle "bundle$how.tgz" $how
    tar -xzf "bundle$how.tgz" -C "bundle$how"
    check "with the log $how" grep -q 'is master' "bundle$how/fabricd-support/journal.txt"
done

# settings that are refused, with keys in them
cp f.yaml good.yaml
sed -i "s/sm_key: .*'/sm_key: 0x5ec2e7a95ec2e7a9z/; s/m_key: generated/m_key: 0x5ec2e7a95ec2e7a9/" f.yaml
chmod 600 f.yaml
kill -HUP "$manager"
check 'a wrong key is refused' await 10 grep -q 'old settings stay' fabricd.log
"$fabricd" --check-config -f f.yaml >refused.out 2>&1
cp good.yaml f.yaml

# ---- a crash

state_keys=$(sed -n 's/.*0x\([0-9a-f]*\).*/\1/p' state/sa_key)
{
    echo 'sm_key 5ec2e7a95ec2e7a9'
    printf 'sa_key %016x\n' "0x$state_keys"
    printf 'm_key %016x\n' "$(grep -om1 '0x[0-9a-f]\{9,16\}' state/m_key)"
    printf 'cc_key %016x\n' "$(grep -om1 '0x[0-9a-f]\{9,16\}' state/cc_key)"
    echo "audit_key $(head -1 state/audit_key)"
    echo "passphrase $(tr -d '\n' <passphrase | od -An -tx1 | tr -d ' \n')"
    echo "tls_key $(sed -n 2p ca/manager.key | tr -d '\n' | od -An -tx1 | tr -d ' \n')"
} >secrets
chmod 600 secrets
mapfile -t bundles < <(find bundle bundle--anonymize -type f)
check 'the bundles have parts' [ "${#bundles[@]}" -gt 40 ]
same 'support bundles have no secret' '' "$("$python" "$here/find_secrets.py" secrets "${bundles[@]}")"
same 'the log names no secret, and neither do events, metrics and what a viewer gets' '' \
    "$("$python" "$here/find_secrets.py" secrets ./*.out viewer.err fabricd.log)"
{
    kill -SEGV "$manager"
    wait "$manager"
} 2>/dev/null
same 'the manager crashes' 139 $?
same 'and leaves no core' '' "$(find . -name 'core*' -type f)"

mapfile -t own < <(find state recording sm_key ca/manager.key passphrase -type f)
same 'all secrets are in the files of the manager and its operator' \
    'audit_key cc_key m_key passphrase sa_key sm_key tls_key' \
    "$("$python" "$here/find_secrets.py" secrets "${own[@]}" | cut -d' ' -f1 | sort -u | xargs)"
mapfile -t others < <("${nobody[@]}" find . -type f -readable 2>/dev/null)
check 'others can read some files' [ "${#others[@]}" -gt 5 ]
same 'and none of them has a secret' '' "$("$python" "$here/find_secrets.py" secrets "${others[@]}")"
same 'the encrypted backup has none in clear' '' "$("$python" "$here/find_secrets.py" secrets backup)"
