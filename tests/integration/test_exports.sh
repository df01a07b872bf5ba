#!/bin/bash
# test_exports.sh: other programs read the exports of fabricd. ibdmchk (ibutils) checks the routes, ibsim loads the
# fabrics, OpenSM programs the tables, and Graphviz and a JSON parser read the other formats. With
# FABRICD_TOPOLOGIES=FOLDER, also tests the real fabrics in this folder.
. "$(dirname "$0")/lib.sh"
need ibdmchk ibsim ibnetdiscover
[ -n "$umad2sim" ] || need libumad2sim.so

# bring_up TOPOLOGY [ROUTING]: starts a manager that simulates this fabric, with these settings of routing.
bring_up() {
    rm -rf state
    printf 'routing: {%s}\n' "${2:-}" >fabricd.yaml
    manager_start '' --sim "$1" -f "$scratch/fabricd.yaml"
    await 60 settled 0 || { tail -5 fabricd.log; ctl status; return 1; }
}

topo_formats='ibnetdiscover dot svg json slurm slurm-block slurm-yaml opensm-lst'
route_formats='opensm-fdbs opensm-lfts opensm-sl2vl path-sl'

# exports: writes all exports to files that have the names of the formats.
exports() {
    local format
    for format in $topo_formats; do
        ctl topo export --format "$format" --file "$format" || return
    done
    for format in $route_formats; do
        ctl route export --format "$format" --file "$format" || return
    done
}

# Each port has service levels. ibdmchk stores only those of the last port of an adapter, and uses them for all
# its ports. So this function makes each port an adapter.
ports_as_adapters() {
    sed -E 's/(\{ CA Ports:)[0-9A-F]+ SystemGUID:[0-9a-f]+ NodeGUID:[0-9a-f]+ PortGUID:([0-9a-f]+)([^}]*\} LID:[0-9A-F]+ PN:)[0-9A-F]+/\101 SystemGUID:\2 NodeGUID:\2 PortGUID:\2\301/g' "$1"
}

# ibdmchk crashes after it has printed its results, so its lines count, not its exit code.
judge_routes() {
    : >none
    ports_as_adapters opensm-lst >ports-lst
    timeout 280 ibdmchk -s ports-lst -f opensm-fdbs -m none -c path-sl -d opensm-sl2vl >ibdmchk.out 2>&1
    grep -q -- '-I- no credit loops found' ibdmchk.out &&
        grep -q -- '-I- Scanned:[0-9]* CA to CA paths' ibdmchk.out &&
        ! grep -- '^-E-' ibdmchk.out
} 2>/dev/null

# Each link between switches is part of one line, and each switch has a box.
judge_svg() {
    "$python" - <<'PY'
import json
from xml.etree import ElementTree
svg, fabric = ElementTree.parse("svg").getroot(), json.load(open("json"))
name = "{http://www.w3.org/2000/svg}"
switches = {n["guid"] for n in fabric["nodes"] if n["type"] == "switch"}
pairs = {frozenset((l["a"]["guid"], l["b"]["guid"])) for l in fabric["links"]} - {frozenset()}
pairs = {p for p in pairs if p <= switches and len(p) == 2}
assert len(svg.findall(f".//{name}line")) == len(pairs), len(pairs)
boxes = [r for r in svg.findall(f".//{name}rect") if r.get("class", "").startswith("switch")]
assert len(boxes) == len(switches)
width, height = map(int, svg.get("viewBox").split()[2:])
assert all(0 <= int(b.get("x")) <= width and 0 <= int(b.get("y")) <= height for b in boxes)
PY
}

judge_json() {
    "$python" - "$1" <<'PY'
import json, sys
fabric = json.load(open("json"))
text = open(sys.argv[1], errors="replace").read().split("\n")
nodes = sum(line.startswith(("Switch", "Ca", "Hca", "Rt")) for line in text)
guids = {node["guid"] for node in fabric["nodes"]}
assert len(guids) == len(fabric["nodes"]) == nodes, (len(guids), nodes)
assert all(end["guid"] in guids for link in fabric["links"] for end in (link["a"], link["b"]))
lids = [p["lid"] for node in fabric["nodes"] for p in node["lids"]]
assert len(set(lids)) == len(lids) >= nodes and min(lids) > 0
PY
}

