// The page around the canvases: card, search, legend, keys, and the state that the address keeps:
// #task=12&search=conv&critical=1&from=0&to=5000 (nanoseconds); #span=3 for what a line did.

const element = (id) => document.getElementById(id);

// A new element; text is set as text, never as HTML, because labels come from anywhere.
function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'onclick') made.addEventListener('click', value); else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const model = new Model(JSON.parse(element('data').textContent));
const view = new View(model, element('lanes'), element('overview'), () => rememberSoon());
let hitList = [], hitAt = -1, remembering = 0, reading = false;

function showNumbers() {
  document.title = model.title;
  element('title').textContent = model.title;
  const number = (value, text) => make('span', {}, make('b', {}, value), ' ' + text);
  element('numbers').append(
    number(model.tasks.length.toLocaleString('en'), 'tasks'),
    number(formatTime(model.end), 'in all'),
    number((model.busy / model.end).toFixed(2), `of ${model.workLanes.length} lanes`),
    number(formatTime(model.criticalTime), `critical path (${formatShare(model.criticalTime, model.end)}, ${model.critical.filter((node) => !node.isHost).length} tasks)`));
  if (model.pipelines.length) element('numbers').append(number(model.tokenCount.toLocaleString('en'), 'tokens'));
  if (model.ranks) element('numbers').append(number(model.ranks, 'ranks'), number(model.messages.length.toLocaleString('en'), 'messages'));
  const failed = model.tasks.filter((task) => task.status !== 'WEIR_OK').length;
  const warnings = [];
  if (model.dropped > 0) warnings.push(`This timeline is incomplete: ${model.dropped} records were dropped for want of memory.`);
  if (failed) warnings.push(`${failed} ${failed === 1 ? 'task' : 'tasks'} did not succeed.`);
  element('warning').textContent = warnings.join(' ');
  element('warning').hidden = !warnings.length;
}

function showLegend() {
  const most = COLOURS.length - 1, total = model.kernels.reduce((sum, kernel) => sum + kernel.time, 0);
  const entry = (colour, text, title, query) => make('button', {type: 'button', title, onclick: () => search(query)},
    make('i', {style: `background:${colour}`}), text);
  model.kernels.slice(0, most).forEach((kernel, i) => element('legend').append(entry(COLOURS[i],
    `${kernel.name} ${formatShare(kernel.time, total)}`, `${kernel.tasks} tasks, ${formatTime(kernel.time)}; click to search`, kernel.name)));
  const others = model.kernels.slice(most);
  if (others.length) {
    element('legend').append(make('span', {}, `${others.length} more in grey, ${formatShare(others.reduce((sum, kernel) => sum + kernel.time, 0), total)}`));
  }
}

// ---- the card

const taskName = (task) => task.isHost ? hostText(model, task) : task.isSpan ? model.spanText(task) : `${formatId(task.id)} ${task.label}`;

function taskLink(task, extra, note) {
  return make('button', {type: 'button', class: 'task-link', 'data-task': task.id, onclick: () => select(task, {reveal: true})},
    taskName(task), ' ', extra, make('small', {}, note));
}

function waitNote(wait) {
  if (wait.hazard === 'AFTER') return 'named as a predecessor';
  if (wait.hazard === 'MESSAGE') return `message of ${model.bufferName(wait.buffer)}, bytes [${wait.lo}, ${wait.hi})`;
  if (wait.hazard === 'STORAGE') return `got the storage of ${model.bufferName(wait.buffer)}`;
  return `${model.bufferName(wait.buffer)}, bytes [${wait.lo}, ${wait.hi})`;
}

function listOf(title, entries, className) {
  if (!entries.length) return null;
  const limit = 60, list = make('ul', {class: className}, ...entries.slice(0, limit).map((entry) => make('li', {}, entry())));
  if (entries.length > limit) list.append(make('li', {}, `and ${entries.length - limit} more`));
  return make('section', {}, make('h3', {}, `${title} (${entries.length})`), list);
}

function table(className, headings, rows) {
  const cell = (tag, text) => {
    const number = typeof text === 'object';
    return make(tag, number ? {class: 'number'} : {}, String(number ? text[0] : text));
  };
  return make('table', {class: className}, make('tr', {}, ...headings.map((text) => cell('th', text))),
    ...rows.map((row) => make('tr', {}, ...row.map((text) => cell('td', text)))));
}

