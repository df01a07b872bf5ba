#!/bin/bash
# test_congestion.sh: congestion control on fabsim. ibccquery reads the same values and tables from switches and
# adapters as fabricctl shows. The manager writes nothing twice, even after kill -9. Profiles, configured values
# and CC_Keys reach the devices, and congested ports are listed. The devices of ibsim do not support the class:
# the manager lists them, and sends them no settings.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibccquery ibccconfig ibsim
[ -n "$umad2sim" ] || need libumad2sim.so
simulator=fabsim

"$fabsim" generate leaf-spine --leaves 2 --spines 2 --hosts 3 -o small.net

# settings KEY: VALUE...: prints settings of the section congestion.
settings() {
    {
        echo 'congestion:'
        printf '  %s\n' "$@"
    } >conf.yaml
}

# cc NAME: prints a field of `cc status`.
cc() { ctl cc status -o json 2>/dev/null | field "$1"; }
stand() { [ "$(cc programmed)" = "$1" ] && [ "$(cc pending)" = 0 ]; }
written() { [ "$(cc writes)" -gt "$1" ] && stand 10; }

lid() { ctl port show "$1" -o json | field lid; }
query() { at host-0002 ibccquery "$@"; }

# agree: for every port of every device, ibccquery reads the values that fabricctl shows.
agree() {
    cat >agree.py <<'PY'
import json, re, subprocess, sys
key, ctl, query = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
def ours(port):
    return json.loads(subprocess.check_output(ctl + ["cc", "show", port, "-o", "json"]))
def theirs(what, lid):
    text = subprocess.check_output(query + (["-c", key] if key else []) + [what, str(lid)], text=True)
    blocks, block = [], {}
    for line in text.splitlines() + [""]:
        field = re.match(r"(\w+):\.*(\S+)$", line)
        if field:
            block[field.group(1)] = int(field.group(2), 16 if field.group(2).startswith("0x") or len(field.group(2)) == 64 else 10)
        elif block:
            blocks, block = blocks + [block], {}
    return blocks
wrong = compared = 0
def same(what, expected, found):
    global wrong, compared
    compared += 1
    if expected != found:
        wrong += 1
        print(what, "expected", expected, "found", found)
ports = json.loads(subprocess.check_output(ctl + ["port", "list", "-o", "json"]))["ports"]
for p in [p for p in ports if p["lid"]]:
    if p["port"] == 0:
        wide = theirs("SS", p["lid"])[0]
        single = {b["Port"]: b for b in theirs("SP", p["lid"])}
        for q in [q for q in ports if q["node"] == p["node"] and q["port"] > 0 and q["state"] != "Down"]:
            name = "%s/%d" % (q["node"], q["port"])
            want = {v["name"]: v["value"] for v in ours(name)["values"]}
            have = single[q["port"]]
            same(name + " valid", 1, have["Valid"])
            same(name + " threshold", want.get("threshold", want.get("switch_threshold")), have["Threshold"])
            same(name + " packet size", want["packet_size"], have["Packet_Size"])
            same(name + " marking rate", want["marking_rate"], have["Cong_Parm_Marking_Rate"])
            same(name + " victim", want["victim_mask"], wide["Victim_Mask"] >> q["port"] & 1)
    else:
        name = "%s/%d" % (p["node"], p["port"])
        shown = ours(name)
        want = {v["name"]: v["value"] for v in shown["values"]}
        for b in theirs("CS", p["lid"]):
            if "SL" not in b:
                continue
            same(name + " values of SL %d" % b["SL"],
                 [want["timer"], want["increase"], want["trigger_threshold"], want["min"]],
                 [b["CCTI_Timer"], b["CCTI_Increase"], b["Trigger_Threshold"], b["CCTI_Min"]])
        table, limit = {}, None
        for b in theirs("CT", p["lid"]):
            limit = b.get("CCTI_Limit", limit)
            if "Entry" in b:
                table[b["Entry"]] = b["CCT_Shift"] << 14 | b["CCT_Multiplier"]
        same(name + " limit", want["limit"], limit)
        same(name + " table", [e["entry"] for e in shown["table"]],
             [table.get(i) for i in range(len(shown["table"]))])
print(compared, "values compared")
sys.exit(wrong or compared < 100)
PY
    at host-0002 "$python" agree.py "${1-}" "$fabricctl -s unix:$scratch/fabricd.sock" ibccquery
}

