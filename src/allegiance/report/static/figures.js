// Map and histogram: what is drawn in them, and what a brush or a click in them means.
// Points up to which the map draws dots rather than a density, and weak labels outlined on top of it.
const MOST_DOTS = 5000;
const MOST_WEAK = 200;
// Points up to which dots are large, with an outline.
const FEW_DOTS = 2000;
// Clusters up to which the map has their names or labels, characters of a name, and the share of the width near an edge.
const FEW_NAMES = 8;
const MOST_NAMES = 20;
const NAME_LENGTH = 24;
const NEAR_EDGE = 0.2;
// Size of a letter and of a line of a name in pixels, and how many places above and below are tried for it.
const [LETTER, LINE] = [7, 16];
const SHIFTS = [0, -1, 1, -2, 2, -3, 3, -4, 4];
// Pixels within which a click finds a point.
const REACH = 14;

function insidePolygon(px, py, xs, ys) {
  let inside = false;
  for (let i = 0, j = xs.length - 1; i < xs.length; j = i++) {
    if (ys[i] > py !== ys[j] > py && px < ((xs[j] - xs[i]) * (py - ys[i])) / (ys[j] - ys[i]) + xs[i]) inside = !inside;
  }
  return inside;
}

function insideOf(geometry) {
  const { x0, x1, y0, y1 } = geometry;
  if (geometry.type === "poly") return (x, y) => insidePolygon(x, y, geometry.x, geometry.y);
  const [left, right] = [Math.min(x0, x1), Math.max(x0, x1)];
  const [low, high] = [Math.min(y0, y1), Math.max(y0, y1)];
  return (x, y) => x >= left && x <= right && y >= low && y <= high;
}

// Limits around most values: outliers lie on the edge.
function robustLimits(values) {
  const known = Float64Array.from(values).filter((value) => !Number.isNaN(value)).sort();
  if (!known.length) return [0, 1];
  const at = (share) => known[Math.round(share * (known.length - 1))];
  const margin = at(0.97) - at(0.03);
  return margin ? [Math.max(known[0], at(0.03) - margin), Math.min(known.at(-1), at(0.97) + margin)] : [known[0], known.at(-1)];
}

function withAir([low, high]) {
  const air = 0.04 * (high - low) || 0.04 * Math.max(Math.abs(low), 1);
  return [low - air, high + air];
}

// Coordinates of all points for a choice of axes: those beyond the limits, or without a value, lie on the edge.
function coordinates({ columns, page, size }, axes, valuesOf) {
  const isColumns = Array.isArray(axes);
  const raw = isColumns ? axes.map(valuesOf) : [columns[`x${axes}`], columns[`y${axes}`]];
  const limits = isColumns ? raw.map((values) => withAir(robustLimits(values))) : page.axes[axes].limits;
  const pinned = new Uint8Array(size);
  const clipped = raw.map((values, side) => {
    const [low, high] = limits[side];
    const inset = 0.012 * (high - low);
    return Float64Array.from({ length: size }, (_, point) => {
      const value = Number.isNaN(values[point]) ? low : values[point];
      if (value >= low && value <= high && !Number.isNaN(values[point])) return value;
      pinned[point] = 1;
      return value <= low ? low + inset : high - inset;
    });
  });
  const names = isColumns ? axes.map((i) => page.table[i].name) : page.axes[axes].labels;
  const caption = isColumns ? `${names[0]} and ${names[1]}` : page.axes[axes].caption;
  return { x: clipped[0], y: clipped[1], limits, names, caption, pinned: sum(pinned) };
}

class FigureViews {
  constructor(figures, state) {
    this.state = state;
    this.points = state.points;
    this.figures = figures;
    this.map = this.model("map");
    this.all = countAll(state).levels;
    this.waiting = new Set();
    this.listen();
  }

  model = (name) => this.figures.get_model_by_name(name);

  // Draw before the next frame, once, however often this is called until then.
  soon(...parts) {
    if (!this.waiting.size) requestAnimationFrame(() => this.draw());
    for (const part of parts) this.waiting.add(part);
  }

  draw() {
    const parts = Array.from(this.waiting);
    this.waiting.clear();
    for (const part of parts) this[part]();
  }

