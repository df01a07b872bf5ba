"""GET /metrics of fabricd on its simulated fabric: both formats, the sets of names, and the limit of series.

promtool lints the text format, and the parser of prometheus_client reads the OpenMetrics format; without these
programs, both are only compared with each other."""

import http.client
import json
import re
import shutil
import socket
import subprocess
import threading

from harness import PATIENCE, free_port, main, wait_until
from place import Place

try:
    from prometheus_client.openmetrics import parser as openmetrics
except ImportError:
    openmetrics = None

OPEN = "application/openmetrics-text;version=1.0.0"
SAMPLE = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]\w*="([^"\\\n]|\\[\\"n])*",?)*\})? -?[0-9.e+-]+$')
NAMES = {"own": "fabricd_port_", "treydock": "infiniband_switch_port_", "guilbaults": "infiniband_portxmitdata"}
NODE = "h\\3 \u00fc"  # a name that needs escapes in a label


class MetricsPlace(Place):
    def __init__(self):
        super().__init__()
        self.port = free_port()
        with open(self.path("f.net"), encoding="utf-8") as f:
            text = f.read()
        with open(self.path("f.net"), "w", encoding="utf-8") as f:
            f.write(text.replace('"host-0003"', f'"{NODE}"'))

    def settings(self, **metrics):
        self.write("f.yaml", json.dumps({"metrics": {"listen": f"127.0.0.1:{self.port}", **metrics},
                                         "counters": {"interval": 1}}))

    def ask(self, target="/metrics", accept=None, method="GET"):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request(method, target, headers={"Accept": accept} if accept else {})
        answer = c.getresponse()
        answer.text = answer.read().decode()
        c.close()
        return answer

    def page(self, target="/metrics", accept=None):
        answer = self.ask(target, accept)
        assert answer.status == 200, answer.text
        return answer.text

    def ready(self):
        """Waits until the counters of all ports were read: 8 links with 2 ports."""
        wait_until(lambda: "\nfabricd_ports_read 16\n" in self.page())


def samples(page):
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    for line in lines:
        assert SAMPLE.match(line), line
    return dict(line.rsplit(" ", 1) for line in lines)


def lint(page):
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
        assert done.stderr + done.stdout == "", done


def parse(page):
    assert page.endswith("# EOF\n")
    if openmetrics:
        families = list(openmetrics.text_string_to_metric_families(page))
        assert len(families) == page.count("# TYPE ")
        assert sum(len(f.samples) for f in families) == len(samples(page))


def both_formats_have_the_same_samples():
    PLACE.ready()
    for names, prefix in NAMES.items():
        target = f"/metrics?names={names}"
        text, opened = PLACE.ask(target, "text/plain"), PLACE.ask(target, OPEN)
        assert text.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert opened.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert "Accept" in text.headers["Vary"]
        lint(text.text)
        parse(opened.text)
        assert "# EOF" not in text.text and prefix in text.text
        of_ports = lambda page: {k for k in samples(page) if "port=" in k}
        assert of_ports(text.text) == of_ports(opened.text)


def ports_have_labels_of_both_ends():
    PLACE.ready()
    own = samples(PLACE.page())
    labels = 'node="leaf-001",port="3",peer="spine-001",peer_port="1",guid="0x0002c90100000001"'
    assert own[f"fabricd_port_rate_bytes_per_second{{{labels}}}"] == "12500000000", own
    assert own[f'fabricd_port_errors_total{{{labels},counter="SymbolErrorCounter"}}'] == "0"
    assert any('node="h\\\\3 \u00fc",port="1"' in k for k in own)
    sent = sum(int(v) for k, v in own.items() if k.startswith("fabricd_port_transmit_bytes_total"))
    assert sent > 0
    assert sum(k.startswith("fabricd_port_receive_packets_total") for k in own) == 16
    treydock = samples(PLACE.page("/metrics?names=treydock&collect[]=ports"))
    assert not any(k.startswith("fabricd_") for k in treydock)
    uplink = next(k for k in treydock if k.startswith("infiniband_switch_uplink_info") and 'port="3",switch="leaf-001"' in k)
    assert 'uplink="spine-001"' in uplink and 'uplink_type="SW",uplink_port="1",uplink_lid="' in uplink, uplink
    rate = "infiniband_switch_port_rate_bytes_per_second"
    assert treydock[f'{rate}{{guid="0x0002c90100000001",port="3"}}'] == "12500000000"
    assert sum(k.startswith("infiniband_hca_info{") for k in treydock) == 4
    guilbaults = samples(PLACE.page("/metrics?names=guilbaults"))
    labels = ('component="switch",local_name="leaf-001",local_guid="0x0002c90100000001",local_port="3",'
              'remote_guid="0x0002c90100000003",remote_port="1",remote_name="spine-001"')
    assert guilbaults[f"infiniband_speed{{{labels}}}"] == "25.78125", guilbaults[f"infiniband_speed{{{labels}}}"]
    assert guilbaults[f"infiniband_width{{{labels}}}"] == "4"
    words = int(guilbaults[f"infiniband_portxmitdata_total{{{labels}}}"])
    data = int(samples(PLACE.page())[next(k for k in own if k.startswith("fabricd_port_transmit_bytes_total")
                                          and 'node="leaf-001",port="3"' in k)])
    assert 4 * words <= data