# agree_log NODE PORT LID: ibccquery reads the log that fabricctl shows. Only entries about packets to that LID
# are compared. (libumad2sim loses all but the first 224 bytes of a MAD, so the last entries of a log contain
# random bytes.)
agree_log() {
    cat >agree_log.py <<'PY'
import json, re, subprocess, sys
node, lid, to, ctl, query = sys.argv[1:4] + [a.split() for a in sys.argv[4:]]
ours = json.loads(subprocess.check_output(ctl + ["cc", "log", node, "-o", "json"]))
text = subprocess.check_output(query + ["CongestionLog", lid], text=True)
head, entries = {}, []
for line in text.splitlines():
    field = re.match(r"(\w+):\.*(\S+)$", line)
    if not field:
        continue
    name, value = field.groups()
    value = int(value, 16) if value.startswith("0x") or name == "PortMap" else int(value)
    if name in ("SLID", "Local_QP_CN_Entry"):
        entries.append({})
    (entries[-1] if entries else head)[name] = value
mine = ours["entries"]
if head["LogType"] == 1:
    seen = [[e["slid"], e["dlid"], e["sl"]] for e in mine]
    read = [[e["SLID"], e["DLID"], e["SL"]] for e in entries]
    bits, told = head["PortMap"], ours["logs"][0]["marked_ports"].split()
    count = head["LogEventsCounter"]
else:
    seen = [[e["slid"], e["dlid"], e["sl"], e["local_qp"], e["remote_qp"]] for e in mine]
    read = [[e["Local_LID_CN"], e["Remote_LID_CN_Entry"], e["SL_CN_Entry"], e["Local_QP_CN_Entry"],
             e["Remote_QP_Number_CN_Entry"]] for e in entries]
    bits, told = head["ThresholdCongestionEventMap"], ours["logs"][0]["service_levels"].split()
    count = head["ThresholdEventCounter"]
seen, read = [[e for e in all if e[1] == int(to)] for all in (seen, read)]
print(seen, read, told, bin(bits), count)
sys.exit(sorted(seen) != sorted(read) or count != len(read) or
         [i for i in range(256) if bits >> i & 1] != [int(n) for n in told])
PY
    at host-0002 "$python" agree_log.py "$1" "$(lid "$1/$2")" "$3" \
        "$fabricctl -s unix:$scratch/fabricd.sock" ibccquery
}

check 'serves a fabric' sim_start small.net
settings 'profile: balanced'
manager_start host-0001 -f "$scratch/conf.yaml"
check 'the fabric comes up' await 20 settled 0
same 'nothing is written unless congestion.apply is on' 0 "$(cc writes)"
like 'the settings are computed' "$(ctl cc show leaf-001/1 --explain)" 'threshold .* leads to an end'

settings 'apply: yes' 'fan_in: 2'
echo 'counters: {interval: 1, within: 1}' >>conf.yaml
kill -HUP "$manager"
check 'devices are programmed with congestion.apply' await 20 stand 10
check 'ibccquery reads what fabricctl shows' agree
writes=$(cc writes)

sim_do increment leaf-001/4 PortXmitWait rate=1000000
sim_do increment leaf-001/4 PortXmitData rate=3000000
sim_do increment host-0004/1 PortPktRcvFECN rate=1000
for host in 1 2 3; do sim_do increment host-000$host/1 PortPktRcvBECN rate=300; done
congested() { ctl cc congested | grep -Eq "^$1 +$2 "; }
check 'an endport that receives marked packets' await 10 congested host-0004/1 congested
check 'a sender that receives notifications' await 10 congested host-0002/1 throttled
check 'a port that waits for credits' await 10 congested leaf-001/4 waiting
advises() { ctl cc congested | grep -q "$1"; }
check 'advice reports a fan-in above the configured one' await 20 advises 'congestion.fan_in to 3'
told() { ctl event list -n 100 | grep -q 'congestion-advice.*fan_in to 3'; }
check 'an event reports it, too' await 5 told
like 'cc status reports it, too' "$(ctl cc status)" 'congestion.fan_in to 3'

# Congestion logs. Three senders to host-0005 are throttled, and the log of each shows it. One switch port
# marked packets.
incast=$(lid host-0005/1)
for host in 1 2 3; do
    sim_do congest host-000$host/1 "$incast" from="$(lid host-000$host/1)" sl=3 qp=$((70 + host)) to=9
done
sim_do congest leaf-002/2 "$incast" from="$(lid host-0001/1)" sl=3
logged() { [ "$(cc log_events)" = "$1" ]; }
check 'logs are read, and events counted once' await 10 logged 4
like 'log of a switch: the ports that marked packets' "$(ctl cc log leaf-002)" '^leaf-002/0 +1 +2 '
like 'log of an adapter: the flow that was throttled' \
    "$(ctl cc log host-0002)" ' host-0002/1 +3 +host-0002/1 +host-0005/1 +0x48'