  update(kinds) {
    if (kinds.has("axes")) this.setAxes();
    if (kinds.has("filter")) this.soon("drawMap", "drawHistogram");
    if (kinds.has("color")) this.soon("drawMap", "drawLegend");
    if (kinds.has("threshold")) this.soon("drawThreshold");
    if (kinds.has("marked")) this.soon("drawMarks");
  }

  setAxes() {
    const { map, points } = this;
    this.places = null;
    const { limits, names, caption, pinned } = this.xy;
    map.x_range.setv({ start: limits[0][0], end: limits[0][1], reset_start: limits[0][0], reset_end: limits[0][1] });
    map.y_range.setv({ start: limits[1][0], end: limits[1][1], reset_start: limits[1][0], reset_end: limits[1][1] });
    [map.below[0], map.left[0]].forEach((axis, side) => {
      this.setTicks(axis, Array.isArray(this.state.axes) ? points.page.table[this.state.axes[side]] : null);
    });
    say("map-caption", caption);
    say("axis-names", `Horizontal: ${names[0]}. Vertical: ${names[1]}.`);
    byId("figure-map").setAttribute("aria-label", `Map of the points: ${caption}`);
    say("pinned", pinned ? `; ${withCommas(pinned)} ${pinned === 1 ? "outlying point is" : "outlying points are"} drawn on the edge` : "");
    this.soon("drawMap", "drawMarks");
  }

  // Dates as dates, years without separators.
  setTicks(axis, column) {
    const { start, end } = axis === this.map.below[0] ? this.map.x_range : this.map.y_range;
    if (column?.kind !== "date") {
      axis.setv({ major_label_overrides: new Map(), ticker: this.ticker ?? axis.ticker });
      return;
    }
    this.ticker ??= axis.ticker;
    const ticks = [0.1, 0.3, 0.5, 0.7, 0.9].map((share) => start + share * (end - start));
    const labels = new Map(ticks.map((tick) => [tick, written(column, tick)]));
    axis.setv({ ticker: new (Bokeh.Models.get("FixedTicker"))({ ticks }), major_label_overrides: labels });
  }

  // Where the points lie on the map; points that a search adds make it stale.
  get xy() {
    if (this.places?.x.length !== this.points.size) {
      this.places = coordinates(this.points, this.state.axes, (i) => this.points.tableColumn(i));
    }
    return this.places;
  }

  get colors() {
    if (this.paintedBy !== this.state.color || this.paintedFor !== this.points.size) {
      [this.paintedBy, this.paintedFor] = [this.state.color, this.points.size];
      this.paint = new Colors(this.points, this.state.color);
    }
    return this.paint;
  }

  // What the map shows at the moment.
  get view() {
    const { x_range, y_range, inner_width, inner_height } = this.map;
    return { x0: x_range.start, x1: x_range.end, y0: y_range.start, y1: y_range.end, width: inner_width, height: inner_height };
  }

  // Points that are selected and visible: all of them, up to a limit (null beyond), and the weak ones.
  visible(view) {
    const { x, y } = this.xy;
    const { verdict } = this.points.columns;
    let all = [];
    const weak = [];
    // From the end: labels to review first come last.
    for (let point = this.points.size - 1; point >= 0; point--) {
      if (!this.state.holds(point)) continue;
      if (x[point] < view.x0 || x[point] > view.x1 || y[point] < view.y0 || y[point] > view.y1) continue;
      if (all && all.push(point) > MOST_DOTS) all = null;
      if ((verdict[point] === 1 || verdict[point] === 2) && weak.length < MOST_WEAK) weak.push(point);
    }
    return { all: all?.reverse() ?? null, weak: weak.reverse() };
  }

