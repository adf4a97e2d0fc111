#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_page.py MAKE_TIMELINE WEIR CLASS: pages of timelines in headless Chromium, driven through their address (Page), and by
scripts (Driven); or that they are written, and one is opened (Written)."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MAKE_TIMELINE = sys.argv.pop(1)
WEIR = sys.argv.pop(1)
LARGE_TASKS, LARGE_TOKENS = (20000, 5000) if os.environ.get("WEIR_SMALL_TESTS") else (100000, 25000)
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
FOLDER = tempfile.TemporaryDirectory(prefix="weir-page-")


def make(kind, count=0):
    path = os.path.join(FOLDER.name, f"{kind}{count}.html")
    if not os.path.exists(path):
        timeline = path.replace(".html", ".json")
        subprocess.run([MAKE_TIMELINE, timeline, kind, str(count)], check=True)
        subprocess.run([WEIR, "timeline", timeline], check=True, stdout=subprocess.DEVNULL)
    return path


def open_page(path, fragment=""):
    """The page's elements as text after its script ran, without style, script and data."""
    with tempfile.TemporaryDirectory(dir=FOLDER.name) as profile:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,700", "--enable-logging=stderr",
                   f"--user-data-dir={profile}", "--virtual-time-budget=2000", "--dump-dom", f"file://{path}#{fragment}"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    for line in result.stderr.splitlines():
        if "CONSOLE" in line or "Uncaught" in line:
            raise AssertionError(line)
    return re.sub(r"<(style|script)\b.*?</\1>", "", result.stdout, flags=re.S)


def drive(path, script):
    """Opens a copy of the page, runs a script after its own, and returns the value of `result` as text."""
    with open(path) as file:
        page = file.read()
    copy = path.replace(".html", "-driven.html")
    with open(copy, "w") as file:
        file.write(page.replace("</body>", f"<script>{DRIVER}{script};document.body.dataset.result = JSON.stringify(result)</script></body>"))
    match = re.search(r'data-result="([^"]*)"', open_page(copy))
    if not match:
        raise AssertionError("the script did not end")
    return json.loads(html.unescape(match.group(1)))


DRIVER = """
const result = [], canvas = document.getElementById('lanes');
canvas.setPointerCapture = () => {};
view.calm = true;
function point(type, x, y, more) {
  const box = canvas.getBoundingClientRect(), place = {clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, pointerId: 1};
  canvas.dispatchEvent(type === 'wheel' ? new WheelEvent(type, {...place, ...more}) : new PointerEvent(type, {...place, ...more}));
}
function press(key) { canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})); }
function middle(id) {
  const task = model.byId.get(id);
  return [view.x((task.start + task.end) / 2), view.middleOf(task)];
}
function selected() { return view.selected ? view.selected.id : 0; }
"""


def text_of(fragment):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", fragment))).strip()


def part(dom, tag, attribute):
    match = re.search(rf"<{tag}\b[^>]*{attribute}[^>]*>(.*?)</{tag}>", dom, flags=re.S)
    if not match:
        raise AssertionError(f"no <{tag} {attribute}> in the page")
    return text_of(match.group(1))


class Written(unittest.TestCase):
    """What checked builds do: only the program that writes timelines is built otherwise there, not the page."""

    def test_written(self):
        for kind, count in (("small", 0), ("hostile", 0), ("graph", 0), ("pipeline", 0), ("lines", LARGE_TOKENS), ("empty", 0),
                            ("random", LARGE_TASKS)):
            with open(make(kind, count)) as page:
                self.assertIn("</html>", page.read())

    def test_opened(self):
        self.assertIn("7 tasks", part(open_page(make("small")), "div", 'id="numbers"'))