# Each host occurs once, and each switch of a list has its own line.
judge_slurm() {
    "$python" - <<'PY'
import re
def expand(text):
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        name, _, ranges = part.rstrip("]").partition("[")
        for r in ranges.split(",") if ranges else [None]:
            if r is None:
                yield name
                continue
            first, _, last = r.partition("-")
            for i in range(int(first), int(last or first) + 1):
                yield f"{name}{i:0{len(first)}}"
lines = [dict(w.split("=") for w in l.split()) for l in open("slurm") if l[0] != "#"]
switches = [l["SwitchName"] for l in lines]
hosts = [h for l in lines if "Nodes" in l for h in expand(l["Nodes"])]
inner = [s for l in lines if "Switches" in l for s in expand(l["Switches"])]
assert len(set(hosts)) == len(hosts) > 0 and len(set(switches)) == len(switches)
assert len(set(inner)) == len(inner) == len(switches) - 1, (len(inner), len(switches))
assert set(inner) < set(switches) or not inner
import yaml
tree, block = yaml.safe_load(open("slurm-yaml"))
assert [s["switch"] for s in tree["tree"]["switches"]] == switches
assert [h for s in tree["tree"]["switches"] if "nodes" in s for h in expand(s["nodes"])] == hosts
blocks, sizes = block["block"]["blocks"], block["block"]["block_sizes"]
assert sorted(h for b in blocks for h in expand(b["nodes"])) == sorted(hosts)
assert min(len(list(expand(b["nodes"]))) for b in blocks) == sizes[0]
for small, large in zip(sizes, sizes[1:]):
    times = large // small
    assert times > 1 and large == small * times and times & (times - 1) == 0, sizes
lines = [dict(w.split("=") for w in l.split()) for l in open("slurm-block") if l[0] != "#"]
assert lines[-1] == {"BlockSizes": ",".join(map(str, sizes))}
assert [(l["BlockName"], l["Nodes"]) for l in lines[:-1]] == [(b["block"], b["nodes"]) for b in blocks]
PY
}

judge() {
    local name=$1 file=$2
    check "$name: comes up" bring_up "$file"
    check "$name: is exported in each format" exports
    stop "$manager"
    check "$name: ibdmchk finds no credit loop and every path" judge_routes
    check "$name: JSON" judge_json "$file"
    check "$name: a picture" judge_svg
    check "$name: Slurm" judge_slurm
    check "$name: the fabric is one to fabsim" "$fabsim" check ibnetdiscover
    if command -v dot >/dev/null 2>&1; then
        check "$name: Graphviz" timeout 60 dot -Tcanon -o /dev/null dot
    else
        ok "$name: Graphviz # SKIP dot is not installed"
    fi
}

"$fabsim" generate random --switches 24 --degree 4 --hosts 4 --seed 5 >random.net
"$fabsim" generate torus --size 5x5 --hosts 3 >torus.net
"$fabsim" generate xgft --m 4,4,8 --w 1,4,4 >xgft.net
"$fabsim" generate leaf-spine --leaves 36 --spines 18 --hosts 18 >leaf-spine.net
judge random "$scratch/random.net"
judge torus "$scratch/torus.net"
judge 'tree of three levels' "$scratch/xgft.net"
judge 'leaf-spine, 648 hosts' "$scratch/leaf-spine.net"

sed -i '0,/^0x0001 : .*yes$/s//0x0001 : UNREACHABLE/' opensm-fdbs
if judge_routes; then
    not_ok 'ibdmchk sees an entry that is missing' "$(grep -- '^-' ibdmchk.out)"
else
    ok 'ibdmchk sees an entry that is missing'
fi

if [ -n "${FABRICD_TOPOLOGIES:-}" ]; then
    for file in psmn-x5-qdr-2020/X5.ibnetdiscover sat11-hdr-2021/sat11.repaired.ibnetdiscover; do
        judge "${file%%/*}" "$FABRICD_TOPOLOGIES/$file"
    done
else
    ok 'real fabrics # SKIP FABRICD_TOPOLOGIES is not set'
fi

# ---- every family, with all features and with damage
while read -r family; do
    # shellcheck disable=SC2086
    "$fabsim" generate $family >family.net || not_ok "$family: is generated"
    check "$family: comes up" bring_up "$scratch/family.net"
    check "$family: is exported" exports
    stop "$manager"
    check "$family: ibdmchk finds no credit loop and every path" judge_routes
done <<'FAMILIES'
leaf-spine --leaves 12 --spines 6 --hosts 8 --aggregation-nodes --missing 5%
fat-tree --radix 8 --levels 3 --missing 5% --shuffle-guids
rail --servers 16 --adapters 4 --group-size 8 --spines 2
dragonfly --group-size 4 --global 2 --hosts 2
dragonfly-plus --leaves 3 --spines 3 --global 1 --hosts 3
hypercube --dimensions 4 --hosts 2 --missing 3
hyperx --size 4x4 --hosts 2
mesh --size 4x4x3 --hosts 1
FAMILIES