def settings_choose_ports_and_names():
    place = MetricsPlace()
    counts = {"none": 0, "errors": 0, "switch-links": 8, "switches": 12, "all": 16}
    place.settings(ports="none", names="guilbaults")
    with place.daemon() as p:
        place.ready()
        for ports, count in counts.items():
            place.settings(ports=ports, names="guilbaults")
            p.send_signal(1)
            got = lambda: place.page().count("\ninfiniband_width{")
            wait_until(lambda: got() == count)
        assert place.page("/metrics?names=own").count("\nfabricd_port_rate_bytes_per_second{") == 16


def a_limit_cuts_the_last_ports():
    place = MetricsPlace()
    place.settings(max_series=100)
    with place.daemon():
        place.ready()
        page = place.page()
        values = samples(page)
        assert 80 < int(values["fabricd_metrics_port_series"]) <= 100
        ports = page.count("\nfabricd_port_rate_bytes_per_second{")
        assert 4 <= ports < 8
        assert all('peer="spine' in line or 'node="spine' in line
                   for line in page.splitlines() if line.startswith("fabricd_port_rate_bytes"))
        again = [line.rsplit(" ", 1)[0] for line in place.page().splitlines() if line.startswith("fabricd_port_")]
        assert again == [line.rsplit(" ", 1)[0] for line in page.splitlines() if line.startswith("fabricd_port_")]
        assert int(values["fabricd_metrics_port_series_omitted"]) > 100
        events = json.loads(place.ctl("event", "list", "--type", "metrics-truncated", "-o", "json"))["events"]
        assert len(events) == 1 and "max_series is 100" in events[0]["message"], events
        lint(place.page(accept="text/plain"))


def requests_are_checked():
    for target, accept, method, status in (
            ("/metrics?names=ours", None, "GET", 400), ("/metrics?collect[]=x", None, "GET", 400),
            ("/metrics", "text/html", "GET", 406), ("/metric", None, "GET", 404), ("/metrics", None, "POST", 501)):
        answer = PLACE.ask(target, accept, method)
        assert answer.status == status, (target, answer.status)
        assert answer.text.endswith("\n") and answer.headers["Content-Type"].startswith("text/plain"), answer.text
    head = PLACE.ask(accept=OPEN, method="HEAD")
    assert head.status == 200 and head.text == "" and int(head.headers["Content-Length"]) > 1000
    assert head.headers["Content-Type"].startswith("application/openmetrics-text")


def clients_share_pages_and_may_leave():
    """Clients that ask together, some of which leave before their page is made."""
    PLACE.ready()
    before = int(samples(PLACE.page())["fabricd_metrics_page_seconds_count"])
    for _ in range(20):
        s = socket.create_connection(("127.0.0.1", PLACE.port))
        s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        s.close()
    pages = []
    clients = [threading.Thread(target=lambda: pages.append(PLACE.page())) for _ in range(20)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    assert len(pages) == 20 and all("\nfabricd_master 1\n" in p for p in pages)
    assert int(samples(PLACE.page())["fabricd_metrics_page_seconds_count"]) > before


PLACE = MetricsPlace()
PLACE.settings()
with PLACE.daemon():
    main([both_formats_have_the_same_samples, ports_have_labels_of_both_ends, settings_choose_ports_and_names,
          a_limit_cuts_the_last_ports, requests_are_checked, clients_share_pages_and_may_leave])
