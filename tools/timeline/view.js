// The canvases: lanes of tasks, and the overview above them.

const GUTTER = 148, AXIS = 24, DEVICE_ROW = 24, MOST_COLOURS = 11;
// Light enough for dark text in both themes; by share of time, the last one for all other kernels.
const COLOURS = ['#7ba7dc', '#efb366', '#86c793', '#c9a0dc', '#e89a94', '#74c5c4', '#dcc65f', '#e7a1c6', '#a9bd6c',
  '#b59f8b', '#9fb0ff', '#b4bac6'];

const colourOf = (task) => COLOURS[Math.min(task.kernelEntry.rank, MOST_COLOURS)];

class View {
  constructor(model, lanesCanvas, overviewCanvas, onChange) {
    Object.assign(this, {model, canvas: lanesCanvas, overview: overviewCanvas, onChange});
    this.margin = model.end * 0.01;
    this.from = this.targetFrom = -this.margin;
    this.to = this.targetTo = model.end + this.margin;
    this.scroll = 0;
    this.selected = null;
    this.hovered = null;
    this.hits = null; // Set of tasks while a search is on
    this.showCritical = false;
    this.calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.readTheme();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.readTheme(); this.redraw(); });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    new ResizeObserver(() => this.resize()).observe(this.overview);
    this.resize();
  }

  readTheme() {
    this.hatches = new Map();
    const style = getComputedStyle(document.documentElement);
    this.theme = new Proxy({}, {get: (seen, name) => seen[name] || (seen[name] = style.getPropertyValue('--' + name).trim())});
  }

  resize() {
    for (const canvas of [this.canvas, this.overview]) {
      const scale = devicePixelRatio || 1;
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
      canvas.getContext('2d').setTransform(scale, 0, 0, scale, 0, 0);
    }
    this.width = Math.max(GUTTER + 10, this.canvas.clientWidth);
    this.height = this.canvas.clientHeight;
    this.layOut();
    this.bins = null;
    this.draw();
  }

  // Where each lane lies, from the top of the content.
  layOut() {
    const {lanes, devices} = this.model;
    const room = this.height - AXIS - devices.length * DEVICE_ROW - 6;
    this.laneHeight = Math.max(20, Math.min(44, Math.floor(room / Math.max(1, lanes.length))));
    this.rows = [];
    let y = 0, device = -1;
    for (const lane of lanes) {
      if (lane.device !== device) {
        device = lane.device;
        y += DEVICE_ROW;
      }
      this.rows.push({lane, y});
      y += this.laneHeight;
    }
    this.contentHeight = y;
    this.setScroll(this.scroll);
  }

  setScroll(scroll) {
    this.scroll = Math.max(0, Math.min(scroll, this.contentHeight - (this.height - AXIS)));
  }

  x(time) { return GUTTER + (time - this.from) / (this.to - this.from) * (this.width - GUTTER); }
  time(x) { return this.from + (x - GUTTER) / (this.width - GUTTER) * (this.to - this.from); }
  rowTop(row) { return AXIS + row.y - this.scroll; }

  // Moves the view to a range of time, smoothly unless `atOnce`.
  show(from, to, atOnce) {
    const whole = this.model.end + 2 * this.margin, span = Math.max(20, Math.min(to - from, whole));
    let start = (from + to - span) / 2;
    start = Math.max(-this.margin, Math.min(start, this.model.end + this.margin - span));
    this.targetFrom = start;
    this.targetTo = start + span;
    if (atOnce || this.calm) {
      this.from = this.targetFrom;
      this.to = this.targetTo;
    }
    this.redraw();
    this.onChange();
  }

  fit() { this.show(-this.margin, this.model.end + this.margin); }

  zoom(factor, x) {
    const share = x === undefined ? 0.5 : (x - GUTTER) / (this.width - GUTTER);
    const at = this.targetFrom + share * (this.targetTo - this.targetFrom);
    const span = Math.max(20, Math.min((this.targetTo - this.targetFrom) * factor, this.model.end + 2 * this.margin));
    this.show(at - share * span, at + (1 - share) * span);
  }

  pan(share) {
    const step = share * (this.targetTo - this.targetFrom);
    this.show(this.targetFrom + step, this.targetTo + step);
  }

  // Brings a task into view; `closer` also zooms so that it fills a good part of it.
  reveal(task, closer) {
    const length = Math.max(task.end - task.start, 20), span = this.targetTo - this.targetFrom;
    const middle = (task.start + task.end) / 2, visible = task.start >= this.targetFrom && task.end <= this.targetTo;
    if (closer || length > span || length < span / 400) {
      const around = length * (closer ? 1.5 : 8);
      this.show(middle - around, middle + around);
    } else if (!visible) {
      this.show(middle - span / 2, middle + span / 2);
    }
    const row = this.rows.find(({lane}) => lane.device === task.device && lane.index === task.lane);
    if (row && row.y < this.scroll) this.setScroll(row.y - DEVICE_ROW);
    if (row && row.y + this.laneHeight > this.scroll + this.height - AXIS) {
      this.setScroll(row.y + this.laneHeight - this.height + AXIS);
    }
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      const near = (this.targetTo - this.targetFrom) * 1e-3;
      if (Math.abs(this.targetFrom - this.from) + Math.abs(this.targetTo - this.to) > near) {
        this.from += (this.targetFrom - this.from) * 0.35;
        this.to += (this.targetTo - this.to) * 0.35;
        this.draw();
        this.redraw();
      } else {
        this.from = this.targetFrom;
        this.to = this.targetTo;
        this.draw();
      }
    });
  }

  // The item under a point of the lanes' canvas, or null.
  itemAt(x, y) {
    if (x < GUTTER || y < AXIS) return null;
    const row = this.rows.find((each) => y >= this.rowTop(each) && y < this.rowTop(each) + this.laneHeight);
    if (!row) return null;
    const slack = (this.to - this.from) / (this.width - GUTTER) * 3, time = this.time(x);
    let best = null, distance = Infinity;
    for (let i = row.lane.firstAt(time - slack); i < row.lane.items.length; i++) {
      const item = row.lane.items[i];
      if (item.start > time + slack) break;
      const away = Math.max(item.start - time, time - item.end, 0);
      if (away <= slack && away < distance) [best, distance] = [item, away];
      if (distance === 0) break;
    }
    return best;
  }

  strength(task) {
    if (this.hits && !this.hits.has(task)) return 0.16;
    if (this.showCritical && !task.critical) return 0.22;
    return 1;
  }

  draw() {
    const g = this.canvas.getContext('2d');
    g.fillStyle = this.theme.back;
    g.fillRect(0, 0, this.width, this.height);
    g.save();
    g.beginPath();
    g.rect(0, AXIS, this.width, this.height - AXIS);
    g.clip();
    for (const row of this.rows) {
      const y = this.rowTop(row);
      if (y + this.laneHeight < AXIS || y - DEVICE_ROW > this.height) continue;
      this.drawLane(g, row.lane, y);
    }
    g.save();
    g.beginPath();
    g.rect(GUTTER, AXIS, this.width - GUTTER, this.height - AXIS);
    g.clip();
    this.drawMessages(g);
    if (this.showCritical) this.drawChain(g, this.model.critical, this.theme.critical);
    if (this.selected) this.drawNeighbours(g, this.selected);
    g.restore();
    this.drawNames(g);
    g.restore();
    this.drawAxis(g);
    this.drawOverview();
  }

  drawLane(g, lane, y) {
    const height = this.laneHeight - 3, items = lane.items;
    g.fillStyle = this.theme.lane;
    g.fillRect(GUTTER, y + 1, this.width - GUTTER, height);
    g.save();
    g.beginPath();
    g.rect(GUTTER, y, this.width - GUTTER, this.laneHeight);
    g.clip();
    for (let i = lane.firstAt(this.from); i < items.length && items[i].start <= this.to;) {
      const left = this.x(items[i].start), right = this.x(items[i].end);
      if (right - left >= 1.5) {
        this.drawItem(g, items[i], left, right - left, y + 1, height);
        i++;
      } else {
        i = this.drawCrowd(g, lane, i, left, y + 1, height);
      }
    }
    g.restore();
  }

  // Items too short to be told apart: one pixel, as strong as the lane was busy there. Returns the next index.
  drawCrowd(g, lane, first, left, y, height) {
    const pixel = (this.to - this.from) / (this.width - GUTTER);
    const limit = lane.items[first].start + pixel;
    let shown = lane.items[first], next = first + 1;
    for (; next < lane.items.length && lane.items[next].start < limit; next++) {
      const item = lane.items[next];
      if (item.end - item.start >= 1.5 * pixel) break; // wide enough to be drawn on its own
      const more = this.strength(item.task) - this.strength(shown.task);
      if (more > 0 || (more === 0 && shown.idle && !item.idle)) shown = item;
    }
    const busy = lane.busyBefore[next] - lane.busyBefore[first];
    g.globalAlpha = Math.max(0.35, Math.min(1, busy / pixel)) * this.strength(shown.task) * (shown.idle ? 0.5 : 1);
    g.fillStyle = shown.idle ? this.theme[STALLS[shown.task.state].colour] : this.itemColour(shown.task);
    g.fillRect(left, y, 1.2, height);
    g.globalAlpha = 1;
    return next;
  }

  itemColour(task) {
    if (task.status !== 'WEIR_OK') return this.theme.bad;
    return this.showCritical && task.critical ? this.theme.critical : colourOf(task);
  }

  drawItem(g, item, left, width, y, height) {
    const task = item.task, strength = this.strength(task), gap = width > 4 ? 1 : 0;
    g.globalAlpha = strength;
    g.fillStyle = item.idle ? this.hatch(g, STALLS[task.state].colour) : this.itemColour(task);
    g.beginPath();
    g.roundRect(left, y, width - gap, height, width > 8 ? 3 : 0);
    g.fill();
    if (!task.split && task.spans.length > 1 && width > 12 && height > 22) this.drawParts(g, task, y, height);
    g.globalAlpha = 1;
    if (task === this.selected || task === this.hovered || (this.hits && this.hits.has(task))) {
      g.lineWidth = task === this.selected ? 2.5 : 1.5;
      g.strokeStyle = task === this.selected || task === this.hovered ? this.theme.text : this.theme.hit;
      g.stroke();
    }
    const from = Math.max(left, GUTTER), room = Math.floor((Math.min(left + width, this.width) - from - 8) / 6);
    if (room < 3 || strength < 0.2) return;
    const text = item.name && task.split ? `${task.label}: ${item.name}` : task.label;
    g.fillStyle = item.idle ? this.theme.soft : this.showCritical && task.critical ? this.theme.back : '#14181f';
    g.font = '11px system-ui, "DejaVu Sans", sans-serif';
    g.textBaseline = 'middle';
    g.fillText(text.length > room ? text.slice(0, room - 1) + '\u2026' : text, from + 4, y + Math.min(height / 2, 13));
  }

  // Pale stripes, for what a line waits for.
  hatch(g, colour) {
    if (!this.hatches.has(colour)) {
      const stripes = document.createElement('canvas'), s = stripes.getContext('2d');
      stripes.width = stripes.height = 6;
      s.strokeStyle = this.theme[colour];
      s.globalAlpha = 0.45;
      s.beginPath();
      for (const from of [-6, 0, 6]) {
        s.moveTo(from - 1, 7);
        s.lineTo(from + 7, -1);
      }
      s.stroke();
      this.hatches.set(colour, g.createPattern(stripes, 'repeat'));
    }
    return this.hatches.get(colour);
  }

  // The launches or other parts of a task, as a strip at its lower edge.
  drawParts(g, task, y, height) {
    task.spans.forEach((span, i) => {
      g.fillStyle = i % 2 ? 'rgba(0, 0, 0, .3)' : 'rgba(0, 0, 0, .48)';
      const left = this.x(span.start);
      g.fillRect(left, y + height - 5, Math.max(1, this.x(span.end) - left - 1), 3);
    });
  }

  middleOf(task) {
    const row = this.rows.find(({lane}) => lane.device === task.device && lane.index === task.lane);
    return row ? this.rowTop(row) + this.laneHeight / 2 : 0;
  }

  drawEdge(g, from, to, colour, width) {
    const x1 = this.x(from.end), y1 = this.middleOf(from), x2 = this.x(to.isHost ? to.end : to.start), y2 = this.middleOf(to);
    const bend = Math.max(14, Math.min(90, Math.abs(x2 - x1) / 2));
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.beginPath();
    g.moveTo(x1, y1);
    g.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    g.stroke();
    g.fillStyle = colour;
    g.beginPath();
    g.moveTo(x2 + 1, y2);
    g.lineTo(x2 - 6, y2 - 3.5);
    g.lineTo(x2 - 6, y2 + 3.5);
    g.fill();
  }

  // Arrows from sends to receives, thinned out where they would cover everything.
  drawMessages(g) {
    const shown = this.model.messages.filter(({from, to}) => to.start >= this.from && from.end <= this.to);
    const step = Math.ceil(shown.length / 1500);
    g.globalAlpha = 0.6;
    for (let i = 0; i < shown.length; i += step) this.drawEdge(g, shown[i].from, shown[i].to, this.theme.message, 1);
    g.globalAlpha = 1;
  }

  drawChain(g, chain, colour) {
    for (let i = 1; i < chain.length; i++) {
      if (chain[i].start < this.from || chain[i - 1].end > this.to) continue;
      if (this.x(chain[i].end) - this.x(chain[i - 1].start) > 6) this.drawEdge(g, chain[i - 1], chain[i], colour, 1.5);
    }
  }

  drawNeighbours(g, task) {
    const limit = 200;
    task.waits.slice(0, limit).forEach((wait) => {
      if (wait.from) this.drawEdge(g, wait.from, task, this.theme[wait.hazard.toLowerCase()], 2);
    });
    task.successors.slice(0, limit).forEach(({to, wait}) => {
      this.drawEdge(g, task, to, this.theme[wait.hazard.toLowerCase()], 1.2);
    });
  }

  drawNames(g) {
    g.fillStyle = this.theme.back;
    g.fillRect(0, AXIS, GUTTER, this.height - AXIS);
    g.textBaseline = 'middle';
    let device = -1;
    for (const row of this.rows) {
      const y = this.rowTop(row), middle = y + this.laneHeight / 2, {lane} = row;
      if (lane.device !== device) {
        device = lane.device;
        g.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
        g.fillStyle = this.theme.text;
        g.fillText(this.model.devices[device].name, 10, y - DEVICE_ROW / 2 + 1);
      }
      g.font = '12px system-ui, "DejaVu Sans", sans-serif';
      g.fillStyle = this.theme.text;
      g.fillText(lane.name, 18, middle);
      g.fillStyle = this.theme.soft;
      g.textAlign = 'right';
      g.fillText(formatShare(lane.busy, this.model.end), GUTTER - 8, middle);
      g.textAlign = 'left';
      g.fillStyle = this.theme.line;
      g.fillRect(18, middle + 9, GUTTER - 26, 2);
      g.fillStyle = this.theme.accent;
      g.fillRect(18, middle + 9, (GUTTER - 26) * Math.min(1, lane.busy / this.model.end), 2);
    }
  }

  drawAxis(g) {
    g.fillStyle = this.theme.back;
    g.fillRect(0, 0, this.width, AXIS);
    const rough = (this.to - this.from) / Math.max(2, (this.width - GUTTER) / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((each) => each >= rough);
    g.font = '11px system-ui, "DejaVu Sans", sans-serif';
    g.textBaseline = 'middle';
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = this.x(time);
      g.globalAlpha = 0.5;
      g.fillStyle = this.theme.line;
      g.fillRect(x, AXIS, 1, this.height - AXIS);
      g.globalAlpha = 1;
      g.fillRect(x, AXIS - 6, 1, 6);
      g.fillStyle = this.theme.soft;
      g.fillText(formatTime(Math.abs(time) < step / 2 ? 0 : time).replace(/\.(\d*?)0+ /, (_, digits) => digits ? `.${digits} ` : ' '), x + 4, AXIS / 2);
    }
    g.fillStyle = this.theme.line;
    g.fillRect(0, AXIS - 1, this.width, 1);
    g.fillRect(GUTTER - 1, 0, 1, this.height);
  }

  // Busy lanes over time, in as many steps as the overview has pixels.
  countBusy(width) {
    this.bins = new Float64Array(width);
    const perBin = this.model.end / width;
    for (const lane of this.model.workLanes) {
      for (const item of lane.items) {
        const last = Math.min(width - 1, Math.floor(item.end / perBin));
        for (let b = Math.floor(item.start / perBin); b <= last; b++) {
          this.bins[b] += Math.max(0, Math.min(item.end, (b + 1) * perBin) - Math.max(item.start, b * perBin)) / perBin;
        }
      }
    }
  }

  overviewX(time) {
    return GUTTER + time / this.model.end * (this.overview.clientWidth - GUTTER);
  }

  drawOverview() {
    const g = this.overview.getContext('2d'), width = this.overview.clientWidth, height = this.overview.clientHeight;
    const inner = Math.max(1, Math.floor(width - GUTTER)), lanes = Math.max(1, this.model.workLanes.length);
    if (!this.bins) this.countBusy(inner);
    g.fillStyle = this.theme.panel;
    g.fillRect(0, 0, width, height);
    g.fillStyle = this.theme.soft;
    g.font = '11px system-ui, "DejaVu Sans", sans-serif';
    g.textBaseline = 'middle';
    g.fillText(`${lanes} lanes, busy`, 10, height / 2 - 8);
    g.fillText(`${formatShare(this.model.busy, this.model.end * lanes)} of the time`, 10, height / 2 + 8);
    g.fillStyle = this.theme.accent;
    g.globalAlpha = 0.55;
    this.bins.forEach((busy, i) => {
      const tall = Math.min(1, busy / lanes) * (height - 8);
      g.fillRect(GUTTER + i, height - tall, 1, tall);
    });
    g.globalAlpha = 1;
    const mark = (task, colour, y, tall) => {
      const x = this.overviewX(task.start);
      g.fillStyle = colour;
      g.fillRect(x, y, Math.max(1.5, this.overviewX(task.end) - x), tall);
    };
    if (this.showCritical) this.model.critical.forEach((task) => mark(task, this.theme.critical, 0, 4));
    if (this.hits) this.hits.forEach((task) => mark(task, this.theme.hit, 5, 4));
    if (this.selected) mark(this.selected, this.theme.text, 0, 9);
    const left = Math.max(GUTTER, this.overviewX(this.from)), right = Math.min(width, this.overviewX(this.to));
    g.fillStyle = this.theme.shade;
    g.fillRect(left, 0, right - left, height);
    g.fillStyle = this.theme.accent;
    g.fillRect(left, 0, 2, height);
    g.fillRect(right - 2, 0, 2, height);
  }
}