# ---- configured engines, with the available lanes; tables of an engine as the file of another
while read -r engine family; do
    # shellcheck disable=SC2086
    "$fabsim" generate $family >family.net || not_ok "$family: is generated"
    check "$engine, $family: comes up" bring_up "$scratch/family.net" "engine: $engine"
    check "$engine, $family: is exported" exports
    same "$engine, $family: is the engine" "$engine" "$(status routing_engine)"
    stop "$manager"
    check "$engine, $family: ibdmchk finds no credit loop and every path" judge_routes
done <<'FAMILIES'
nue torus --size 5x5 --hosts 2
nue torus --size 4x4x4 --hosts 1 --missing 3
nue dragonfly --group-size 4 --global 2 --hosts 2
nue random --switches 40 --degree 5 --hosts 3 --seed 7
minhop fat-tree --radix 8 --levels 3 --missing 2%
sssp fat-tree --radix 8 --levels 3 --missing 2%
sssp leaf-spine --leaves 12 --spines 6 --hosts 8 --aggregation-nodes --missing 5%
dfsssp torus --size 5x5 --hosts 2
dfsssp dragonfly --group-size 6 --global 3 --hosts 2
dfsssp random --switches 40 --degree 5 --hosts 3 --seed 7
dfsssp hyperx --size 5x5 --hosts 3
nue leaf-spine --leaves 12 --spines 6 --hosts 8 --parallel 2 --aggregation-nodes
FAMILIES
cp opensm-lfts given
check 'tables from a file: comes up' bring_up "$scratch/family.net" "engine: file, file: $scratch/given"
check 'tables from a file: is exported' exports
stop "$manager"
same 'tables from a file: they are what was given' "$(md5sum <given)" "$(md5sum <opensm-lfts)"
check 'tables from a file: ibdmchk finds no credit loop and every path' judge_routes

# ---- the commands
bring_up "$scratch/xgft.net"
like 'without --file it goes to standard output' "$(ctl topo export | head -30)" '^Ca.*"H-'
ctl route export --format nothing 2>err
same 'an unknown format is a usage error' 2 $?
like 'and says which there are' "$(cat err)" 'opensm-lfts, opensm-fdbs, opensm-sl2vl or path-sl'
ctl topo export --file "$scratch/no/such/folder" 2>err
same 'a file that cannot be written is a failure' 1 $?
ln -s /dev/full "$scratch/full" # root could replace the device file
ctl topo export --format dot --file "$scratch/full" 2>err
same 'and a full disk' 1 $?
check 'and nothing half is left' test -z "$(ls ./*.part 2>/dev/null)"
exports
stop "$manager"

# ---- ibsim loads the fabric, and OpenSM the tables
check 'ibsim loads the ibnetdiscover export' sim_start "$scratch/ibnetdiscover"
host=$(sed -n 's/^\(Ca\|Hca\)[^"]*"\([^"]*\)".*/\2/p' ibnetdiscover | sed -n 1p)
at "$host" ibnetdiscover >found
same 'and ibnetdiscover finds all of it there' "$(grep -cE '^(Switch|Ca)|^\[' ibnetdiscover)" \
    "$(grep -cE '^(Switch|Ca)|^\[' found)"
if command -v opensm >/dev/null 2>&1; then
    mkdir -p osm
    printf '%s\n' "log_file $scratch/osm/log" 'force_log_flush TRUE' 'log_flags 0x43' \
        'routing_engine file' "lfts_file $scratch/opensm-lfts" "dump_files_dir $scratch/osm" >osm/conf
    # OpenSM uses our LIDs only if they are in its file of GUIDs and LIDs.
    "$python" - <<'PY' >osm/guid2lid
import json
for node in json.load(open("json"))["nodes"]:
    for port in node["lids"]:
        print(f'{port["guid"]} 0x{port["lid"]:04x} 0x{port["lid"]:04x}\n')
PY
    start osm/out env SIM_HOST="$host" OSM_CACHE_DIR="$scratch/osm" OSM_TMP_DIR="$scratch/osm" \
        LD_PRELOAD="$umad2sim" opensm -F "$scratch/osm/conf" -R file -U "$scratch/opensm-lfts"
    opensm=$started
    check 'OpenSM comes up with our tables' await 30 grep -q 'SUBNET UP' osm/log
    await 10 test -s osm/opensm-lfts.dump
    stop "$opensm" KILL
    same 'and has them as they were' "$(sed -n 's/^\(0x[0-9a-f]* [0-9]*\) .*/\1/p' opensm-lfts | sort | md5sum)" \
        "$(sed -n 's/^\(0x[0-9a-f]* [0-9]*\) .*/\1/p' osm/opensm-lfts.dump | sort | md5sum)"
else
    ok 'OpenSM comes up with our tables # SKIP opensm is not installed'
fi
sim_stop
