# SPDX-License-Identifier: Apache-2.0
"""Reads what ctest did."""
import dataclasses
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass
class Result:
    name: str
    status: str  # "passed", "failed", "skipped"
    reason: str = ""
    note: str = ""  # follows the name where it is shown
    seconds: float | None = None

    def noted(self, note):
        return dataclasses.replace(self, note=note)


def read(path):
    """Results in a JUnit report of ctest. A cmocka case that skips itself inside a passing program counts too."""
    results = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        if case.get("status") == "run":
            results.append(Result(name, "passed", seconds=float(case.get("time") or 0)))
            for inner in sorted(set(re.findall(r"^\[  SKIPPED \] (?!\d+ test\(s\))(\S+)", output, re.MULTILINE))):
                results.append(Result(f"{name}:{inner}", "skipped", "the test skipped itself"))
        elif case.get("status") in ("notrun", "disabled") and skipped is not None and "SKIP" in skipped.get("message", ""):
            lines = output.strip().splitlines()
            results.append(Result(name, "skipped", lines[-1] if lines else "no reason given"))
        else:
            failure = case.find("failure")
            reason = failure.get("message") if failure is not None else skipped.get("message") if skipped is not None else ""
            results.append(Result(name, "failed", reason or "its output is above"))
    return results


def commands(folder, label):
    """Name and command of every test with this label in a build folder."""
    text = subprocess.run(["ctest", "--test-dir", folder, "-L", label, "--show-only=json-v1"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return [(test["name"], test["command"]) for test in json.loads(text)["tests"]]


def read_allowed_skips(path):
    """Names in a file of lines "name: reason"."""
    names = set()
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, colon, reason = line.rpartition(": ")
            if not colon or not reason:
                raise ValueError(f"{path}:{number}: expected 'name: reason'")
            names.add(name)
    return names
