// The points on the page: columns of numbers, and the columns of the user's table, unpacked when they are first asked for.
const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function unpack({ type, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[type](bytes.buffer);
}

const joined = (first, second) => {
  const both = new first.constructor(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
};

class Points {
  constructor(page) {
    this.page = page;
    // What clusters are called: their labels, and the names that were made or given.
    page.names = [...page.labels.slice(0, -1), "noise"];
    this.columns = {};
    for (const [name, packed] of Object.entries(page.columns)) this.columns[name] = unpack(packed);
    delete page.columns;
    this.size = this.columns.level.length;
    this.reasons = Array.from(this.columns.reason, (code) => page.reasons[code]);
    this.pointOf = new Map();
    for (let point = 0; point < this.size; point++) this.pointOf.set(this.columns.row[point], point);
    this.unpacked = page.values.map(() => null);
  }

  // Add points that a server sent.
  add({ columns, ids, values, reasons }) {
    this.reasons.push(...Array.from(unpack(columns.reason), (code) => reasons[code]));
    for (const [name, packed] of Object.entries(columns)) this.columns[name] = joined(this.columns[name], unpack(packed));
    this.page.ids.forEach((column, i) => column.push(...ids[i]));
    this.page.table.forEach((column, i) => {
      const known = this.tableColumn(i);
      if (!known) return;
      const more = Array.isArray(values[i]) ? values[i] : unpack(values[i]);
      this.unpacked[i] = Array.isArray(known) ? known.concat(more) : joined(Float64Array.from(known), more);
    });
    const { row } = this.columns;
    for (; this.size < row.length; this.size++) this.pointOf.set(row[this.size], this.size);
  }

  // How many points of the data this one stands for.
  weight(point) {
    return this.page.weights ? this.page.weights[this.columns.kind[point]] : 1;
  }

  label(point) {
    return this.page.names[this.columns.label[point]];
  }

  rival(point) {
    return this.page.names[this.columns.rival[point]];
  }

  verdict(point) {
    return this.page.verdicts[this.columns.verdict[point]];
  }

  isNoise(point) {
    return this.verdict(point) === "noise";
  }

  // Trust as text, rounded down as in the summary; noise has no label to trust.
  trust(point) {
    return this.isNoise(point) ? "-" : (Math.floor(100 * this.columns.trust[point] + 1e-4) / 100).toFixed(2);
  }

  priority(point) {
    return this.isNoise(point) ? "-" : this.columns.priority[point].toFixed(0);
  }

  // Why the label should be reviewed; empty for firm labels.
  reason(point) {
    return this.reasons[point];
  }

  ids(point) {
    return this.page.ids.map((column) => column[point]);
  }

  // What the user calls a point.
  title(point) {
    return this.page.ids.length ? this.ids(point).join(" ") : `row ${this.columns.row[point]}`;
  }

  text(point) {
    return this.page.texts?.[point];
  }

  image(point) {
    return this.page.images?.[point];
  }

  // The largest affinities: names, numbers.
  affinities(point) {
    const { page, columns } = this;
    const places = [0, 1, 2].filter((place) => `cluster_${place}` in columns);
    return places.map((place) => [page.names[columns[`cluster_${place}`][point]], columns[`affinity_${place}`][point]]);
  }

  tableColumn(i) {
    const packed = this.page.values[i];
    if (packed === null) return null;
    return (this.unpacked[i] ??= Array.isArray(packed) ? packed : unpack(packed));
  }

  // A value of the user's table: a number, a text, or null.
  value(i, point) {
    const column = this.tableColumn(i);
    if (column === null) return undefined;
    const value = column[point];
    if (this.page.table[i].kind !== "category") return Number.isNaN(value) ? null : value;
    return value ? this.page.table[i].levels[value - 1] : null;
  }

  // What is typical of a cluster in a column, next to a value: a mean, or the share of the value's category.
  typical(i, code, value) {
    const { kind, means, levels } = this.page.table[i];
    if (!means?.[code]) return null;
    if (kind !== "category") return means[code][0];
    const place = levels.indexOf(value);
    return place < 0 ? null : means[code][place];
  }

  // How much each value speaks for the point's label (positive) or for its rival (negative), the strongest first.
  evidence(point) {
    const { table } = this.page;
    const [own, rival] = this.opponents(point);
    const labels = { own: this.page.labels[own], rival: this.page.labels[rival] };
    const evidence = [];
    table.forEach((column, i) => {
      const value = this.value(i, point);
      const [here, there] = [this.typical(i, own, value), this.typical(i, rival, value)];
      if (value === null || value === undefined || here === null || there === null) return;
      let weight;
      if (column.kind === "category") weight = Math.log((here + 0.005) / (there + 0.005));
      else if (!column.spread[0]) return;
      else weight = (((value - there) / column.spread[0]) ** 2 - ((value - here) / column.spread[0]) ** 2) / 2;
      if (Math.abs(weight) >= 0.1) evidence.push({ column, value, here, there, weight, ...labels });
    });
    return evidence.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  }

  // The cluster of the label and the rival; for noise the two clusters with the largest affinity.
  opponents(point) {
    const { label, rival, cluster_0, cluster_1 } = this.columns;
    return this.isNoise(point) ? [(cluster_1 ?? cluster_0)[point], cluster_0[point]] : [label[point], rival[point]];
  }
}
