// What threads of the program waited for: lanes below the devices, and links of the critical path.

const CAUSES = {finish: 'waited for all tasks', event: 'waited for', read: 'waited for the bytes of', window: 'waited for room in the window',
  memory: 'waited for memory'};

// Waits are shown and selected like tasks.
function readHost(model, data) {
  const device = model.devices.length, rows = data.host || [];
  model.hostWaits = rows.map(([cause, lane, task, start, end, reached], index) => ({
    isHost: true, index, id: `host ${index}`, cause, device, lane, waitedFor: task, start, end, reached, submit: start, ready: start, status: 'WEIR_OK',
    done: true, label: cause, kernel: '', accesses: [], waits: [], spans: [], successors: [], kernelEntry: {rank: MOST_COLOURS}, critical: false,
  }));
  const lanes = model.hostWaits.reduce((most, wait) => Math.max(most, wait.lane + 1), 0);
  if (lanes > 0) model.devices.push({name: 'host', lanes, word: 'thread', host: true});
}

// A wait that gives order: what was submitted after it comes after what it waited for.
const givesOrder = (wait) => wait.reached && ['finish', 'event', 'read'].includes(wait.cause);

// The tasks that a wait came after, and for each task the last wait before its submission.
function linkHost(model) {
  const order = model.hostWaits.filter(givesOrder).sort((a, b) => a.end - b.end);
  const tasks = model.tasks.slice().sort((a, b) => a.submit - b.submit);
  const launches = new Map(); // the nodes of each
  for (const task of tasks.filter(({id}) => id >= 1e12)) {
    const launch = Math.floor((task.id - 1e12) / 1e6);
    if (launches.has(launch)) launches.get(launch).push(task); else launches.set(launch, [task]);
  }
  const waitedFor = (id) => model.byId.has(id) ? [model.byId.get(id)] : launches.get(id) || [];
  let first = 0, last = null, next = 0;
  tasks.forEach((task) => { task.hostBefore = null; });
  for (const wait of order) {
    while (next < tasks.length && tasks[next].submit < wait.end) tasks[next++].hostBefore = last;
    wait.after = (wait.waitedFor ? waitedFor(wait.waitedFor) : tasks.slice(first, next)).filter((task) => task.end <= wait.end);
    wait.hostBefore = last;
    if (!wait.waitedFor) first = next;
    last = wait;
  }
  while (next < tasks.length) tasks[next++].hostBefore = last;
}

// For example "the host waited 35.0 us for #7 blur".
function hostText(model, wait) {
  const task = model.byId.get(wait.waitedFor), of = wait.waitedFor ? ` ${task ? `${formatId(task.id)} ${task.label}` : `#${wait.waitedFor}`}` : '';
  return `the host ${CAUSES[wait.cause] || wait.cause}${of} for ${formatTime(wait.end - wait.start)}${wait.reached ? '' : ', and gave up'}`;
}