  drawMap() {
    const { view, points, state, xy } = this;
    const { all, weak } = this.visible(view);
    const few = points.size <= MOST_DOTS;
    const isWeak = new Set(weak);
    const drawn = (all ?? []).filter((point) => !isWeak.has(point));
    for (const noise of [false, true]) {
      this.fillDots(noise ? "crosses-data" : "dots-data", drawn.filter((point) => points.isNoise(point) === noise));
    }
    const { verdict } = points.columns;
    this.fillDots("weak-data", weak, {
      edge: (point) => points.page.colors.verdict[verdict[point]],
      width: (point) => (few ? verdict[point] : 0.8 * verdict[point]),
    });
    const others = few && state.isFiltered ? Array.from(points.columns.label.keys()).filter((p) => !state.holds(p)) : [];
    this.fill("others-data", others, { x: xy.x, y: xy.y });
    this.drawDensity(all === null, all !== null && (few || !state.isFiltered), view);
    const large = (all?.length ?? Infinity) <= FEW_DOTS;
    const glyph = (name) => this.map.renderers.find((renderer) => renderer.name === name).glyph;
    glyph("dots").setv({ size: { value: large ? 8 : 5 }, line_alpha: { value: large ? 1 : 0 } });
    glyph("weak").setv({ size: { value: large ? 9 : 5 } });
    this.drawNames();
    document.documentElement.dataset.map = all === null ? "density" : "dots";
  }

  // The number of members of each cluster and the member nearest to their median, since a cluster may have several parts.
  middles() {
    const { points, xy } = this;
    if (this.middlesOf === xy) return this.clusterMiddles;
    const members = points.page.clusters.map(() => []);
    points.columns.label.forEach((code, point) => members[code]?.push(point));
    const range = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const [width, height] = [range(xy.x), range(xy.y)].map(([low, high]) => high - low || 1);
    this.middlesOf = xy;
    this.clusterMiddles = members.map((rows) => {
      if (!rows.length) return { n: 0 };
      const [x, y] = [xy.x, xy.y].map((values) => Float64Array.from(rows, (row) => values[row]).sort()[rows.length >> 1]);
      const distance = (row) => ((xy.x[row] - x) / width) ** 2 + ((xy.y[row] - y) / height) ** 2;
      let nearest = rows[0];
      for (const row of rows) if (distance(row) < distance(nearest)) nearest = row;
      return { n: rows.length, x: xy.x[nearest], y: xy.y[nearest] };
    });
    return this.clusterMiddles;
  }

  // The name of each cluster that is shown, at the middle of its points.
  drawNames() {
    const { points, state, view } = this;
    const { page } = points;
    const middles = this.middles();
    const shown = Array.from(middles.keys()).filter((code) => middles[code].n && (!state.clusters.size || state.clusters.has(code)));
    shown.sort((a, b) => middles[b].n - middles[a].n);
    const drawn = shown.slice(0, MOST_NAMES);
    const [perX, perY] = [view.width / (view.x1 - view.x0), view.height / (view.y1 - view.y0)];
    const align = (x) => (x < view.x0 + NEAR_EDGE * (view.x1 - view.x0) ? "left" : x > view.x1 - NEAR_EDGE * (view.x1 - view.x0) ? "right" : "center");
    const boxes = [];
    // The first trait is enough here. If there are many or a long one, the labels are: the legend has the names.
    const firsts = drawn.map((code) => page.names[code].split(", ")[0]);
    const isCrowded = drawn.length > FEW_NAMES || firsts.some((name) => name.length > NAME_LENGTH);
    const names = drawn.map((code, place) => {
      const lines = wrapped(isCrowded ? page.labels[code] : firsts[place], NAME_LENGTH);
      const { x, y } = middles[code];
      const width = LETTER * Math.max(...lines.map((line) => line.length)) + 6;
      const left = (x - view.x0) * perX - { left: 0, center: width / 2, right: width }[align(x)];
      const height = LINE * lines.length + 4;
      const at = (shift) => ({ left, right: left + width, top: y * perY + shift * LINE + height / 2, bottom: y * perY + shift * LINE - height / 2 });
      const isFree = (box) => boxes.every((other) => box.right < other.left || box.left > other.right || box.top < other.bottom || box.bottom > other.top);
      const shift = SHIFTS.find((steps) => isFree(at(steps))) ?? 0;
      boxes.push(at(shift));
      return { x, y: y + (shift * LINE) / perY, text: lines.join("\n"), align: align(x) };
    });
    this.model("names-data").data = Object.fromEntries(["x", "y", "text", "align"].map((key) => [key, names.map((name) => name[key])]));
  }