function timesTable(task) {
  const rows = [['submitted', task.submit, 0], ['ready', task.ready, task.ready - task.submit],
    ['started', task.start, task.start - task.ready], ['ended', task.end, task.end - task.start]];
  const meanings = ['', 'for predecessors', 'for a ' + (model.laneOf(task) || {word: 'lane'}).word, 'running'];
  return table('times', ['', ['at'], ['after'], ''],
    rows.map(([name, at, after], i) => [name, [formatTime(at)], [i ? formatTime(after) : ''], meanings[i]]));
}

function phases(task) {
  const whole = Math.max(1, task.end - task.submit), part = (from, to, colour, title) =>
    make('i', {style: `width:${100 * Math.max(0, to - from) / whole}%;background:${colour}`, title});
  return make('div', {class: 'phases', 'aria-hidden': 'true'},
    part(task.submit, task.ready, 'var(--soft)', 'waiting for predecessors'),
    part(task.ready, task.start, 'var(--war)', 'waiting for a lane'),
    part(task.start, task.end, colourOf(task), 'running'));
}

function reasonsSection(task) {
  return make('section', {class: 'reasons'}, make('h3', {}, 'Why it started when it did'),
    make('ul', {}, ...model.reasons(task).map((reason) => make('li', {}, reason.text,
      ...(reason.task ? [taskLink(reason.task, '', reason.after)] : [])))));
}

function accessTable(task) {
  if (!task.accesses.length) return null;
  const limit = 60, rows = task.accesses.slice(0, limit).map((access) => [access.mode.replace('_', ' and '), model.bufferName(access.buffer),
    `[${access.offset}, ${Number(access.offset) + Number(access.bytes)})`, [formatBytes(access.bytes)], [access.storage]]);
  return make('section', {}, make('h3', {}, `Accesses (${task.accesses.length})`),
    table('accesses', ['mode', 'buffer', 'bytes', ['size'], ['storage']], rows),
    task.accesses.length > limit ? `and ${task.accesses.length - limit} more` : null);
}

function partTable(task) {
  if (!task.spans.length) return null;
  const limit = 60, rows = task.spans.slice(0, limit).map((span) => [span.name || task.label, [span.lane], [formatTime(span.start)],
    [formatTime(span.end - span.start)]]);
  return make('section', {}, make('h3', {}, `Launches and parts (${task.spans.length})`),
    table('parts', ['name', ['lane'], ['start'], ['time']], rows),
    task.spans.length > limit ? `and ${task.spans.length - limit} more` : null);
}

function fillCard(task) {
  if (task.isSpan) return fillSpanCard(task);
  if (task.isHost) return fillHostCard(task);
  const lane = model.laneOf(task), device = model.devices[task.device];
  const slack = task.critical ? 'on the critical path' : `slack ${formatTime(Math.max(0, task.slack))}`;
  const action = (text, title, onclick) => make('button', {type: 'button', title, onclick}, text);
  const waits = task.waits.map((wait) => () => wait.from
    ? taskLink(wait.from, make('span', {class: `hazard ${wait.hazard}`}, wait.hazard), `${waitNote(wait)}; ended at ${formatTime(wait.from.end)}`)
    : make('span', {}, `${formatId(wait.task)} (not shown) ${wait.hazard}: ${waitNote(wait)}`));
  const successors = task.successors.map(({to, wait}) => () =>
    taskLink(to, make('span', {class: `hazard ${wait.hazard}`}, wait.hazard), `${waitNote(wait)}; started at ${formatTime(to.start)}`));
  element('card').replaceChildren(...[
    make('div', {class: 'top'}, make('h2', {}, taskName(task)), action('\u00d7', 'Close (Esc)', () => select(null))),
    make('p', {class: 'kernel'}, [task.kernel && task.kernel !== task.label ? `kernel ${task.kernel}` : '',
      `${device ? device.name : 'device ' + task.device}, ${lane ? lane.name : 'lane ' + task.lane}`, `tag ${task.tag}`].filter(Boolean).join(' \u00b7 ')),
    make('div', {}, make('span', {class: task.status === 'WEIR_OK' ? 'badge' : 'badge failed', id: 'status'}, task.status),
      make('span', {class: task.critical ? 'badge critical' : 'badge',
        title: 'How much longer it could take before the critical path grows'}, slack)),
    phases(task), timesTable(task), placeSection(task), callSection(task),
    make('div', {class: 'actions'}, action('Zoom to it', 'z', () => view.reveal(task, true)),
      action('\u2190 lane', 'Previous task of the lane ([)', () => stepInLane(-1)), action('lane \u2192', 'Next task of the lane (])', () => stepInLane(1))),
    reasonsSection(task), listOf('Waited for', waits, 'waits'), listOf('Waited for it', successors, 'successors'),
    accessTable(task), partTable(task)].filter((child) => child !== null));
  element('card').scrollTop = 0;
}

