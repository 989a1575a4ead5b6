// What the reader has selected: clusters, a search, a brush, the threshold, colors and axes. Everything else follows it.
// Which points match a search: row numbers exactly, names of clusters, identifiers and texts in part. `rows` are those
// of the matches from a server, which also searches texts that the page has no room for.
function searchMask(points, query, rows) {
  const { page, columns } = points;
  const wanted = query.toLowerCase();
  const mask = new Uint8Array(points.size);
  const holds = (text) => text.toLowerCase().includes(wanted);
  const named = page.names.map(holds);
  const row = /^\d+$/.test(query) ? Number(query) : -1;
  for (let point = 0; point < points.size; point++) {
    mask[point] =
      named[columns.label[point]] || columns.row[point] === row || page.ids.some((column) => holds(column[point]));
  }
  for (const [point, text] of Object.entries(page.texts ?? {})) if (holds(text)) mask[point] = 1;
  for (const row of rows) if (points.pointOf.has(row)) mask[points.pointOf.get(row)] = 1;
  return mask;
}

class State {
  constructor(points) {
    this.points = points;
    this.clusters = new Set();
    this.search = "";
    // Row numbers of the matches from a server.
    this.matches = [];
    // null, { levels: [first, last] }, { pair: [cluster, rival] } or { mask }
    this.brush = null;
    this.step = points.page.steps / 2;
    this.color = "cluster";
    // A choice of axes: the place among those that came with the page, or the places of two columns.
    this.axes = 0;
    // The point under review.
    this.marked = null;
    this.mask = null;
    this.listeners = [];
  }

  get threshold() {
    return this.step / this.points.page.steps;
  }

  get isFiltered() {
    return this.mask !== null;
  }

  // Whether counts of all labels tell how many there are, on the page or not.
  get isCounted() {
    return !this.search && !this.brush?.mask && !this.brush?.pair;
  }

  holds(point) {
    return this.mask === null || this.mask[point] === 1;
  }

  follow(listener) {
    this.listeners.push(listener);
    listener(new Set(["filter", "threshold", "color", "axes", "marked"]));
  }

  // Take over new values, and tell the listeners what kind of thing changed.
  change(values) {
    const kinds = new Set();
    for (const [name, value] of Object.entries(values)) {
      this[name] = value;
      kinds.add({ step: "threshold", color: "color", axes: "axes", marked: "marked" }[name] ?? "filter");
    }
    if (kinds.has("filter")) this.updateMask("search" in values);
    for (const listener of this.listeners) listener(kinds);
  }

  clear() {
    this.change({ clusters: new Set(), search: "", matches: [], brush: null });
  }

  updateMask(searchChanged) {
    if (searchChanged) this.searchHits = this.search ? searchMask(this.points, this.search, this.matches) : null;
    if (!this.clusters.size && !this.search && !this.brush) {
      this.mask = null;
      return;
    }
    const { label, level, trust, rival, verdict } = this.points.columns;
    const [own, other] = this.brush?.pair ?? [];
    const isWeak = (point) => verdict[point] === 1 || verdict[point] === 2;
    const chosen = this.points.page.names.map((_, code) => !this.clusters.size || this.clusters.has(code));
    const [first, last] = this.brush?.levels ?? [-1, Infinity];
    const mask = new Uint8Array(this.points.size);
    for (let point = 0; point < mask.length; point++) {
      mask[point] =
        chosen[label[point]] &&
        (!this.brush?.levels || (level[point] >= first && level[point] <= last && trust[point] === trust[point])) &&
        (!this.brush?.mask || this.brush.mask[point]) &&
        (!this.brush?.pair || (label[point] === own && rival[point] === other && isWeak(point))) &&
        (!this.searchHits || this.searchHits[point])
          ? 1
          : 0;
    }
    this.mask = mask;
  }
}
