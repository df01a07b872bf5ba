#!/bin/bash
# test_policy.sh: the applied policy, on fabsim. smpquery reads P_Key tables and SL-to-VL tables of the devices. A
# rollback must write what was there before, a bad file must change nothing, a restart must keep all, and after
# kill -9 at any moment a version is in force as a whole. The JSON Schema and the parser must agree.
. "$(dirname "$0")/lib.sh"
need smpquery sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
"$python" -c 'import yaml, jsonschema' 2>/dev/null || need python3-yaml python3-jsonschema
simulator=fabsim

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >fabric.net
cat >partitions.conf <<'TEXT'
Default=0x7fff, ipoib : ALL=full ;
old=0x21 : "host-0005"=full ;
TEXT
printf 'log_level: debug\npartitions:\n    file: %s/partitions.conf\n' "$scratch" >fabricd.yaml
mkdir policy
cat >policy/10-partitions.yaml <<'TEXT'
# partitions of two tenants
partitions:
  - name: Default
    pkey: 0x7fff
    ipoib: yes
    full: [ALL]
  - name: jobs
    pkey: 0x11
    full: [host-0002, host-0003]
    limited: [host-0004]
TEXT
cat >policy/20-more.yml <<'TEXT'
groups:
  - name: late
    members: [host-0009]
partitions:
  - name: store
    pkey: 0x12
    full: ["@late"]
---
classes:
  - name: storage
    share: 30
    match: ["to=@late"]
isolation:
  - link: leaf-001/4
    reason: dirty cable
TEXT

# lid NAME
lid() {
    ctl path host-0009 "$1" | sed -n 's/^To:.*LID //p'
}

# keys NAME: prints the P_Keys of the port, as smpquery reads them, without zeros at the end.
keys() {
    at host-0001 smpquery pkeys "$(lid "$1")" 1 2>/dev/null |
        sed -n 's/^ *[0-9]*: //p' | tr -s ' \n' ' ' | sed 's/\( 0x0000\)*  *$//; s/^ *//'
}

# vls NAME: prints the VLs of SLs 0 and 1 for port 1.
vls() {
    at host-0001 smpquery sl2vl "$(lid "$1")" 1 2>/dev/null |
        sed -n 's/^ports: in *[01], out *[01]: |\(.*\)|$/\1/p' | tail -1 | tr -d ' ' | cut -d'|' -f1-2
}

# all_keys: prints the P_Key tables of all hosts.
all_keys() {
    for i in 1 2 3 4 5 6 7 8 9; do echo "host-000$i $(keys host-000$i)"; done
}

in_force() {
    ctl policy history -o json | "$python" -c 'import json, sys
print(*(v["version"] for v in json.load(sys.stdin)["versions"] if v["in_force"]))'
}

# idle: waits until the manager is idle.
idle() {
    await 20 settled 0
}

sim_start fabric.net
manager_start host-0001 -f "$scratch/fabricd.yaml"
check 'comes up' await 60 settled 0
before=$(all_keys)
same 'a member of a partition of OpenSM'"'"'s file' '0xffff 0x8021' "$(keys host-0005)"

# ---- plans change nothing
output=$(ctl apply policy --diff)
like '--diff shows a new member' "$output" '^partitions.jobs.host-0002 +added'
like 'and what the file had' "$output" '^partitions.old.host-0005 +removed'
like 'and who would lose a partition' "$output" '1 endport would lose partition old \(0x21\).*host-0005'
check '--dry-run accepts it' ctl apply policy --dry-run
same 'no version is stored' '' "$(in_force)"
same 'no P_Key has changed' "$before" "$(all_keys)"
ctl apply policy 2>error </dev/null
same 'a change that takes a partition away needs --yes' 2 $?
like 'and the refusal says so' "$(cat error)" 'would lose partition old .*--yes'

# ---- apply
check 'it is applied' ctl apply policy --yes --reason 'two tenants'
idle
same 'a full member' '0xffff 0x8011' "$(keys host-0002)"
same 'a limited one' '0xffff 0x0011' "$(keys host-0004)"
same 'a member by group' '0xffff 0x8012' "$(keys host-0009)"
same 'the partition of the file is gone' 0xffff "$(keys host-0005)"
like 'the class exists' "$(ctl class list)" '^storage +30 %'
same 'and has a virtual lane' '0|1' "$(vls host-0002)"
like 'the link is isolated' "$(ctl link unhealthy)" '^leaf-001/4 .*isolated.*policy version 1: dirty cable'
like 'the status says what is replaced' "$(ctl status)" '^Policy: +version 1 replaces in fabricd.yaml: partitions, classes, isolation'
like 'and so do the settings of a report' "$(ctl diagnostics settings)" '^# partitions: from the applied policy, version 1'
like 'the event names the version' "$(ctl event list)" 'policy version 1 was applied by'
like 'the history has the reason' "$(ctl policy history)" '1 +true .*two tenants'
check 'the policy is shown as it was written' grep -q '^# partitions of two tenants' <(ctl policy show)
like 'the same again changes nothing' "$(ctl apply policy)" 'nothing changed'
same 'so the version is the same' 1 "$(in_force)"
with=$(all_keys)

