// Map, histogram and profile: what is drawn in them, and what a brush or a click in them means.
// Points up to which the map draws dots rather than a density, and the profile dots on the edges of its bands.
const MOST_DOTS = 5000;
const MOST_EDGES = 2500;
// Points up to which dots are large, with an outline.
const FEW_DOTS = 2000;
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
    if (kinds.has("filter")) this.soon("drawMap", "drawProfile", "drawHistogram");
    if (kinds.has("colour")) this.soon("drawMap", "drawProfile", "drawLegend");
    if (kinds.has("threshold")) this.soon("drawThreshold");
    if (kinds.has("marked")) this.soon("drawMarks");
  }

  get colours() {
    if (this.paintedBy !== this.state.colour) {
      this.paintedBy = this.state.colour;
      this.paint = new Colours(this.points, this.state.colour);
    }
    return this.paint;
  }

  // What the map shows at the moment.
  get view() {
    const { x_range, y_range, inner_width, inner_height } = this.map;
    return { x0: x_range.start, x1: x_range.end, y0: y_range.start, y1: y_range.end, width: inner_width, height: inner_height };
  }

  // Points that are looked at and visible, or null if there are more of them than dots can show.
  visible(view) {
    const { x, y } = this.points.columns;
    const found = [];
    for (let point = 0; point < this.points.size; point++) {
      if (!this.state.holds(point)) continue;
      if (x[point] < view.x0 || x[point] > view.x1 || y[point] < view.y0 || y[point] > view.y1) continue;
      if (found.push(point) > MOST_DOTS) return null;
    }
    return found;
  }

  drawMap() {
    const { view, points, state } = this;
    const drawn = this.visible(view);
    const few = points.size <= MOST_DOTS;
    for (const noise of [false, true]) {
      this.fillDots(noise ? "crosses-data" : "dots-data", (drawn ?? []).filter((point) => points.isNoise(point) === noise));
    }
    const others = few && state.isFiltered ? Array.from(points.columns.label.keys()).filter((p) => !state.holds(p)) : [];
    this.fill("others-data", others, { x: points.columns.x, y: points.columns.y });
    this.drawDensity(drawn === null, drawn !== null && (few || !state.isFiltered), view);
    const { glyph } = this.map.renderers.find(({ name }) => name === "dots");
    const large = (drawn?.length ?? 0) <= FEW_DOTS;
    glyph.setv({ size: { value: large ? 8 : 5 }, line_alpha: { value: large ? 1 : 0 } });
    document.documentElement.dataset.map = drawn === null ? "density" : "dots";
  }

  drawDensity(dense, empty, view) {
    const source = this.model("density-data");
    if (empty) {
      source.data = { ...source.data, dw: [0], dh: [0] };
      return;
    }
    const soft = themeColours().soft;
    const dim = [1, 3, 5].map((at) => parseInt(soft.slice(at, at + 2), 16));
    const { width, height, pixels } = density(this.state, dense ? this.colours : null, view, dim);
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

  fillDots(name, drawn) {
    const { points, colours } = this;
    const { x, y } = points.columns;
    this.fill(name, drawn, {
      x,
      y,
      row: (point) => points.title(point),
      colour: (point) => colours.of(point),
      label: (point) => points.label(point),
      value: (point) => points.trust(point),
      verdict: (point) => points.verdict(point),
      rival: (point) => points.rival(point),
    });
  }

  drawProfile() {
    const { state, points, colours } = this;
    const bands = this.model("bands-data");
    const plain = themeColours().band;
    const shown = (code) => !state.clusters.size || state.clusters.has(code);
    const codes = Array.from(points.page.clusters.keys());
    bands.data = {
      ...bands.data,
      colour: codes.map((code) => (state.colour === "cluster" ? colours.names[code] : plain)),
      alpha: codes.map((code) => (shown(code) ? (state.colour === "cluster" ? 0.75 : 1) : 0.25)),
    };
    const { trust, position } = points.columns;
    const edges = [];
    for (let point = 0; point < points.size && edges.length <= MOST_EDGES; point++) {
      if (state.holds(point) && !points.isNoise(point)) edges.push(point);
    }
    const drawn = edges.length > MOST_EDGES ? [] : edges;
    this.fill("edge-data", drawn, { x: trust, y: position, colour: (point) => colours.of(point) });
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
    for (const view of ["histogram", "profile"]) {
      this.model(`below-${view}`).right = this.state.threshold;
      this.model(`threshold-${view}`).location = this.state.threshold;
    }
  }

  drawMarks() {
    const { marked } = this.state;
    const { x, y, trust, position } = this.points.columns;
    const drawn = marked === null ? [] : [marked];
    this.fill("ring-data", drawn, { x, y });
    this.fill("edge-ring-data", drawn, { x: trust, y: position });
  }

  drawLegend = () => drawLegend(this.state, this.colours);

  listen() {
    const { state, map } = this;
    const profile = this.model("profile");
    const brush = (plot, first, second) =>
      plot.on_event("selectiongeometry", ({ geometry, final }) => {
        if (final) state.change({ brush: { mask: this.maskOf(first, second, insideOf(geometry)) } });
      });
    brush(map, "x", "y");
    brush(profile, "trust", "position");
    map.on_event("tap", (event) => state.change({ marked: this.nearest(event) }));
    profile.on_event("tap", (event) => chooseCluster(state, Math.floor(event.y)));
    this.model("histogram").on_event("selectiongeometry", (event) => this.brushBins(event));
    const redraw = () => this.soon("drawMap");
    for (const range of [map.x_range, map.y_range]) range.change.connect(redraw);
    for (const side of ["inner_width", "inner_height"]) map.properties[side].change.connect(redraw);
  }

  maskOf(first, second, holds) {
    const { [first]: xs, [second]: ys } = this.points.columns;
    return Uint8Array.from({ length: this.points.size }, (_, point) => (holds(xs[point], ys[point]) ? 1 : 0));
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

  // The point that a click means: the nearest one that is looked at, or none.
  nearest(event) {
    const { view, points, state } = this;
    const { x, y } = points.columns;
    const [perX, perY] = [view.width / (view.x1 - view.x0), view.height / (view.y1 - view.y0)];
    let [found, best] = [null, REACH ** 2];
    // The last points lie on top.
    for (let point = 0; point < points.size; point++) {
      const distance = ((x[point] - event.x) * perX) ** 2 + ((y[point] - event.y) * perY) ** 2;
      if (distance <= best && state.holds(point)) [found, best] = [point, distance];
    }
    return found === state.marked ? null : found;
  }
}

// Look at one cluster only, or at all again; `add` keeps those that were chosen before.
function chooseCluster(state, code, add = false) {
  if (!(code >= 0 && code < state.points.page.names.length)) return;
  const clusters = new Set(add ? state.clusters : []);
  if (state.clusters.has(code) && (add || state.clusters.size === 1)) clusters.delete(code);
  else clusters.add(code);
  state.change({ clusters });
}
