"""Asks a Prometheus that scrapes fabricd: ask_prometheus.py URL COMMAND.

board FILE     runs every query of a Grafana board, and prints those that return no data
rules FILE     the same for the rules; of an alert, the part before its comparison with a number
alerts NAME... prints the alerts of this list that are neither pending nor firing
quiet NAME...  prints the alerts of this list that are pending or firing
query QUERY    prints the query if it returns no data
runbooks FILE EVENTS  prints alerts whose runbook is not the remedy of their event in events.def
texts          prints alerts whose annotations could not be expanded

Queries are repeated for a while, because rates need several scrapes. The exit status is 1 if anything is printed.
"""

import json
import re
import sys
import time
import urllib.parse
import urllib.request

import yaml

PATIENCE = 30
VARIABLES = {"$__rate_interval": "15s", "$__range": "60s", "$instance": ".*", "$top": "10"}


def get(url, path, **parameters):
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{query}", timeout=10) as answer:
        return json.load(answer)["data"]


def has_data(url, query):
    try:
        result = get(url, "query", query=query)["result"]
    except urllib.error.HTTPError as e:
        sys.exit(f"{query}: {e.read().decode()}")
    return any(sample["value"][1] not in ("NaN", "+Inf", "-Inf") for sample in result)


def without_data(url, queries):
    """Returns the queries that return no data, each after it was repeated for a while."""
    missing, end = list(queries), time.monotonic() + PATIENCE
    while missing and time.monotonic() < end:
        missing = [q for q in missing if not has_data(url, q)]
        time.sleep(0.5 if missing else 0)
    return missing


def queries_of_board(file):
    board = json.load(open(file))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            assert "$" not in query, query
            yield query


def all_rules(file):
    return [rule for group in yaml.safe_load(open(file))["groups"] for rule in group["rules"]]


def queries_of_rules(file):
    for rule in all_rules(file):
        if "record" in rule:
            yield rule["record"]  # Prometheus itself evaluates the expression
        else:
            query, compared = re.subn(r"\s*(==|>|<) [\d.]+$", "", rule["expr"])
            assert compared == 1, rule
            yield query


def alerts(url):
    groups = get(url, "rules", type="alert")["groups"]
    return {rule["name"]: rule for group in groups for rule in group["rules"]}


def inactive(url, names):
    end = time.monotonic() + PATIENCE
    while True:
        found = alerts(url)
        missing = [name for name in names if found[name]["state"] == "inactive"]
        if not missing or time.monotonic() > end:
            return missing
        time.sleep(0.5)


def remedies(file):
    """Returns the last text of each event in events.def."""
    found = {}
    for chunk in re.split(r"\n(?=EVENT\(|FORM\(|#|/\*)", open(file).read()):
        name = re.match(r'EVENT\(\w+, "([\w-]+)"', chunk)
        arguments = re.findall(r'(?:\s*"(?:[^"\\]|\\.)*")+', chunk)
        if name:
            found[name[1]] = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', arguments[-1])).replace('\\"', '"')
    return found


def wrong_runbooks(file, events):
    remedy = remedies(events)
    for rule in all_rules(file):
        notes = rule.get("annotations", {})
        if "alert" not in rule:
            continue
        if not all(notes.get(key) for key in ("summary", "description", "runbook")) or "severity" not in rule["labels"]:
            yield f"{rule['alert']}: incomplete"
        elif "event" in notes and notes["runbook"] != remedy.get(notes["event"]):
            yield f"{rule['alert']}: {notes['runbook']}, expected {remedy.get(notes['event'])}"


def bad_texts(url):
    for alert in get(url, "alerts")["alerts"]:
        for text in alert["annotations"].values():
            if "error" in text and "template" in text or "<no value>" in text or "{{" in text:
                yield f"{alert['labels']['alertname']}: {text}"


url, command, *arguments = sys.argv[1:]
failures = list({
    "board": lambda: without_data(url, queries_of_board(*arguments)),
    "rules": lambda: without_data(url, queries_of_rules(*arguments)),
    "alerts": lambda: inactive(url, arguments),
    "quiet": lambda: [name for name in arguments if alerts(url)[name]["state"] != "inactive"],
    "query": lambda: without_data(url, arguments),
    "runbooks": lambda: wrong_runbooks(*arguments),
    "texts": lambda: bad_texts(url),
}[command]())
print("\n".join(failures), end="\n" if failures else "")
sys.exit(bool(failures))
