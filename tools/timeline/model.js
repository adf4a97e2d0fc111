'use strict';
// What the page knows about a run: tasks, lanes, the critical path, and why each task started when it did.
// Times are nanoseconds since the first submission.

function readRows(flat, names) {
  const rows = [];
  for (let i = 0; i < flat.length; i += names.length) {
    const row = {};
    names.forEach((name, k) => { row[name] = flat[i + k]; });
    rows.push(row);
  }
  return rows;
}

function readTask(row, index) {
  const [id, tag, label, kernel, device, lane, status, submit, ready, start, end, accesses, waits, spans, call, place] = row;
  return {
    index, id, tag, label, kernel, device, lane, status, submit, ready, start, end,
    done: status !== 'WEIR_PENDING',
    accesses: readRows(accesses, ['mode', 'buffer', 'storage', 'offset', 'bytes']),
    waits: readRows(waits, ['task', 'hazard', 'buffer', 'lo', 'hi']),
    spans: readRows(spans, ['lane', 'start', 'end', 'name']),
    successors: [],
    call: call && call.length ? {pipeline: call[0], line: call[1], stage: call[2], token: call[3]} : null,
    place: place ? {call: place[0], direction: place[1], peer: place[2], message: place[3]} : null,
  };
}

class Lane {
  constructor(device, index, word) {
    this.device = device;
    this.index = index;
    this.word = word;
    this.name = `${word} ${index}`;
    this.items = [];
  }

  // Sorts the items and adds up the time in which the lane was busy, before each of them. Idle ones are shown, and not counted.
  finish() {
    this.items.sort((a, b) => a.start - b.start || a.end - b.end);
    this.busyBefore = new Float64Array(this.items.length + 1);
    this.latestEnd = new Float64Array(this.items.length);
    let busy = 0, covered = -Infinity;
    this.items.forEach((item, i) => {
      this.busyBefore[i] = busy;
      if (item.end > covered) {
        if (!item.idle) busy += item.end - Math.max(item.start, covered);
        covered = item.end;
      }
      this.latestEnd[i] = covered;
    });
    this.busyBefore[this.items.length] = busy;
    this.busy = busy;
  }