// ---- lines of pipelines

function spanLink(span, note) {
  return make('button', {type: 'button', class: 'task-link', 'data-span': span.index, onclick: () => select(span, {reveal: true})},
    model.spanText(span), make('small', {}, note));
}

// What the task is in the common sequence of several ranks.
function placeSection({place}) {
  if (!place) return null;
  const {call, direction, peer, message} = place;
  const text = direction === 0 ? `Call ${call} of the common sequence.`
    : `Message ${message} ${direction === 1 ? 'to' : 'from'} rank ${peer}, for call ${call} of the common sequence.`;
  return make('p', {id: 'place'}, text);
}

// The call of a stage that submitted a task.
function callSection(task) {
  const span = task.call && model.callOf(task.call);
  if (!span) return null;
  return make('section', {class: 'call'}, make('h3', {}, 'Submitted by'), spanLink(span, `${model.placeOf(span)}, at ${formatTime(span.start)}`));
}

function fillSpanCard(span) {
  const action = (text, title, onclick) => make('button', {type: 'button', title, onclick}, text);
  const tasks = model.tasksOf(span), before = model.tokenBefore(span);
  const token = span.token === null ? [] : model.spansOfToken(span);
  element('card').replaceChildren(...[
    make('div', {class: 'top'}, make('h2', {}, span.label), action('\u00d7', 'Close (Esc)', () => select(null))),
    make('p', {class: 'kernel'}, model.placeOf(span)),
    make('p', {id: 'sentence'}, model.spanText(span) + '.'),
    table('times', ['', ['at'], ['after']], [['from', [formatTime(span.start)], ['']],
      [span.open ? 'so far' : 'to', [formatTime(span.end)], [formatTime(span.end - span.start)]]]),
    make('div', {class: 'actions'}, action('Zoom to it', 'z', () => view.reveal(span, true)),
      action('\u2190 line', 'What the line did before ([)', () => stepInLane(-1)), action('line \u2192', 'What it did next (])', () => stepInLane(1))),
    before ? make('section', {class: 'before'}, make('h3', {}, 'Before it in this stage'), spanLink(before, `until ${formatTime(before.end)}`)) : null,
    listOf(span.state === 'busy' ? 'Tasks that it submitted' : 'Tasks of the token so far',
      tasks.map((task) => () => taskLink(task, '', `started at ${formatTime(task.start)}, ended at ${formatTime(task.end)}`)), 'tasks'),
    listOf(`Token ${span.token}`, token.map((each) => () => spanLink(each, `from ${formatTime(each.start)} to ${formatTime(each.end)}`)), 'token'),
  ].filter((child) => child !== null));
  element('card').scrollTop = 0;
}

function fillHostCard(wait) {
  const action = (text, title, onclick) => make('button', {type: 'button', title, onclick}, text);
  element('card').replaceChildren(...[
    make('div', {class: 'top'}, make('h2', {}, wait.label), action('\u00d7', 'Close (Esc)', () => select(null))),
    make('p', {class: 'kernel'}, `host, thread ${wait.lane}`),
    make('p', {id: 'sentence'}, hostText(model, wait) + '.'),
    make('div', {}, make('span', {class: wait.critical ? 'badge critical' : 'badge'}, wait.critical ? 'on the critical path' : 'not on the critical path')),
    table('times', ['', ['at'], ['after']], [['from', [formatTime(wait.start)], ['']], ['to', [formatTime(wait.end)], [formatTime(wait.end - wait.start)]]]),
    listOf('Tasks that had to end', (wait.after || []).slice().sort((a, b) => b.end - a.end)
      .map((task) => () => taskLink(task, '', `ended at ${formatTime(task.end)}`)), 'tasks'),
  ].filter((child) => child !== null));
  element('card').scrollTop = 0;
}

function showStages() {
  const total = model.lineSpans.reduce((sum, span) => sum + span.end - span.start, 0);
  for (const stage of model.stages) {
    element('legend').append(make('button', {type: 'button', title: `${stage.calls} calls, ${formatTime(stage.time)}; click to search`,
      onclick: () => search(stage.name)}, make('i', {style: `background:${COLOURS[stage.rank]}`}), `stage ${stage.name} ${formatShare(stage.time, total)}`));
  }
  for (const [state, {text, colour}] of Object.entries(STALLS)) {
    const spans = model.lineSpans.filter((span) => span.state === state), time = spans.reduce((sum, span) => sum + span.end - span.start, 0);
    if (!spans.length) continue;
    element('legend').append(make('button', {type: 'button', title: `${spans.length} times, ${formatTime(time)}; click to search`, onclick: () => search(text)},
      make('i', {style: `background:repeating-linear-gradient(135deg, var(--${colour}) 0 1.5px, transparent 1.5px 4px)`}), `${text} ${formatShare(time, total)}`));
  }
}

