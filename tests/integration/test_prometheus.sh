#!/bin/bash
# test_prometheus.sh: a real Prometheus scrapes fabricd once a second, under faults. Every query of the Grafana board
# and of the rules returns data, the alerts of the faults fire, and no other ones. promtool tests each alert with made
# up values, and lints the text format; the parser of python3-prometheus-client reads the OpenMetrics one.
# Runs on fabsim, which simulates traffic, bit errors and congestion.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need prometheus promtool curl openssl
"$python" -c 'import yaml, prometheus_client' 2>/dev/null || need python3-yaml python3-prometheus-client
[ -n "$umad2sim" ] || need libumad2sim.so
simulator=fabsim
rules=$top/etc/prometheus/fabricd.rules.yaml
board=$top/etc/grafana/fabricd.json

metrics=127.0.0.1:$((20000 + RANDOM % 10000))
prometheus=127.0.0.1:$((30000 + RANDOM % 10000))

ask() {
    "$python" -B "$here/ask_prometheus.py" "http://$prometheus" "$@"
}
page() {
    curl -fsSg -H "Accept: $1" "http://$metrics/metrics?names=$2"
}

# ---- what needs no manager

check 'promtool accepts the rules' promtool check rules "$rules"
cp -r "$here/fabricd.rules.test.yaml" rules.test.yaml
sed -i "s|^rule_files: .*|rule_files: [$rules]|" rules.test.yaml
check 'each alert fires in its state, and no other one' promtool test rules rules.test.yaml
check 'runbooks are the remedies of events' ask runbooks "$rules" "$top/fabricd/base/events.def"

# ---- a manager under faults

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 -o fabric.net
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10 -subj /CN=fabricd \
    -keyout key.pem -out cert.pem 2>openssl.err
cat >conf.yaml <<EOF
metrics: {listen: $metrics}
counters: {interval: 1, within: 5}
congestion: {apply: yes}
alerts: [{webhook: 'http://127.0.0.1:9/', types: [multicast-full]}]
flapping: {flaps: 3, within: 60, hold_down: 60}
listen: [unix:$scratch/fabricd.sock, tls:127.0.0.1:$((40000 + RANDOM % 10000))]
tls: {cert: $scratch/cert.pem, key: $scratch/key.pem, ca: $scratch/cert.pem}
EOF
cat >prometheus.yaml <<EOF
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [$rules]
scrape_configs:
  - job_name: fabricd
    static_configs: [{targets: ['$metrics']}]
  - job_name: treydock
    static_configs: [{targets: ['$metrics']}]
    params: {names: [treydock], 'collect[]': [ports]}
  - job_name: guilbaults
    static_configs: [{targets: ['$metrics']}]
    params: {names: [guilbaults], 'collect[]': [ports]}
EOF
check 'serves a fabric' sim_start fabric.net
start fabricd.log env SIM_HOST=host-0001 LD_PRELOAD="$umad2sim" "$fabricd" --umad \
    --state-dir "$scratch/state" -f conf.yaml
manager=$started
check 'the fabric comes up' await 20 settled 0
start prometheus.log prometheus --config.file=prometheus.yaml --storage.tsdb.path="$scratch/tsdb" \
    --web.listen-address="$prometheus" --log.level=warn
prometheus_pid=$started
check 'Prometheus is ready' await 20 curl -fs "http://$prometheus/-/ready"
check 'and scrapes fabricd' ask query 'up{job="fabricd"} == 1' 'up{job="treydock"} == 1' 'up{job="guilbaults"} == 1'
sleep 2 # rates need samples before the faults

sim_do traffic load=40%
sim_do degrade leaf-001/4 lanes=1
sim_do noise leaf-002/4 ber=2e-10
sim_do increment host-0002/1 PktRcvFECN rate=50
sim_do increment host-0003/1 PktRcvBECN rate=50
sim_do increment leaf-003/1 PortXmitWait rate=100000000
sim_do flap leaf-004/4 period=1500ms count=60

for format in 'text/plain' 'application/openmetrics-text'; do
    for names in own treydock guilbaults; do
        page "$format" "$names" >"$names.${format%%/*}" || not_ok "$names as $format"
    done
done
for names in own treydock guilbaults; do
    check "promtool lints the text format, names $names" promtool check metrics <"$names.text"
    same 'without remarks' '' "$(promtool check metrics <"$names.text" 2>&1)"
    check 'the parser of prometheus_client reads the OpenMetrics format' "$python" -c '
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
assert len(list(text_string_to_metric_families(open(sys.argv[1]).read()))) > 15' "$names.application"
done

check 'every query of the board returns data' ask board "$board"
check 'every query of the rules returns data' ask rules "$rules"
check 'rules for the names of treydock return data' ask query \
    'rate(infiniband_switch_port_transmit_data_bytes_total[15s]) * on(guid,port) group_left(switch, uplink, uplink_port) infiniband_switch_uplink_info' \
    'irate(infiniband_switch_port_symbol_error_total[15s]) > 0' 'infiniband_hca_info' \
    'rate(infiniband_hca_port_receive_packets_total[15s]) > 0' 'infiniband_switch_port_rate_bytes_per_second'
check 'so do queries for the names of guilbaults' ask query \
    'sum by (local_name, remote_name) (rate(infiniband_portxmitdata_total{component="switch"}[15s])) * 4 > 0' \
    'rate(infiniband_symbolerrorcounter_total[15s]) > 0' 'infiniband_speed * infiniband_width'
check 'both exporters count the same data' ask query \
    'abs(sum(infiniband_switch_port_transmit_data_bytes_total) / sum(infiniband_portxmitdata_total{component="switch"}) - 4) < 0.2'

check 'the alerts of the faults are pending or fire' ask alerts FabricLinkDown FabricLinkUnhealthy FabricLinkDegraded \
    FabricErrorsRising FabricdCertificateExpiring FabricLinkFlapping
check 'those of other faults do not' ask quiet FabricdDown FabricdNoMaster FabricdTwoMasters FabricdAlarm \
    FabricdDeviceLost FabricdStoreFailing FabricdHistoryFailing FabricdSweepFailed FabricdReproofFailed \
    FabricPartitioned FabricUnapproved FabricKeyViolations FabricMulticastFull FabricdMetricsTruncated \
    FabricdAlertsFailing
check 'their texts are complete' ask texts
same 'Prometheus logs no error' '' "$(grep -E 'level=(error|warn)' prometheus.log)"

stop "$manager"
check 'a manager that is gone is told' ask alerts FabricdDown
stop "$prometheus_pid"
