// What threads of the program waited for: lanes below the devices, and links of the critical path.

const CAUSES = {finish: 'waited for all tasks', event: 'waited for', read: 'waited for the bytes of', window: 'waited for room in the window',
  memory: 'waited for memory'};

// Waits are shown and selected like tasks.
function readHost(model, data) {
  const first = model.devices.length, rows = data.host || [];
  const device = (rank) => first + (rank || 0);
  model.hostWaits = rows.map(([cause, lane, task, start, end, reached, rank], index) => ({
    isHost: true, index, id: `host ${index}`, cause, rank, device: device(rank), lane, waitedFor: task, start, end, reached, submit: start, ready: start, status: 'WEIR_OK',
    done: true, label: cause, kernel: '', accesses: [], waits: [], spans: [], successors: [], kernelEntry: {rank: MOST_COLOURS}, critical: false,
  }));
  for (let rank = 0; rows.length && rank < Math.max(1, model.ranks); rank++) {
    const own = model.hostWaits.filter((wait) => wait.device === device(rank));
    const lanes = own.reduce((most, wait) => Math.max(most, wait.lane + 1), 0);
    model.devices.push({name: 'host', lanes, word: 'thread', host: true, rank: model.ranks ? rank : undefined});
  }
}

// A wait that gives order: what was submitted after it comes after what it waited for.
const givesOrder = (wait) => wait.reached && ['finish', 'event', 'read'].includes(wait.cause);

// The tasks that a wait came after, and for each task the last wait before its submission.
function linkHost(model) {
  for (let rank = 0; rank < Math.max(1, model.ranks); rank++)
    linkHostOf(model, model.hostWaits.filter((wait) => (wait.rank || 0) === rank), model.tasks.filter(({id}) => !model.ranks || rankOf(id) === rank));
}

function linkHostOf(model, waits, all) {
  const order = waits.filter(givesOrder).sort((a, b) => a.end - b.end);
  const tasks = all.slice().sort((a, b) => a.submit - b.submit);
  const launches = new Map(); // the nodes of each
  for (const task of tasks.filter(({id}) => id % RANK_IDS >= 1e12)) {
    const launch = task.id - task.id % RANK_IDS + Math.floor((task.id % RANK_IDS - 1e12) / 1e6);
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