function select(task, {reveal = false} = {}) {
  view.selected = task;
  element('card').hidden = !task;
  if (task) {
    fillCard(task);
    element('live').textContent = task.isSpan ? taskName(task) : `${taskName(task)}, ${formatTime(task.end - task.start)}`;
    if (reveal) view.reveal(task);
  }
  view.redraw();
  rememberSoon();
}

function stepInLane(direction) {
  const task = view.selected, lane = task ? model.laneOf(task) : model.lanes[0];
  if (!lane || !lane.items.length) return;
  const at = task ? lane.items.findIndex((item) => item.task === task) : -1;
  const next = lane.items[Math.max(0, Math.min(lane.items.length - 1, at + direction))];
  select(next.task, {reveal: true});
}

// ---- search

function search(query) {
  element('query').value = query;
  const text = query.trim().toLowerCase(), id = /^#?(\d+(\.\d+)?)$/.exec(text);
  const matches = (task) => (id && formatOwnId(showRanks ? task.id % RANK_IDS : task.id) === `#${id[1]}`) || (text[0] !== '#' &&
    (task.label.toLowerCase().includes(text) || task.kernel.toLowerCase().includes(text)));
  const token = /^token (\d+)$/.exec(text), ofToken = (each) => each.token === Number(token[1]);
  hitList = !text ? [] : token ? model.tasks.filter(({call}) => call && ofToken(call)).concat(model.lineSpans.filter(ofToken))
    : model.tasks.filter(matches).concat(model.lineSpans.filter(({label}) => label.toLowerCase().includes(text)));
  hitAt = -1;
  view.hits = text ? new Set(hitList) : null;
  showHits();
  view.redraw();
  rememberSoon();
}

function showHits() {
  const place = hitAt >= 0 ? `${hitAt + 1} of ` : '';
  element('hits').textContent = view.hits ? `${place}${hitList.length} ${hitList.length === 1 ? 'hit' : 'hits'}` : '';
}

function stepHit(direction) {
  if (!hitList.length) return;
  hitAt = hitAt < 0 && direction < 0 ? hitList.length - 1 : (hitAt + direction + hitList.length) % hitList.length;
  showHits();
  select(hitList[hitAt], {reveal: true});
}

function setCritical(on) {
  view.showCritical = on;
  element('critical').setAttribute('aria-pressed', String(on));
  view.redraw();
  rememberSoon();
}

// ---- the address

function rememberSoon() {
  if (reading || remembering) return;
  remembering = setTimeout(() => {
    remembering = 0;
    const state = new URLSearchParams();
    if (view.selected && view.selected.isHost) state.set('host', view.selected.index);
    else if (view.selected) state.set(view.selected.isSpan ? 'span' : 'task', view.selected.isSpan ? view.selected.index : view.selected.id);
    if (view.hits) state.set('search', element('query').value);
    if (view.showCritical) state.set('critical', '1');
    if (view.targetTo - view.targetFrom < model.end) {
      state.set('from', Math.round(view.targetFrom));
      state.set('to', Math.round(view.targetTo));
    }
    history.replaceState(null, '', state.size ? '#' + state : location.pathname + location.search);
  }, 250);
}

function readAddress() {
  const state = new URLSearchParams(location.hash.slice(1)), from = parseFloat(state.get('from')), to = parseFloat(state.get('to'));
  reading = true;
  search(state.get('search') || '');
  setCritical(state.get('critical') === '1');
  const task = model.byId.get(Number(state.get('task'))) || (state.has('span') && model.lineSpans[Number(state.get('span'))]) ||
    (state.has('host') && model.hostWaits[Number(state.get('host'))]) || null;
  select(task, {reveal: task && !(to > from)});
  if (to > from) view.show(from, to, true);
  reading = false;
}

// ---- mouse, touch and keys

