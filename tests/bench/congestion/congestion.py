#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the scenarios of congestion, and makes the table and the plots of doc/congestion.md.

    make tests/bench/congestion/congestion
    congestion.py run PROGRAM DIR [-j JOBS] [-f FABRIC]    # figures.tsv and course.tsv into DIR
    congestion.py draw DIR DOC                             # the tables on stdout, the plots into DOC
    congestion.py vary PROGRAM                             # with other buffers and adapters
"""
import argparse
import concurrent.futures
import pathlib
import statistics
import subprocess
import sys

SEEDS = 20
FIELDS = "scenario fabric size who seed victim steady hot hotsteady jain converge recover wave hotwave s".split()
COLOURS = {"off": "#888888", "plugin": "#d95f02", "opa-fm": "#7570b3", "ours": "#1b9e77"}
WHO = ["off", "zeros", "plugin", "opa-fm", "ours"]
VARIANTS = ["ours", "incast", "collective", "told"]  # other profiles; a configured fan-in


# ---- running ---------------------------------------------------------------------------------------


def call(program, *args):
    return subprocess.run([program, *map(str, args)], check=True, capture_output=True, text=True).stdout


def pieces(program, fabric):
    """One job: four seeds of a scenario with all settings."""
    for line in call(program, "-l").splitlines():
        name, of, size = line.split("\t")
        if fabric in (None, of):
            for first in range(1, SEEDS + 1, 4):
                yield ["-s", name, "-f", of, "-c", size, "-0", first, "-n", 4]


def run(args):
    args.dir.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        work = pieces(args.program, args.fabric)
        done = pool.map(lambda piece: call(args.program, *piece), work)
        with open(args.dir / "figures.tsv", "w") as figures:
            for lines in done:
                figures.write(lines)
                figures.flush()
    course = call(args.program, "-s", "incast", "-f", "64", "-c", 32, "-n", 1, "-t")
    (args.dir / "course.tsv").write_text(course)


# ---- reading ---------------------------------------------------------------------------------------


def read(text):
    """{(scenario, fabric, size): {who: {field: [one value for each seed]}}}"""
    figures = {}
    for line in text.splitlines():
        row = dict(zip(FIELDS, line.split("\t")))
        cell = figures.setdefault((row["scenario"], row["fabric"], row["size"]), {}).setdefault(row["who"], {})
        for field in FIELDS[4:]:
            cell.setdefault(field, []).append(float(row[field]))
    return figures


def share(of, who, field, whole):
    """Mean of a rate as a share of the rate without the incast."""
    return min(1, statistics.mean(of[who][field]) / whole)


def whole_of(of):
    """Gb/s of the victims without the incast."""
    return statistics.mean(of["alone"]["victim"]) if "alone" in of else 100 * 4096 / 4122


def judge(of, names=WHO):
    """{who: (victims, hot spot, score)} of a scenario, as shares of the ideal; hot None: no incast."""
    whole = whole_of(of)
    verdict = {}
    for who in names:
        if who in of:
            victim = share(of, who, "victim", whole)
            hot = min(1, statistics.mean(of[who]["hot"])) or None
            verdict[who] = (victim, hot, (victim * hot) ** 0.5 if hot else victim)
    return verdict


def time_of(values):
    known = [x for x in values if x >= 0]
    return f"{statistics.median(known) / 1000:.1f}" if len(known) * 2 > len(values) else "longer"


# ---- the table -------------------------------------------------------------------------------------


def row_of(name, of, who, verdict, best):
    victim, hot, score = verdict
    x = of[who]
    lasts = any(of["off"]["recover"])  # otherwise the incast comes in bursts, or moves
    settled = [f"{share(of, who, 'steady', whole_of(of)):.3f}", f"{statistics.mean(x['hotsteady']):.3f}"]
    victims, incast = ([f"{victim:.3f}", f"{hot:.3f}" if hot else "-"][i] + (f" ({settled[i]})" if lasts else "")
                      for i in range(2))
    rest = [f"{statistics.mean(x['jain']):.2f}" if lasts or name == "moving" else "-"]
    rest += [time_of(x["converge"]), time_of(x["recover"])] if lasts else ["-", "-"]
    return (f"{who} | {victims} | {incast} | {score:.3f} | {score / best:.3f} | {' | '.join(rest)} |"
            f" {statistics.mean(x['wave']):.2f} |")


def table(figures, names):
    """The table of the scenarios with results of two of the names; best: one name of WHO."""
    print("| scenario, ends | settings | victims | hot spot | score | to the best | Jain | converges, ms |"
          " recovers, ms | wave |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (name, fabric, size), of in figures.items():
        best = max(score for _, _, score in judge(of).values())
        verdict = judge(of, names)
        if len(verdict) < 2:
            continue
        title = f"{name}{' ' + size if int(size) else ''}, {fabric}"
        for who in verdict:
            if who == "zeros" and all(of[who][field] == of["off"][field] for field in FIELDS[5:-1]):
                continue  # no packet is marked
            print(f"| {title} | {row_of(name, of, who, verdict[who], best)}")
            title = ""


# ---- plots -----------------------------------------------------------------------------------------


def svg(path, width, height, body):
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                    f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
                    + "\n".join(body) + "\n</svg>\n")


def text(x, y, what, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{what}</text>'


def legend(x, y, names):
    out = []
    for name in names:
        out += [f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{COLOURS[name]}"/>', text(x + 14, y, name)]
        x += 80
    return out


def strip(shown, left, top, step, high):
    """Some scenarios side by side: the rate of victims at the top, that of hot spots at the bottom."""
    body = []
    for row, what in enumerate(("victims", "hot spot")):
        base = top + (row + 1) * (high + 14)
        body += [text(4, base - high / 2, what)]
        for mark in (0, 0.5, 1):
            y = base - mark * high
            body += [f'<line x1="{left}" x2="{left + step * len(shown)}" y1="{y}" y2="{y}" stroke="#dddddd"/>',
                     text(left - 4, y + 4, f"{mark:g}", "end")]
        for i, (_, verdict) in enumerate(shown):
            for k, who in enumerate(COLOURS):
                tall = verdict[who][row] * high
                body.append(f'<rect x="{left + i * step + 8 + k * 18}" y="{base - tall:.1f}" width="16" '
                            f'height="{tall:.1f}" fill="{COLOURS[who]}"/>')
    for i, ((name, fabric, size), _) in enumerate(shown):
        x = left + i * step + step / 2 - 4
        body += [text(x, base + 16, f"{name} {size}", "middle"), text(x, base + 30, f"{fabric} ends", "middle")]
    return body


def bars(figures, path):
    """Strip plots of scenarios with an incast: shares of the ideal."""
    left, step, high, across, tall = 60, 92, 90, 7, 260
    shown = [(key, judge(of)) for key, of in figures.items() if judge(of).get("ours", (0, None))[1]]
    body = legend(left, 16, list(COLOURS))
    strips = range(0, len(shown), across)
    for i, first in enumerate(strips):
        body += strip(shown[first:first + across], left, 20 + i * tall, step, high)
    svg(path, left + step * across + 10, 20 + len(strips) * tall, body)


def polyline(points, colour):
    where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="1.3"/>'


def courses(path_in, path):
    """Gb/s over time, one run for each setting: the mean of victims at the top, the sum of the incast at the bottom."""
    runs = {}
    for line in path_in.read_text().splitlines():
        _, _, _, who, _, at, beside, incast, last = line.split("\t")
        runs.setdefault(who, []).append((float(at) / 1000, float(beside), float(incast) + float(last)))
    left, wide, high = 60, 620, 150
    end = max(point[0] for point in runs["off"])
    names = list(COLOURS)
    body = legend(left, 16, names)
    for row, what in enumerate(("victim", "incast")):
        base = 30 + (row + 1) * (high + 20)
        body.append(text(4, base - high / 2, what))
        for mark in (0, 50, 100):
            y = base - mark * high / 100
            body += [f'<line x1="{left}" x2="{left + wide}" y1="{y}" y2="{y}" stroke="#dddddd"/>',
                     text(left - 4, y + 4, mark, "end")]
        for who in names:
            points = [(left + at / end * wide, base - min(x[row], 105) * high / 100) for at, *x in runs[who]]
            body.append(polyline(points, COLOURS[who]))
    for ms in range(int(end) + 1):
        body.append(text(left + ms / end * wide, base + 16, f"{ms} ms", "middle"))
    svg(path, left + wide + 30, base + 26, body)


def draw(args):
    figures = read((args.dir / "figures.tsv").read_text())
    table(figures, WHO)
    print()
    table(figures, VARIANTS)
    bars(figures, args.doc / "congestion-scenarios.svg")
    courses(args.dir / "course.tsv", args.doc / "congestion-course.svg")


# ---- other models ----------------------------------------------------------------------------------


def vary(args):
    """Compares our settings on 64 endports, with four seeds each. The buffers and adapter delays go from half to four
    times the default of the model."""
    print("| buffer, KiB | adapter, ns | victims | hot spot | score | to the best, least of all |")
    print("|---|---|---|---|---|---|")
    for kib, ns in (64, 1200), (32, 1200), (128, 1200), (256, 1200), (64, 600), (64, 2400), (64, 5000):
        figures = read(call(args.program, "-f", "64", "-n", 4, "-b", kib, "-a", ns, "-w", ",".join(["alone", *COLOURS])))
        ours, nearest = [], []
        for (name, _, size), of in figures.items():
            verdict = judge(of)
            if verdict["ours"][1] is None:
                continue
            ours.append(verdict["ours"])
            best = max(score for _, _, score in verdict.values())
            nearest.append((verdict["ours"][2] / best, f"{name} {size}"))
        means = " | ".join(f"{statistics.mean(x[i] for x in ours):.2f}" for i in range(3))
        print(f"| {kib} | {ns} | {means} | {min(nearest)[0]:.3f} ({min(nearest)[1]}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    one = verbs.add_parser("run")
    one.add_argument("program")
    one.add_argument("dir", type=pathlib.Path)
    one.add_argument("-j", "--jobs", type=int, default=2)
    one.add_argument("-f", "--fabric")
    one.set_defaults(act=run)
    other = verbs.add_parser("draw")
    other.add_argument("dir", type=pathlib.Path)
    other.add_argument("doc", type=pathlib.Path)
    other.set_defaults(act=draw)
    third = verbs.add_parser("vary")
    third.add_argument("program")
    third.set_defaults(act=vary)
    args = parser.parse_args()
    return args.act(args)


if __name__ == "__main__":
    sys.exit(main())