check 'ibccquery reads the same from a switch' agree_log leaf-002 0 "$incast"
check 'and from an adapter' agree_log host-0002 1 "$incast"
check 'and from an adapter with an empty log' agree_log host-0006 1 "$incast"
congested_senders() { ctl cc congested -o json | "$python" -c 'import json, sys
sys.exit(not any(p["node"] == sys.argv[1] and p["senders"] == int(sys.argv[2])
                 for p in json.load(sys.stdin)["ports"]))' "$@"; }
check 'an endport that logs name is congested, whatever its counters say' await 5 congested_senders host-0005 3
same 'nothing is written twice' "$writes" "$(cc writes)"
stop "$manager" KILL
manager_start host-0001 -f "$scratch/conf.yaml"
check 'after kill -9 all devices are read' await 20 stand 10
same 'and nothing is written' 0 "$(cc writes)"

lid=$(lid host-0003/1)
check 'ibccconfig changes a device' at host-0002 ibccconfig CACongestionSetting "$lid" 0 0xffff 7 7 7 7
stop "$manager" KILL
manager_start host-0001 -f "$scratch/conf.yaml"
check 'the manager reads it' await 20 stand 10
same 'and writes only that device' 1 "$(cc writes)"
check 'ibccquery reads it back' agree
check 'ibccconfig changes it again while the manager runs' \
    at host-0002 ibccconfig CACongestionSetting "$lid" 0 0xffff 8 8 8 8
wrote() { [ "$(cc writes)" = "$1" ]; }
check 'the manager finds it' await 25 wrote 2
check 'and programs it again' agree
like 'and reports it' "$(ctl cc status)" '1 devices had other settings than they were given'

settings 'apply: yes' 'profile: incast' 'marking_rate: 3' 'timer: 99' 'limit: 70' 'cc_key: 0x1234'
kill -HUP "$manager"
check 'other settings reach devices' await 20 written 1
check 'ibccquery reads them back, with the key' agree 0x1234
like 'devices have the key' "$(query -c 0x1234 CK "$lid")" 'CC_Key:\.*0x0*1234$'
settings 'apply: yes' 'profile: off' 'cc_key: 0x1234'
writes=$(cc writes)
kill -HUP "$manager"
check 'the profile off' await 20 written "$writes"
like 'ports no longer mark packets' "$(query -c 0x1234 SP "$(lid leaf-001/0)")" 'Threshold:\.*0x00'
like 'and adapters do not react' "$(query -c 0x1234 CS "$lid")" 'CCTI_Increase:\.*0$'
like 'and there is nothing for RoCE' "$(ctl cc export --roce)" 'profile is off'

has_key() { query -c "$1" CK "$lid" | grep -q "CC_Key:\.*0x0*${1#0x}\$" && stand 10; }
settings 'apply: yes' 'profile: off' 'cc_key: 0x9999'
kill -HUP "$manager"
check 'devices get another key' await 30 has_key 0x9999
like 'all of them' "$(ctl key show -o json | tr -d '\n ')" '"congestion_key":[{].*"current":10,.*"previous":0'
check 'ibccconfig gives a device a foreign key' at host-0002 ibccconfig -c 0x9999 CK "$lid" 0x77 1 0 1
foreign() { [ "$(cc foreign_key)" = 1 ]; }
settings 'apply: yes' 'cc_key: 0x9999'
kill -HUP "$manager"
check 'a device with a foreign key is left alone' await 30 foreign
like 'and listed' "$(ctl cc status)" ' +foreign-key'
like 'RoCE settings are there' "$(ctl cc export --roce)" '^ *100G +6 +endports'
like 'with reasons' "$(ctl cc export --roce --explain)" 'headroom_bytes +[0-9]+ .*394 quanta'
check 'as SONiC takes them' "$python" -c 'import json, sys
for p in json.loads(sys.argv[1])["WRED_PROFILE"].values():
    assert 0 < int(p["green_min_threshold"]) < int(p["green_max_threshold"]), p' "$(ctl cc export --roce --format sonic)"
like 'as mlx5 takes them' "$(ctl cc export --roce --format mlx5)" '^echo 1020 >"[$]cc/rp_dce_tcp_g"'

# reach HOST: prints the lowest rate in the table of its adapter, in thousandths of the rate of the link.
reach() { ctl cc show "$1/1" -o json | "$python" -c 'import json, sys
print(round(10 * json.load(sys.stdin)["table"][-1]["rate_percent"]))'; }
all=$(reach host-0002) # other hosts may send to the endport, too
cat >partitions.conf <<'TEXT'
A=1: "host-0002"=full, "host-0003"=full;
B=2: "host-0004"=full, "host-0005"=full, "host-0006"=full;
TEXT
echo "partitions: {file: $scratch/partitions.conf}" >>conf.yaml
kill -HUP "$manager"
shorter() { [ "$(reach "$1")" -gt "$all" ]; }
longer() { [ "$(reach "$1")" = "$all" ]; }
check 'jobs shorten the table' await 20 shorter host-0002
check 'each its own' await 5 shorter host-0005
like 'and that is told' "$(ctl cc show host-0002/1 --explain)" 'from jobs \(partitions\)'
sed -i 's/^B=2:/& "host-0003"=full,/' partitions.conf
kill -HUP "$manager"
check 'but not where one of its ends is in another one, too' await 20 longer host-0002
stop "$manager"
sim_stop

simulator=ibsim
rm -rf state
check 'ibsim, whose devices do not know the class' sim_start small.net
settings 'apply: yes'
manager_start host-0001 -f "$scratch/conf.yaml"
check 'the fabric comes up there' await 20 settled 0
unsupported() { [ "$(cc unsupported)" = 10 ] && [ "$(cc pending)" = 0 ]; }
check 'all are without support' await 60 unsupported
same 'told once' 1 "$(ctl event list -n 100 | grep -c 'congestion-programmed')"
same 'and nothing was written' 0 "$(cc writes)"