function followPointer() {
  const canvas = element('lanes'), tip = element('tip');
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    drag = {x: event.offsetX, y: event.offsetY, from: view.targetFrom, to: view.targetTo, scroll: view.scroll, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > 4;
      if (!drag.moved) return;
      canvas.classList.add('dragging');
      tip.hidden = true;
      const step = dx / (view.width - GUTTER) * (drag.to - drag.from);
      view.setScroll(drag.scroll - dy);
      view.show(drag.from - step, drag.to - step, true);
      return;
    }
    const item = view.itemAt(event.offsetX, event.offsetY), task = item && item.task;
    if (view.hovered !== task) {
      view.hovered = task;
      view.redraw();
    }
    tip.hidden = !task;
    if (!task) return;
    tip.replaceChildren(taskName(task), make('small', {}, `${formatTime(item.end - item.start)}, started at ${formatTime(item.start)}` +
      (item.name ? `, ${item.name}` : '')), make('small', {}, task.isHost ? '' : task.isSpan ? model.placeOf(task)
      : `${task.waits.length} predecessors, ${task.successors.length} successors`));
    tip.style.left = `${Math.min(event.offsetX + 14, view.width - 200)}px`;
    tip.style.top = `${Math.min(event.offsetY + 16, view.height - 70)}px`;
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag && !drag.moved) {
      const item = view.itemAt(event.offsetX, event.offsetY);
      select(item ? item.task : null);
    }
    drag = null;
    canvas.classList.remove('dragging');
  });
  canvas.addEventListener('pointercancel', () => { drag = null; });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; view.hovered = null; view.redraw(); });
  canvas.addEventListener('dblclick', (event) => {
    const item = view.itemAt(event.offsetX, event.offsetY);
    if (item) view.reveal(item.task, true); else view.fit();
  });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      view.pan((event.deltaX || event.deltaY) * unit / view.width);
    } else if (event.altKey || (event.offsetX < GUTTER && !event.ctrlKey)) {
      view.setScroll(view.scroll + event.deltaY * unit);
      view.redraw();
    } else {
      view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.003))), Math.max(GUTTER, event.offsetX));
    }
  }, {passive: false});
}

function followOverview() {
  const canvas = element('overview');
  let offset = null;
  const move = (event) => {
    const time = (event.offsetX - GUTTER) / (canvas.clientWidth - GUTTER) * model.end, span = view.targetTo - view.targetFrom;
    view.show(time - offset * span, time + (1 - offset) * span, true);
  };
  canvas.addEventListener('pointerdown', (event) => {
    const left = view.overviewX(view.targetFrom), right = view.overviewX(view.targetTo);
    const inside = event.offsetX >= left && event.offsetX <= right;
    offset = inside ? (event.offsetX - left) / (right - left) : 0.5;
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  canvas.addEventListener('pointermove', (event) => { if (offset !== null) move(event); });
  for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, () => { offset = null; });
}

const keys = {
  ArrowLeft: () => view.pan(-0.12), ArrowRight: () => view.pan(0.12),
  ArrowUp: () => { view.setScroll(view.scroll - view.laneHeight); view.redraw(); },
  ArrowDown: () => { view.setScroll(view.scroll + view.laneHeight); view.redraw(); },
  '+': () => view.zoom(0.7), '=': () => view.zoom(0.7), '-': () => view.zoom(1 / 0.7), '0': () => view.fit(),
  z: () => view.selected && view.reveal(view.selected, true),
  '[': () => stepInLane(-1), ']': () => stepInLane(1),
  p: () => view.selected && model.lastPredecessor(view.selected) && select(model.lastPredecessor(view.selected), {reveal: true}),
  s: () => view.selected && view.selected.successors.length &&
    select(view.selected.successors.reduce((first, {to}) => to.start < first.start ? to : first, view.selected.successors[0].to), {reveal: true}),
  '/': () => { element('query').focus(); element('query').select(); },
  n: () => stepHit(1), N: () => stepHit(-1),
  c: () => setCritical(!view.showCritical),
  '?': () => element('keys').showModal(),
  Escape: () => { if (view.selected) select(null); else search(''); },
};

function followKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || element('keys').open) return;
    const typing = event.target === element('query'), key = event.key;
    if (typing) {
      if (key === 'Escape') element('lanes').focus();
      return;
    }
    if (!keys[key] || (key.startsWith('Arrow') && element('card').contains(event.target))) return;
    event.preventDefault();
    keys[key]();
  });
}

showNumbers();
showLegend();
showStages();
readAddress();
followPointer();
followOverview();
followKeys();
element('query').addEventListener('input', () => search(element('query').value));
element('search').addEventListener('submit', (event) => { event.preventDefault(); stepHit(1); });
element('hit-next').addEventListener('click', () => stepHit(1));
element('hit-previous').addEventListener('click', () => stepHit(-1));
element('critical').addEventListener('click', () => setCritical(!view.showCritical));
element('fit').addEventListener('click', () => view.fit());
element('help').addEventListener('click', () => element('keys').showModal());
addEventListener('hashchange', readAddress);