  // Index of the first item that starts at `time` or later.
  firstFrom(time) {
    let low = 0, high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.items[middle].start < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Index of the first item that may still run at `time`.
  firstAt(time) {
    let low = 0, high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.latestEnd[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  // How long it was busy between two times.
  busyIn(from, to) {
    let busy = 0;
    for (let i = this.firstAt(from); i < this.items.length && this.items[i].start < to; i++) {
      busy += Math.max(0, Math.min(to, this.items[i].end) - Math.max(from, this.items[i].start));
    }
    return busy;
  }

  // What ran last before `time`, other than `task`.
  before(time, task) {
    for (let i = this.firstFrom(time) - 1; i >= 0; i--) {
      if (this.items[i].task !== task) return this.items[i];
    }
    return null;
  }
}

class Model {
  constructor(data) {
    this.title = data.title;
    this.dropped = data.dropped;
    this.devices = data.devices.map(([name, lanes, word, rank]) => ({name, lanes, word, rank}));
    this.ranks = new Set(this.devices.map(({rank}) => rank).filter((rank) => rank !== undefined)).size;
    showRanks = this.ranks > 0;
    this.labels = new Map(data.buffers);
    this.tasks = data.tasks.map(readTask);
    this.byId = new Map(this.tasks.map((task) => [task.id, task]));
    readPipelines(this, data);
    readHost(this, data);
    this.moveOrigin();
    this.link();
    linkHost(this);
    nameRanks(this);
    this.makeLanes();
    this.findCriticalPath();
    this.countKernels();
    linkPipelines(this);
  }

  moveOrigin() {
    let origin = this.tasks.reduce((least, task) => Math.min(least, task.submit), Infinity);
    origin = this.lineSpans.reduce((least, span) => Math.min(least, span.start), origin);
    origin = this.hostWaits.reduce((least, wait) => Math.min(least, wait.start), origin);
    this.end = 1;
    for (const wait of this.hostWaits) {
      for (const key of ['submit', 'ready', 'start', 'end']) wait[key] -= origin;
      this.end = Math.max(this.end, wait.end);
    }
    for (const span of this.lineSpans) {
      span.start -= origin;
      span.end -= origin;
      this.end = Math.max(this.end, span.end);
    }
    for (const task of this.tasks) {
      for (const key of ['submit', 'ready', 'start', 'end']) task[key] = Math.max(0, task[key] - origin);
      task.spans.forEach((span) => { span.start -= origin; span.end -= origin; });
      this.end = Math.max(this.end, task.end);
    }
  }

  link() {
    for (const task of this.tasks) {
      for (const wait of task.waits) {
        wait.from = this.byId.get(wait.task) || null;
        if (wait.from) wait.from.successors.push({to: task, wait});
      }
    }
  }

  makeLanes() {
    const lanes = this.devices.map((device, d) =>
      Array.from({length: device.lanes}, (_, index) => new Lane(d, index, device.word)));
    const lane = (d, index) => {
      if (!lanes[d]) return null;
      while (lanes[d].length <= index) lanes[d].push(new Lane(d, lanes[d].length, this.devices[d].word));
      return lanes[d][index];
    };
    for (const task of this.tasks) {
      if (!task.done) continue;
      // A task that was split over lanes shows as its parts, any other one as itself.
      task.split = task.spans.some((span) => span.lane !== task.lane);
      const whole = [{lane: task.lane, start: task.start, end: task.end, name: ''}];
      for (const {lane: index, start, end, name} of task.split ? task.spans : whole) {
        const home = lane(task.device, index);
        if (home) home.items.push({task, start, end, name});
      }
    }
    for (const span of this.lineSpans) {
      lane(span.device, span.lane).items.push({task: span, start: span.start, end: span.end, name: '', idle: span.state !== 'busy'});
    }
    for (const wait of this.hostWaits) lane(wait.device, wait.lane).items.push({task: wait, start: wait.start, end: wait.end, name: ''});
    // A queue that nothing used is not shown; a worker that had nothing to do is.
    this.lanes = lanes.flat().filter((each) => each.word !== 'queue' || each.items.length);
    if (this.ranks) this.lanes.sort((a, b) => this.devices[a.device].rank - this.devices[b.device].rank);
    this.lanes.forEach((each) => each.finish());
    this.workLanes = this.lanes.filter(({device}) => !this.devices[device].pipeline && !this.devices[device].host);
    this.busy = this.workLanes.reduce((sum, each) => sum + each.busy, 0);
  }

  // The chain of waits whose tasks ran longest in all, waits of the host between them; `slack` is by how much a task misses
  // being on such a chain.
  findCriticalPath() {
    const nodes = this.tasks.concat(this.hostWaits.filter(givesOrder)), head = new Float64Array(nodes.length), tail = new Float64Array(nodes.length);
    const via = new Int32Array(nodes.length).fill(-1), time = (node) => node.isHost ? 0 : node.end - node.start;
    nodes.forEach((node, i) => { node.node = i; });
    const before = (node) => {
      const list = node.isHost ? node.after.slice() : node.waits.map(({from}) => from).filter(Boolean);
      if (node.hostBefore) list.push(node.hostBefore);
      return list;
    };
    // In order of their ends, predecessors come before those that waited for them.
    const order = nodes.slice().sort((a, b) => a.end - b.end || (a.isHost ? 1 : 0) - (b.isHost ? 1 : 0) || a.node - b.node);
    let last = -1;
    for (const node of order) {
      for (const from of before(node)) {
        if (via[node.node] < 0 || head[from.node] > head[via[node.node]]) via[node.node] = from.node;
      }
      head[node.node] = time(node) + (via[node.node] < 0 ? 0 : head[via[node.node]]);
      if (!node.isHost && (last < 0 || head[node.node] > head[last])) last = node.node;
    }
    for (const node of order.reverse()) {
      tail[node.node] += time(node);
      for (const from of before(node)) tail[from.node] = Math.max(tail[from.node], tail[node.node]);
    }
    this.criticalTime = last < 0 ? 0 : head[last];
    this.critical = [];
    for (let i = last; i >= 0 && this.critical.length < nodes.length; i = via[i]) this.critical.push(nodes[i]);
    this.critical.reverse();
    nodes.forEach((node, i) => {
      node.slack = this.criticalTime - (head[i] + tail[i] - time(node));
      node.critical = false;
    });
    this.critical.forEach((node) => { node.critical = true; });
  }

  // Tasks of one colour: those of one kernel, or of one label if labels are fewer; host tasks by their labels; receives.
  countKernels() {
    const kernels = new Map(), distinct = (key) => new Set(this.tasks.map((task) => task[key])).size;
    const key = distinct('label') <= distinct('kernel') ? 'label' : 'kernel';
    for (const task of this.tasks) {
      const name = task.place && task.place.direction === 2 ? 'receive' : task.kernel === 'host' ? task.label : task[key] || task.label;
      if (!kernels.has(name)) kernels.set(name, {name, tasks: 0, time: 0});
      const kernel = kernels.get(name);
      kernel.tasks++;
      kernel.time += task.end - task.start;
      task.kernelEntry = kernel;
    }
    this.kernels = [...kernels.values()].sort((a, b) => b.time - a.time || (a.name < b.name ? -1 : 1));
    this.kernels.forEach((kernel, rank) => { kernel.rank = rank; });
  }

  laneOf(task) {
    return this.lanes.find((lane) => lane.device === task.device && lane.index === task.lane) || null;
  }

  bufferName(id) {
    const number = showRanks ? `buffer ${id % RANK_IDS} of rank ${rankOf(id)}` : `buffer ${id}`;
    return this.labels.has(id) ? `${this.labels.get(id)} (${number})` : number;
  }

  // The predecessor that ended last.
  lastPredecessor(task) {
    return task.waits.reduce((last, {from}) => from && (!last || from.end > last.end) ? from : last, null);
  }

  // Why the task did not start as soon as it was submitted: sentences, and the tasks that they name.
  reasons(task) {
    const reasons = [], last = this.lastPredecessor(task);
    if (!task.done) return [{text: 'It had not run when the timeline was written.'}];
    if (task.ready > task.submit && last) {
      const wait = task.waits.find(({from}) => from === last);
      const what = wait.hazard === 'AFTER' ? 'which it was told to follow'
        : wait.hazard === 'MESSAGE' ? 'which sent its contents'
        : wait.hazard === 'STORAGE' ? 'whose storage it got' : `by ${wait.hazard} on ${this.bufferName(wait.buffer)}`;
      reasons.push({text: `Waited ${formatTime(task.ready - task.submit)} for predecessors; the last one was`, task: last, after: what + '.'});
    }
    if (task.start > task.ready) reasons.push(this.resourceReason(task));
    if (!reasons.length) reasons.push({text: 'It waited for nothing.'});
    return reasons;
  }

  resourceReason(task) {
    const time = formatTime(task.start - task.ready), lane = this.laneOf(task), word = lane ? lane.word : 'lane';
    const previous = lane ? lane.before(task.start, task) : null;
    if (word === 'worker' && previous) {
      const wait = task.start - task.ready, peers = this.lanes.filter((each) => each.device === task.device);
      const idle = Math.max(...peers.map((each) => wait - each.busyIn(task.ready, task.start)));
      if (idle > wait / 10) return {text: `Then ${time} went by until a worker took it; one was idle for ${formatTime(idle)} of it.`};
      return {text: `Then no worker was free for ${time}; ${lane.name} ran`, task: previous.task,
        after: `until ${formatTime(previous.end)}.`};
    }
    if (word !== 'worker' && previous && previous.end > task.ready) {
      return {text: `Then ${lane.name} was busy, ${time} in all until the start, with`, task: previous.task,
        after: `until ${formatTime(previous.end)}.`};
    }
    return {text: word === 'worker' ? `Then ${time} went by until a worker took it.`
      : `Then ${time} went by until the device started it; its queue was free.`};
  }
}

// A task's number; of a graph's node, those of the launch and of the node (weir__trace_node_id); with the rank, if there are
// several.
function formatId(id) {
  return showRanks ? `r${rankOf(id)} ${formatOwnId(id % RANK_IDS)}` : formatOwnId(id);
}

function formatOwnId(id) {
  return id < 1e12 ? `#${id}` : `#${Math.floor((id - 1e12) / 1e6)}.${id % 1e6}`;
}

function formatTime(ns) {
  const size = Math.abs(ns);
  if (size < 1000) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(size < 1e4 ? 3 : size < 1e5 ? 2 : 1)} \u00b5s`;
  if (size < 1e9) return `${(ns / 1e6).toFixed(size < 1e7 ? 3 : size < 1e8 ? 2 : 1)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

function formatBytes(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0, value = Number(bytes);
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  return `${unit ? value.toFixed(value < 10 ? 2 : 1) : value} ${units[unit]}`;
}

function formatShare(part, whole) {
  return `${whole > 0 ? (100 * part / whole).toFixed(part / whole < 0.0995 ? 1 : 0) : 0} %`;
}