  drawDensity(dense, empty, view) {
    const source = this.model("density-data");
    if (empty) {
      source.data = { ...source.data, dw: [0], dh: [0] };
      return;
    }
    const soft = themeColors().soft;
    const dim = [1, 3, 5].map((at) => parseInt(soft.slice(at, at + 2), 16));
    const { width, height, pixels } = density(this.state, this.xy, dense ? this.colors : null, view, dim);
    // The image that came with the page tells how Bokeh makes a matrix.
    const Matrix = source.data.image[0].constructor;
    source.data = {
      image: [new Matrix(pixels, [height, width])],
      x: [view.x0],
      y: [view.y0],
      dw: [view.x1 - view.x0],
      dh: [view.y1 - view.y0],
    };
  }

  fill(name, drawn, columns) {
    const data = {};
    for (const [column, values] of Object.entries(columns)) {
      data[column] = typeof values === "function" ? drawn.map(values) : drawn.map((point) => values[point]);
    }
    this.model(name).data = data;
  }

  fillDots(name, drawn, more = {}) {
    const { points, colors, xy } = this;
    this.fill(name, drawn, {
      x: xy.x,
      y: xy.y,
      row: (point) => points.title(point),
      color: (point) => colors.of(point),
      label: (point) => points.label(point),
      value: (point) => points.trust(point),
      verdict: (point) => points.verdict(point),
      rival: (point) => points.rival(point),
      ...more,
    });
  }

  drawHistogram() {
    const bins = this.model("bins-data");
    const { levels } = this.state.isFiltered ? tally(this.state) : { levels: new Float64Array(this.all.length) };
    // Bins are open on the left, but the first one holds 0 as well.
    const chosen = Float64Array.from(levels.subarray(1));
    chosen[0] += levels[0];
    bins.data = { ...bins.data, chosen };
  }

  drawThreshold() {
    this.model("below").right = this.state.threshold;
    this.model("threshold").location = this.state.threshold;
  }

  drawMarks() {
    const { marked } = this.state;
    this.fill("ring-data", marked === null ? [] : [marked], { x: this.xy.x, y: this.xy.y });
  }

  drawLegend = () => drawLegend(this.state, this.colors);

  listen() {
    const { state, map } = this;
    map.on_event("selectiongeometry", ({ geometry, final }) => {
      if (!final) return;
      const holds = insideOf(geometry);
      const { x, y } = this.xy;
      const mask = Uint8Array.from({ length: this.points.size }, (_, point) => (holds(x[point], y[point]) ? 1 : 0));
      state.change({ brush: { mask } });
    });
    map.on_event("tap", (event) => state.change({ marked: this.nearest(event) }));
    this.model("histogram").on_event("selectiongeometry", (event) => this.brushBins(event));
    const redraw = () => this.soon("drawMap");
    for (const range of [map.x_range, map.y_range]) range.change.connect(redraw);
    for (const side of ["inner_width", "inner_height"]) map.properties[side].change.connect(redraw);
  }

  // The bins that a brush touches.
  brushBins({ geometry, final }) {
    if (!final) return;
    const { steps } = this.points.page;
    const [left, right] = [geometry.x0, geometry.x1].sort((a, b) => a - b);
    const bin = (value) => Math.min(steps - 1, Math.max(0, Math.floor(value * steps)));
    const [first, last] = [bin(left), bin(right)];
    this.state.change({ brush: { levels: [first === 0 ? 0 : first + 1, last + 1] } });
  }

  // The point that a click means: the nearest one that is selected, or none.
  nearest(event) {
    const { view, points, state } = this;
    const { x, y } = this.xy;
    const [perX, perY] = [view.width / (view.x1 - view.x0), view.height / (view.y1 - view.y0)];
    let [nearest, best] = [null, REACH ** 2];
    // The last points lie on top.
    for (let point = 0; point < points.size; point++) {
      const distance = ((x[point] - event.x) * perX) ** 2 + ((y[point] - event.y) * perY) ** 2;
      if (distance <= best && state.holds(point)) [nearest, best] = [point, distance];
    }
    return nearest === state.marked ? null : nearest;
  }
}

// Select one cluster, or all points again; `add` keeps those that were selected before.
function chooseCluster(state, code, add = false) {
  if (!(code >= 0 && code < state.points.page.names.length)) return;
  const clusters = new Set(add ? state.clusters : []);
  if (state.clusters.has(code) && (add || state.clusters.size === 1)) clusters.delete(code);
  else clusters.add(code);
  state.change({ clusters });
}
