# SPDX-License-Identifier: Apache-2.0
"""What bench/record.sh writes: results with machine, commit and date as JSON, and the same as a Markdown table."""
import datetime
import json
import os
import re
import subprocess
import sys


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


def machine():
    words = re.sub(r"[^a-z0-9]+", "-", cpu_name().lower()).strip("-")
    return f"{words}-{os.cpu_count()}-cores"


def git(*arguments):
    folder = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False).stdout.strip()


def system_name():
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            return dict(line.rstrip().split("=", 1) for line in file if "=" in line)["PRETTY_NAME"].strip('"')
    except (OSError, KeyError):
        return os.uname().sysname


def number(value):
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def table(record):
    lines = [
        f"# Benchmarks on {record['machine']}, {record['date']}",
        "",
        f"{record['cpu']}, {record['cpus']} CPUs, {record['system']}; commit {record['commit']}; "
        f"`{record['command']}`. Weir/this: Weir's median by the line's.",
    ]
    results = record["results"]
    weir = {(r["bench"], r["case"], r["unit"]): r["median"] for r in results if r["runtime"] == "weir"}
    for bench in dict.fromkeys(r["bench"] for r in results):
        lines += ["", f"## {bench}", "", "| case | runtime | unit | median | min | max | runs | weir/this |",
                  "|---|---|---|--:|--:|--:|--:|--:|"]
        for r in (r for r in results if r["bench"] == bench):
            mine = weir.get((bench, r["case"], r["unit"]))
            ratio = f"{mine / r['median']:.2f}" if mine and r["runtime"] != "weir" and r["median"] else ""
            lines.append(f"| {r['case']} | {r['runtime']} | {r['unit']} | {number(r['median'])} | {number(r['min'])} | "
                         f"{number(r['max'])} | {r['runs']} | {ratio} |")
    if record["notes"]:
        lines += ["", "Notes:"] + [f"- {note}" for note in record["notes"]]
    return "\n".join(lines) + "\n"


def write(output, name, results, notes):
    with open(results, encoding="utf-8") as file:
        measured = json.load(file)
    with open(notes, encoding="utf-8") as file:
        said = [line.strip() for line in file if line.strip()]
    dirty = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    record = {
        "machine": name,
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "system": f"{system_name()}, Linux {os.uname().release}",
        "commit": git("rev-parse", "--short=12", "HEAD") + dirty,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": "weir bench --json",
        "notes": said,
        "results": measured,
    }
    with open(output + ".json", "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    with open(output + ".md", "w", encoding="utf-8") as file:
        file.write(table(record))
    print(f"{output}.json, {output}.md")


if __name__ == "__main__":
    if sys.argv[1:] == ["machine"]:
        print(machine())
    elif len(sys.argv) == 6 and sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        sys.exit("usage: record.py machine | record.py write OUTPUT MACHINE RESULTS NOTES")
