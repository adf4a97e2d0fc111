#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_command.py MAKE_TIMELINE WEIR: `weir timeline`, what it writes and what it refuses."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MAKE_TIMELINE = sys.argv.pop(1)
WEIR = sys.argv.pop(1)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-timeline-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make(self, kind, name="run.json"):
        subprocess.run([MAKE_TIMELINE, self.path(name), kind], check=True)
        return self.path(name)

    def weir(self, *arguments, code=0):
        result = subprocess.run([WEIR, "timeline", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def refused(self, text, *arguments, code=2):
        result = self.weir(*arguments, code=code)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")

    def rows(self, page):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>"))
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.S).group(1))

    def test_names(self):
        timeline = self.make("small")
        for arguments, page in (((), "run.html"), (("-o", self.path("a.html")), "a.html"), (("--output", self.path("b.htm")), "b.htm"),
                                ((f"--output={self.path('c.html')}",), "c.html")):
            result = self.weir(timeline, *arguments)
            self.assertEqual((result.stdout, result.stderr), (self.path(page) + "\n", ""))
            self.assertEqual(len(self.rows(self.path(page))["tasks"]), 7)
        os.rename(timeline, self.path("trace"))
        self.assertEqual(self.weir(self.path("trace")).stdout, self.path("trace.html") + "\n")
        os.rename(self.path("trace"), self.path(".json"))
        self.assertEqual(self.weir(self.path(".json")).stdout, self.path(".html") + "\n")

    def test_rows(self):
        rows = self.rows(self.weir(self.make("small")).stdout.strip())
        self.assertEqual(rows["title"], "small <run>")
        self.assertEqual(rows["devices"], [["cpu:2", 2, "worker"], ["sim:ideal", 3, "queue"]])
        self.assertEqual(rows["buffers"], [[7, "image"]])
        self.assertEqual(rows["tasks"][4], [5, 105, "store", "copy", 1, 2, "WEIR_OK", 1400, 8500, 9000, 10000, [], [4, "STORAGE", 7, 0, 4096],
                                            [2, 9000, 9400, "store_head", 2, 9500, 10000, "store_tail"]])

    def test_other_layouts(self):
        """Of a file whose keys are sorted, and that stands in one line or many, the page is the same."""
        timeline = self.make("pipeline")
        rows = self.rows(self.weir(timeline).stdout.strip())
        for layout in ({"sort_keys": True}, {"indent": 1}, {"separators": (",", ":")}):
            with open(timeline) as file:
                value = json.load(file)
            with open(timeline, "w") as file:
                json.dump(value, file, **layout)
            self.assertEqual(self.rows(self.weir(timeline).stdout.strip()), rows)

    def test_help(self):
        text = self.weir("--help").stdout
        self.assertIn("Usage: weir timeline [OPTION...] TIMELINE.json...", text)
        self.assertIn("  -o, --output FILE  ", text)
        everything = subprocess.run([WEIR, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertRegex(everything, r"\n  timeline +make a page")

    def test_usage(self):
        self.refused("TIMELINE.json... is missing")
        self.refused("a.json: No such file or directory", "a.json", "b.json")
        self.refused("--output needs a value: FILE", "a.json", "-o")
        self.refused("unknown option -p", "-p", "a.json")
        self.refused("unknown option --page", "--page=x", "a.json")

    def test_bad_input(self):
        self.refused("missing.json: No such file or directory", self.path("missing.json"))
        for text, message in (("", ":1: the file is empty"), ("{}", ":1: weir is missing: this is no timeline of Weir"),
                              ("<!DOCTYPE html>\n", ":1: not an object")):
            with open(self.path("bad.json"), "w") as file:
                file.write(text)
            self.refused(f"weir timeline: {self.path('bad.json')}{message}\n", self.path("bad.json"))
        timeline = self.make("small")
        with open(timeline) as file:
            lines = file.read().split("\n")
        number = next(i for i, line in enumerate(lines) if '"conv left"' in line)
        for old, new, message in (('"kernel":"conv"', '"kernel":7', "task 'conv left': kernel is not a text"),
                                  ('"pid":0', '"pid":9', "pid 9 of a task, but weir has 2 devices"),
                                  ('"tid":0', '"tid":-1', "task 'conv left': tid is negative")):
            self.assertIn(old, lines[number])
            with open(timeline, "w") as file:
                file.write("\n".join([*lines[:number], lines[number].replace(old, new), *lines[number + 1:]]))
            self.refused(f"{timeline}:{number + 1}: {message}\n", timeline)
        self.assertFalse(os.path.exists(self.path("run.html")))  # nothing is written of a timeline that is wrong

    def test_ranks(self):
        """Timelines of ranks become one: ids and times of the whole, and a receive that waits for its send."""
        for rank in (1, 0):
            subprocess.run([MAKE_TIMELINE, self.path(f"run.rank{rank}.json"), "rank", str(rank)], check=True)
        names = [self.path("run.rank1.json"), self.path("run.rank0.json")]
        self.assertEqual(self.weir(*names).stdout, self.path("run.html") + "\n")
        rows = self.rows(self.path("run.html"))
        self.assertEqual(rows["devices"], [["cpu:1", 1, "worker", 0], ["cpu:1", 1, "worker", 1]])
        base = 10 ** 13
        self.assertEqual(sorted(rows["buffers"]), [[3, "shared 1"], [base + 4, "shared 1"]])
        self.assertEqual([row[0] for row in rows["tasks"]], [1, 2, base + 1, base + 2])
        self.assertEqual(rows["tasks"][1][14:], [[], [3, 1, 1, 0]])
        receive = rows["tasks"][2]
        self.assertEqual(receive[7:11], [1010, 2000, 2000, 2500])
        self.assertEqual((receive[12], receive[14:]), ([2, "MESSAGE", base + 4, 0, 64], [[], [3, 2, 0, 0]]))
        self.weir(*names, "-o", self.path("all.json"))
        with open(self.path("all.json"), encoding="utf-8") as file:
            whole = json.load(file)
        self.assertEqual(whole["weir"]["ranks"], [{"number": 0, "shift_ns": 0, "error_ns": 0},
                                                  {"number": 1, "shift_ns": 1000, "error_ns": 0}])
        flows = [(event["ph"], event["id"], event["pid"], event["ts"]) for event in whole["traceEvents"] if event.get("cat") == "message"]
        self.assertEqual(flows, [("s", "0-1-0", 0, 1.1), ("f", "0-1-0", 1, 2)])
        self.assertEqual([event["args"]["name"] for event in whole["traceEvents"] if event["name"] == "process_name"],
                         ["rank 0: cpu:1", "rank 1: cpu:1"])
        self.assertEqual(self.rows(self.weir(self.path("all.json")).stdout.strip()), rows)

    def test_ranks_that_do_not_fit(self):
        for rank in (0, 1):
            subprocess.run([MAKE_TIMELINE, self.path(f"run.rank{rank}.json"), "rank", str(rank)], check=True)
        first, second = (self.path(f"run.rank{rank}.json") for rank in (0, 1))
        self.refused("another timeline, too, is of rank 0", first, first)
        self.refused("another timeline, too, is of rank 1", first, second, second)
        self.refused("it is not the timeline of a rank of several", first, self.make("small"))
        with open(second, encoding="utf-8") as file:
            text = file.read()
        for old, new, message in (('"of":2', '"of":3', "the number of ranks is not that of the others, but 3"),
                                  ('"number":1,"of":2', '"number":2,"of":2', "rank 2 of 2"),
                                  ('{"from":0,', '{"from":"x",', "task 'from rank 0: use': from is not a whole number"),
                                  ('"call":3,"receive"', '"call":0,"receive"', "task 'from rank 0: use': call is 0"),
                                  ('"waits":[', '"awaits":[', "task 'from rank 0: use': waits is missing"),
                                  ('"traceEvents":[', '"traceEvents":[{"name":"a wait","cat":"host"},', "a wait of the host")):
            self.assertIn(old, text)
            with open(second, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
            self.refused(message, first, second)
        for rank in (0, 1):
            path = self.path(f"run.rank{rank}.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace('"of":2', '"of":3').replace('"call":0', '"call":3'))
        self.refused("there is no timeline of rank 2", first, second)
        self.assertFalse(os.path.exists(self.path("run.html")))

    def test_unwritable(self):
        timeline = self.make("small")
        self.refused("/nowhere/x.html: No such file or directory", timeline, "-o", "/nowhere/x.html")
        self.refused(f"{timeline}: the page would replace the timeline", timeline, "-o", timeline)
        os.symlink(timeline, self.path("link.html"))
        other = os.path.join(os.path.dirname(timeline), ".", os.path.basename(timeline))
        for name in (other, self.path("link.html")):
            self.refused(f"{name}: the page would replace the timeline", timeline, "-o", name)
        if os.path.exists("/dev/full"):
            os.symlink("/dev/full", self.path("full.html"))
            self.refused("full.html: No space left on device", timeline, "-o", self.path("full.html"))


if __name__ == "__main__":
    unittest.main()