class Page(unittest.TestCase):
    def test_numbers(self):
        dom = open_page(make("small"))
        self.assertEqual(part(dom, "title", ""), "small <run>")
        self.assertEqual(part(dom, "h1", 'id="title"'), "small <run>")
        numbers = part(dom, "div", 'id="numbers"')
        self.assertIn("7 tasks", numbers)
        self.assertIn("9.000 µs in all", numbers)
        # load 2 + right 3.4 + join 1.5 + store 1 is the longest chain of waits
        self.assertIn("7.900 µs critical path (88 %, 4 tasks)", numbers)
        self.assertIn("1.18 of 3 lanes", numbers)  # two workers, and the one queue that was used: (2 + 2 + 0.2 + 1.5 + 0.5) + 3.4 + 1 of 9 us
        self.assertEqual(part(dom, "p", 'id="warning"'), "1 task did not succeed.")
        self.assertIn("conv 5", part(dom, "div", 'id="legend"'))
        self.assertRegex(dom, r'<aside id="card"[^>]*hidden')

    def test_card(self):
        dom = open_page(make("small"), "task=4")
        card = part(dom, "aside", 'id="card"')
        self.assertTrue(card.startswith("#4 join"))
        for words in ("cpu:2, worker 0 · tag 104", "WEIR_OK", "on the critical path", "submitted 300 ns", "ready 6.000 µs 5.700 µs for predecessors",
                      "started 6.000 µs 0 ns for a worker", "ended 7.500 µs 1.500 µs running",
                      "Waited 5.700 µs for predecessors; the last one was #3 conv right by WAW on image (buffer 7).",
                      "Waited for (3)", "#2 conv left WAR image (buffer 7), bytes [0, 2048); ended at 4.500 µs",
                      "#3 conv right WAW image (buffer 7), bytes [2048, 4096); ended at 6.000 µs",
                      "#2 conv left AFTER named as a predecessor", "Waited for it (1)", "#5 store STORAGE got the storage of image (buffer 7)",
                      "Accesses (1)", "write image (buffer 7) [0, 4096) 4.00 KiB 70"):
            self.assertIn(words, card)
        self.assertRegex(dom, r'class="task-link" data-task="3"')

    def test_card_resources(self):
        card = part(open_page(make("small"), "task=6"), "aside", 'id="card"')
        self.assertIn("WEIR_ERROR_TASK_FAILED", card)
        self.assertIn("Then 7.100 µs went by until a worker took it; one was idle for 3.700 µs of it.", card)  # worker 1
        card = part(open_page(make("small"), "task=5"), "aside", 'id="card"')
        self.assertIn("sim:ideal, queue 2", card)
        self.assertIn("Then 500 ns went by until the device started it; its queue was free.", card)
        self.assertIn("Launches and parts (2)", card)
        self.assertIn("store_tail", card)
        self.assertIn("slack 1.400 µs", part(open_page(make("small"), "task=2"), "aside", 'id="card"'))

    def test_no_worker_was_free(self):
        card = part(open_page(make("small"), "task=7"), "aside", 'id="card"')
        self.assertIn("Then no worker was free for 1.800 µs; worker 0 ran #2 conv left until 4.500 µs.", card)

    def test_ranks(self):
        timelines = []
        for rank in (0, 1):
            timelines.append(os.path.join(FOLDER.name, f"ranks.rank{rank}.json"))
            subprocess.run([MAKE_TIMELINE, timelines[rank], "rank", str(rank)], check=True)
        page = os.path.join(FOLDER.name, "ranks.html")
        subprocess.run([WEIR, "timeline", *timelines], check=True, stdout=subprocess.DEVNULL)
        dom = open_page(page, f"task={10 ** 13 + 1}")
        numbers = part(dom, "div", 'id="numbers"')
        # make, copy out, the receive and its reader follow each other
        for words in ("4 tasks", "2 ranks", "1 messages", "2.000 \u00b5s critical path", "4 tasks)"):
            self.assertIn(words, numbers)
        card = part(dom, "aside", 'id="card"')
        for words in ("r1 #1 from rank 0: use", "rank 1: cpu:1, worker 0", "Message 0 from rank 0, for call 3 of the common sequence.",
                      "the last one was r0 #2 copy out which sent its contents.", "MESSAGE message of shared 1 (buffer 4 of rank 1), bytes [0, 64)",
                      "Waited for it (1) r1 #2 use RAW"):
            self.assertIn(words, card)
        self.assertEqual(part(open_page(page, "search=%232"), "output", 'id="hits"'), "2 hits")

    def test_search(self):
        def hits(query):
            return part(open_page(make("small"), f"search={query}"), "output", 'id="hits"')
        self.assertEqual(hits("conv"), "3 hits")  # two labels; the kernel of #6
        self.assertEqual(hits("CONV+L"), "1 hit")
        self.assertEqual(hits("%236"), "1 hit")
        self.assertEqual(hits("nothing"), "0 hits")

    def test_critical(self):
        self.assertRegex(open_page(make("small"), "critical=1"), r'id="critical" aria-pressed="true"')
        self.assertRegex(open_page(make("small"), ""), r'id="critical" aria-pressed="false"')

    def test_hostile_labels(self):
        dom = open_page(make("hostile"), "task=1&search=script")
        self.assertEqual(part(dom, "title", ""), "hostile <run>")
        self.assertNotIn("<img", dom)
        card = part(dom, "aside", 'id="card"')
        self.assertIn("#1 </script><script>document.title='owned'</script", card)  # cut at 47 bytes
        self.assertIn("18446744073709551615", card)
        self.assertIn("</script><img src=x> (buffer 1)", card)
        self.assertEqual(part(dom, "output", 'id="hits"'), "1 hit")
        card = part(open_page(make("hostile"), "task=2"), "aside", 'id="card"')
        self.assertIn("broken \ufffd \ufffd \ufffd\ufffd\ufffd é \ufffd", card)
        self.assertIn("kernel @DATA@", card)

    def test_waits_of_the_host(self):
        dom = open_page(make("host"), "host=0&critical=1")
        numbers = part(dom, "div", 'id="numbers"')
        self.assertIn("2.400 µs critical path (75 %, 2 tasks)", numbers)  # read 1.4, then by way of the host work 1
        self.assertIn("of 2 lanes", numbers)  # not that of the host
        card = part(dom, "aside", 'id="card"')
        self.assertIn("the host waited for #1 read input for 1.900 µs.", card)
        self.assertIn("on the critical path", card)
        self.assertIn("Tasks that had to end (1) #1 read input ended at 1.500 µs", card)
        self.assertIn("the host waited for room in the window for 10 ns", part(open_page(make("host"), "host=1"), "aside", 'id="card"'))
        legend = part(dom, "div", 'id="legend"')  # host tasks by their labels, others by their kernels
        for words in ("read input", "write output", "kernel 44 %"):
            self.assertIn(words, legend)
        self.assertNotIn("host 4", legend)

    def test_graph(self):
        dom = open_page(make("graph"), "task=1000003000001&search=%233.1")
        self.assertIn("2 tasks", part(dom, "div", 'id="numbers"'))  # the launch is shown by its nodes
        card = part(dom, "aside", 'id="card"')
        self.assertTrue(card.startswith("#3.1 second node"))
        self.assertIn("#3.0 first node RAW", card)
        self.assertEqual(part(dom, "output", 'id="hits"'), "1 hit")

    def test_pipeline(self):
        dom = open_page(make("pipeline"))
        numbers = part(dom, "div", 'id="numbers"')
        for words in ("2 tasks", "9.000 µs in all", "0.42 of 1 lanes", "2 tokens"):  # lines are no workers
            self.assertIn(words, numbers)
        legend = part(dom, "div", 'id="legend"')
        # Of 18 us of two lines: 2 reading, 1 computing, 4 writing, 4.2 for tasks, 2.4 for a turn, 0.4 for a thread, 4 without a token.
        for words in ("stage read 11 %", "stage compute 5.6 %", "stage <img src=x> 22 %", "waits for its turn 13 %", "waits for tasks 23 %",
                      "waits for a thread 2.2 %", "no token 22 %"):
            self.assertIn(words, legend)
        self.assertNotIn("<img", dom)

    def test_empty(self):
        numbers = part(open_page(make("empty")), "div", 'id="numbers"')
        self.assertIn("0 tasks", numbers)


