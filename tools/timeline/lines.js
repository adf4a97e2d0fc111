// Lines of pipelines: lanes of their own below the devices, what each did, and what it has to do with tasks.

// What a line may wait for, and the colour of its stripes.
const STALLS = {
  turn: {text: 'waits for its turn', colour: 'war'},
  tasks: {text: 'waits for tasks', colour: 'raw'},
  thread: {text: 'waits for a thread', colour: 'storage'},
  free: {text: 'no token', colour: 'line'},
};

// Spans of lines are shown and selected like tasks: they have the fields of those that the view asks for.
function readPipelines(model, data) {
  model.pipelines = (data.pipelines || []).map(([id, lines, stages], i) => ({
    id, lines, device: model.devices.length + i, stages: stages.map(([name, serial], s) => ({name: name || `stage ${s}`, serial})),
  }));
  const byId = new Map(model.pipelines.map((pipeline) => [pipeline.id, pipeline]));
  model.pipelines.forEach((pipeline) => {
    const rank = model.ranks ? Math.floor(pipeline.id / 1e6) : undefined;
    model.devices.push({name: `pipeline ${pipeline.id % 1e6}`, lanes: pipeline.lines, word: 'line', pipeline, rank});
  });
  model.lineSpans = (data.spans || []).map(([id, line, state, stage, token, start, end, open], index) => {
    const pipeline = byId.get(id), text = state === 'busy' ? pipeline.stages[stage].name : STALLS[state].text;
    return {
      isSpan: true, index, id: `span ${index}`, pipeline, line, state, stage, token, start, end, open, status: 'WEIR_OK', done: true,
      device: pipeline.device, lane: line, label: token === null ? text : `token ${token}: ${text}`, kernel: '',
      accesses: [], waits: [], spans: [], successors: [],
    };
  });
}

// Joins calls of stages, tokens and tasks, and gives stages their colours: those of tasks of the same name, if there are any.
function linkPipelines(model) {
  const names = new Map(), key = (...parts) => parts.join('.');
  const add = (map, name, each) => { if (map.has(name)) map.get(name).push(each); else map.set(name, [each]); };
  const calls = new Map(), tokens = new Map(), tasks = new Map();
  model.stages = [];
  for (const {stages} of model.pipelines) {
    for (const {name} of stages) {
      if (names.has(name)) continue;
      const same = model.kernels.find((kernel) => kernel.name === name);
      names.set(name, {name, calls: 0, time: 0, rank: same ? Math.min(same.rank, MOST_COLOURS) : (model.kernels.length + model.stages.length) % MOST_COLOURS});
      model.stages.push(names.get(name));
    }
  }
  for (const span of model.lineSpans) {
    const stage = names.get(span.pipeline.stages[span.stage].name);
    span.kernelEntry = stage;
    if (span.token !== null) add(tokens, key(span.pipeline.id, span.token), span);
    if (span.state !== 'busy') continue;
    stage.calls++;
    stage.time += span.end - span.start;
    if (span.token !== null) calls.set(key(span.pipeline.id, span.stage, span.token), span);
  }
  for (const task of model.tasks) {
    if (task.call) add(tasks, key(task.call.pipeline, task.call.token), task);
  }
  tokens.forEach((spans) => spans.sort((a, b) => a.start - b.start));
  model.tokenCount = tokens.size;
  model.callOf = (call) => calls.get(key(call.pipeline, call.stage, call.token)) || null;
  model.spansOfToken = (span) => tokens.get(key(span.pipeline.id, span.token)) || [];

  // Tasks that a call submitted; of a wait, those that its token had submitted by then, the last to end first.
  model.tasksOf = (span) => {
    if (span.token === null) return [];
    const all = tasks.get(key(span.pipeline.id, span.token)) || [];
    if (span.state === 'busy') return all.filter(({call}) => call.stage === span.stage);
    return all.filter(({call}) => call.stage <= span.stage).sort((a, b) => b.end - a.end);
  };

  // The token that was in a serial stage before the one that waits for its turn there.
  model.tokenBefore = (span) => {
    if (span.state !== 'turn') return null;
    for (let token = span.token - 1; token >= 0 && token >= span.token - span.pipeline.lines; token--) {
      const before = calls.get(key(span.pipeline.id, span.stage, token));
      if (before) return before;
    }
    return null;
  };

  model.placeOf = (span) => {
    const stage = span.pipeline.stages[span.stage], which = span.state === 'free' ? ''
      : ` \u00b7 stage ${span.stage} ${stage.name}, ${stage.serial ? 'serial' : 'parallel'}`;
    return `pipeline ${span.pipeline.id}, line ${span.line}${which}`;
  };

  // For example "token 12 waited 35.0 us for tasks after stage map".
  model.spanText = (span) => {
    const time = formatTime(span.end - span.start) + (span.open ? ' so far' : ''), {name} = span.pipeline.stages[span.stage];
    const who = span.token === null ? 'the end of the input' : `token ${span.token}`;
    if (span.state === 'free') return `line ${span.line} had no token for ${time}`;
    if (span.state === 'busy') return `${who} was in stage ${name} for ${time}`;
    const what = {turn: 'for its turn at', tasks: 'for tasks after', thread: 'for a thread at'}[span.state];
    return `${who} waited ${time} ${what} stage ${name}`;
  };
}