# ---- a bad file changes nothing
cp -r policy bad
refused() {
    local name=$1 message=$2
    ctl apply bad --yes 2>error >/dev/null && not_ok "$name is refused" && return
    like "$name is refused" "$(cat error)" "$message"
}
sed -i 's/host-0003/host-003/' bad/10-partitions.yaml
refused 'an unknown name' 'bad/10-partitions.yaml:9:23: partitions\[1\].full: no node.*did you mean "host-0003"'
cp policy/* bad
sed -i 's/share: 30/share: 300/' bad/20-more.yml
refused 'a number out of range' 'bad/20-more.yml:11:12: classes\[0\].share is .300., expected'
cp policy/* bad
sed -i 's/leaf-001\/4/leaf-001\/1/' bad/20-more.yml
refused 'a link that a host needs' 'leaf-001/1 cannot be isolated: host-0001 would be cut off'
cp policy/* bad
printf 'approvals:\n  - {node: 0x1, port_guid: 0x2, at: leaf-001/1}\n' >bad/30.yaml
refused 'an approval without a baseline' 'there is no baseline'
rm bad/30.yaml
sed -i 's/to=@late/partition=old/' bad/20-more.yml
refused 'a partition that only the file had' "names the partition 'old'"
same 'the version is the same' 1 "$(in_force)"
same 'and all P_Keys' "$with" "$(all_keys)"

# ---- the settings
sed -i 's/^old=.*/old=0x21 : "host-0006"=full ;/' partitions.conf
kill -HUP "$manager"
sleep 0.5
idle
same 'a reload of the settings does not bring the file back' "$with" "$(all_keys)"
printf 'log_level: debug\nsubnet:\n    unapproved: quarantine\n    quarantine_pkey: 0x12\n' >fabricd.yaml
kill -HUP "$manager"
check 'settings that do not fit the policy are refused' await 10 grep -q \
    'the applied policy (version 1) does not fit: .*partition "store"' fabricd.log
printf 'log_level: debug\npartitions:\n    file: %s/partitions.conf\n' "$scratch" >fabricd.yaml
sed -i 's/^old=.*/old=0x21 : "host-0005"=full ;/' partitions.conf
kill -HUP "$manager"
sleep 0.5

# ---- a restart
stop "$manager"
manager_start host-0001 -f "$scratch/fabricd.yaml"
check 'comes up again' await 20 settled 0
same 'with the same version' 1 "$(in_force)"
same 'and the same P_Keys' "$with" "$(all_keys)"
same 'and no LFT block was written' '' "$(grep -E 'wrote writes=.*blocks=[1-9]' fabricd.log | head -3)"

# ---- rollback
check 'rollback to fabricd.yaml alone' ctl policy rollback 0 --yes --reason 'the tenants left'
idle
same 'gives all P_Keys of before' "$before" "$(all_keys)"
like 'and no class' "$(ctl class list)" '^default'
same 'and releases the link' '' "$(ctl link unhealthy | grep '^leaf.*isolated')"
check 'rollback to version 1' ctl policy rollback 1 --yes
idle
same 'gives its P_Keys again' "$with" "$(all_keys)"
like 'and isolates the link' "$(ctl link unhealthy)" '^leaf-001/4 .*isolated'
same 'a rollback is a version of its own' 3 "$(in_force)"
like 'two versions can be compared' "$(ctl policy diff 2 3)" '^partitions.jobs +added'
same 'a version without differences' 0 "$(ctl policy diff 1 3 -o json | field changes | grep -c path)"
ctl policy rollback 77 2>error
same 'an unknown version' 4 $?

# ---- a hand-made decision is not undone by a restart
check 'the link is released by hand' ctl link release leaf-001/4
idle
stop "$manager"
manager_start host-0001 -f "$scratch/fabricd.yaml"
await 20 settled 0
sleep 1
same 'and stays released after a restart' '' "$(ctl link unhealthy | grep '^leaf.*isolated')"

# ---- kill -9
seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
RANDOM=$seed
sed 's/0x11/0x31/' policy/10-partitions.yaml >a.yaml
sed 's/0x11/0x41/; s/host-0003/host-0008/' policy/10-partitions.yaml >b.yaml
printf 'isolation: [{link: leaf-002/5}]\n' >>b.yaml
wrong='' applied=0
for i in $(seq 1 12); do
    file=$([ $((i % 2)) = 0 ] && echo a || echo b)
    ctl apply $file.yaml --yes >/dev/null 2>&1 &
    apply=$!
    sleep "0.$(printf '%03d' $((RANDOM % 60)))"
    stop "$manager" KILL
    wait $apply 2>/dev/null && applied=$((applied + 1))
    stored=$(sqlite3 state/fabricd.db 'SELECT version FROM policy_version ORDER BY version DESC LIMIT 1')
    text=$(sqlite3 state/fabricd.db 'SELECT text FROM policy_version ORDER BY version DESC LIMIT 1')
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    await 20 settled 0 || wrong="$wrong; run $i does not come up"
    sleep 0.7
    idle
    [ "$(in_force)" = "$stored" ] || wrong="$wrong; run $i has version $(in_force), not $stored"
    case $text in
    *0x41*) expected='0xffff 0x8041' link='leaf-002/5' ;;
    *0x31*) expected='0xffff 0x8031' link='' ;;
    *) expected='0xffff 0x8011' link='' ;; # version 3
    esac
    [ "$(keys host-0002 | sed 's/ 0x0000//g')" = "$expected" ] || wrong="$wrong; run $i: $(keys host-0002), not $expected"
    now=$(ctl link unhealthy | sed -n 's/^\(leaf[^ ]*\).*isolated.*/\1/p')
    [ "$now" = "$link" ] || wrong="$wrong; run $i: link '$now' is isolated, not '$link'"
done
same "after each of 12 kill -9 ($applied after the answer), a version is in force as a whole" '' "$wrong"

# ---- the JSON Schema
FABRICCTL_SERVER=unix:$scratch/fabricd.sock "$python" "$here/policy_schema.py" "$top/doc/policy.schema.json" \
    "$fabricctl" >schema.out
while read -r line; do
    case $line in
    ok*) ok "${line#ok }" ;;
    not\ ok*) not_ok "${line#not ok }" ;;
    *) echo "$line" ;;
    esac
done <schema.out