class Driven(unittest.TestCase):
    def test_mouse(self):
        self.assertEqual(drive(make("small"), """
            const [x, y] = middle(3);
            point('pointermove', x, y);
            result.push(view.hovered.id, document.getElementById('tip').hidden);
            point('pointerdown', x, y); point('pointerup', x, y);
            result.push(selected(), document.getElementById('card').hidden);
            point('pointerdown', x, 5); point('pointerup', x, 5);
            result.push(selected(), document.getElementById('card').hidden);
            const span = view.targetTo - view.targetFrom, time = view.time(x);
            point('wheel', x, y, {deltaY: -200});
            result.push(view.targetTo - view.targetFrom < span, Math.abs(view.time(x) - time) < 1);
            const from = view.targetFrom;
            point('pointerdown', x, y); point('pointermove', x - 40, y); point('pointerup', x - 40, y);
            result.push(view.targetFrom > from, selected());
            document.querySelector('#fit').click();
            result.push(view.targetTo - view.targetFrom === span)"""),
            [3, False, 3, False, 0, True, True, True, True, 0, True])

    def test_keys(self):
        self.assertEqual(drive(make("small"), """
            const span = () => view.targetTo - view.targetFrom, whole = span();
            press('+'); result.push(span() < whole); press('0'); result.push(span() === whole);
            press('+'); const from = view.targetFrom; press('ArrowRight'); result.push(view.targetFrom > from); press('0');
            search('conv'); press('n'); result.push(selected()); press('n'); result.push(selected()); press('N'); result.push(selected());
            press('s'); result.push(selected()); press('p'); result.push(selected());
            press(']'); result.push(selected()); press('['); result.push(selected());
            press('c'); result.push(view.showCritical); press('c'); result.push(view.showCritical);
            select(model.byId.get(7)); press('z'); result.push(span() < whole);
            press('Escape'); result.push(selected()); press('Escape'); result.push(view.hits);
            press('/'); result.push(document.activeElement.id)"""),
            [True, True, True, 2, 3, 2, 4, 3, 3, 3, True, False, True, 0, None, "query"])

    def test_links(self):
        self.assertEqual(drive(make("small"), """
            select(model.byId.get(4));
            document.querySelector('.waits [data-task="2"]').click(); result.push(selected());
            document.querySelector('.waits [data-task="1"]').click(); result.push(selected());
            document.querySelector('#legend button').click(); result.push(hitList.length)"""), [2, 1, 3])

    def test_unknown_fragment(self):
        dom = open_page(make("small"), "task=99&from=x&to=&search=%zz")
        self.assertRegex(dom, r'<aside id="card"[^>]*hidden')

    def test_pipeline_cards(self):
        self.assertEqual(drive(make("pipeline"), """
            const all = (selector) => [...document.querySelectorAll('#card ' + selector)].map((each) => each.textContent);
            const show = (line, state) => { const span = model.lineSpans.find((each) => each.line === line && each.state === state);
              select(span); return [all('#sentence')[0], all('.kernel')[0]]; };
            result.push(show(0, 'tasks'), all('.tasks li').length, all('.token li').length);
            document.querySelector('.tasks button').click(); result.push(selected(), all('.call button')[0]);
            document.querySelector('.call button').click(); result.push(all('#sentence')[0], all('.tasks li').length);
            result.push(show(1, 'turn'), all('.before button')[0]);
            result.push(show(0, 'thread')[0], show(1, 'free')[0], all('.tasks li').length)"""), [
            ["token 11 waited 2.100 µs for tasks after stage compute.", "pipeline 0, line 0 · stage 1 compute, parallel"], 1, 5,
            1, "token 11 was in stage compute for 500 nspipeline 0, line 0 · stage 1 compute, parallel, at 2.000 µs",
            "token 11 was in stage compute for 500 ns.", 1,
            ["token 12 waited 2.400 µs so far for its turn at stage <img src=x>.", "pipeline 0, line 1 · stage 2 <img src=x>, serial"],
            "token 11 was in stage <img src=x> for 4.000 µs so faruntil 9.000 µs",
            "token 11 waited 400 ns for a thread at stage compute.", "line 1 had no token for 3.000 µs.", 0])

    def test_pipeline_search_and_steps(self):
        self.assertEqual(drive(make("pipeline"), """
            search('token 12'); result.push(hitList.length); press('n'); result.push(selected()); press('n');
            result.push(view.selected.state, view.selected.token);
            search('waits for tasks'); result.push(hitList.length); search('compute'); result.push(hitList.length); search('');
            select(model.lineSpans[0]); press(']'); press(']'); result.push(view.selected.label); press('['); result.push(view.selected.label);
            press('p'); press('s'); press('z'); press('c'); press('c'); press('0');
            const [x, y] = [view.x(5500), view.middleOf(model.lineSpans[2])];
            point('pointermove', x, y); result.push(view.hovered.label, document.getElementById('tip').textContent.includes('line 0'));
            point('pointerdown', x, y); point('pointerup', x, y); result.push(view.selected.index === view.hovered.index)"""),
            [5, 2, "busy", 12, 2, 4, "token 11: compute", "token 11: read", "token 11: <img src=x>", True, True])
        card = part(open_page(make("pipeline"), "span=1"), "aside", 'id="card"')
        self.assertIn("token 11 was in stage read for 1.000 µs.", card)

    def test_many_tokens(self):
        dom = open_page(make("lines", LARGE_TOKENS), f"span={4 * LARGE_TOKENS - 9}&search=token {LARGE_TOKENS - 1}")
        numbers = part(dom, "div", 'id="numbers"')
        self.assertIn("0 tasks", numbers)
        self.assertIn(f"{LARGE_TOKENS:,} tokens", numbers)
        self.assertEqual(part(dom, "output", 'id="hits"'), "3 hits")
        self.assertIn(f"token {LARGE_TOKENS - 1} was in stage second for 400 ns.", part(dom, "aside", 'id="card"'))

    def test_many_tasks(self):
        dom = open_page(make("random", LARGE_TASKS), "task=17777&search=matmul")
        self.assertIn(f"{LARGE_TASKS:,} tasks", part(dom, "div", 'id="numbers"'))
        self.assertTrue(part(dom, "aside", 'id="card"').startswith("#17777 "))
        self.assertRegex(part(dom, "output", 'id="hits"'), r"^\d{4,5} hits$")


if __name__ == "__main__":
    if not CHROMIUM:
        print("skipped: chromium is not installed")
        sys.exit(77)
    unittest.main()
