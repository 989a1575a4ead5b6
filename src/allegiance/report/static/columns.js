// The distribution of one column of the table in every cluster, for the heat map.
const BINS = 30;
// Weights of the points of each cluster in equal bins, and the quartiles of each cluster.
function histograms(points, i) {
  const values = points.tableColumn(i);
  const { label } = points.columns;
  const [low, high] = robustLimits(values);
  const groups = points.page.clusters.map(() => ({ bins: new Float64Array(BINS), values: [] }));
  for (let point = 0; point < points.size; point++) {
    const group = groups[label[point]];
    if (!group || Number.isNaN(values[point])) continue;
    const bin = Math.floor(((values[point] - low) / (high - low || 1)) * BINS);
    group.bins[Math.min(BINS - 1, Math.max(0, bin))] += points.weight(point);
    group.values.push(values[point]);
  }
  for (const group of groups) {
    const sorted = Float64Array.from(group.values).sort();
    group.quartiles = [0.25, 0.5, 0.75].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
  }
  return { low, high, groups };
}

function histogram(bins, color, largest) {
  const bars = Array.from(bins, (count) => {
    const bar = element("span");
    bar.style.height = percent(count, largest || 1);
    bar.style.background = color;
    return bar;
  });
  return element("span", bars, "histogram");
}

function numberRows(points, i, codes) {
  const { page } = points;
  const column = page.table[i];
  const { low, high, groups } = histograms(points, i);
  const rows = codes.map((code) => {
    const { bins, quartiles } = groups[code];
    const total = sum(bins);
    const shares = bins.map((count) => count / (total || 1));
    const [first, middle, third] = quartiles.map((value) => written(column, value));
    const said = total ? `median ${middle}, half between ${first} and ${third}` : "no values";
    return [code, histogram(shares, page.colors.cluster[code], Math.max(...shares)), said];
  });
  return [rows, `from ${written(column, low)} to ${written(column, high)}; values beyond are in the outer bars`];
}

// Shares of the most frequent categories.
function categoryRows(points, i, codes) {
  const { page } = points;
  const { levels, means } = page.table[i];
  const total = levels.map((_, level) => sum(means.map((shares) => shares[level] ?? 0)));
  const order = Array.from(levels.keys()).sort((a, b) => total[b] - total[a]).slice(0, 6);
  const rows = codes.map((code) => {
    const parts = order.map((level, place) => {
      const part = element("span");
      part.style.width = percent(means[code][level] ?? 0, 1);
      part.style.background = page.colors.levels[place];
      part.title = `${levels[level]} ${share(means[code][level] ?? 0)}`;
      return part;
    });
    const largest = order.filter((level) => means[code][level] >= 0.005).sort((a, b) => means[code][b] - means[code][a]).slice(0, 3);
    const said = largest.map((level) => `${levels[level]} ${share(means[code][level])}`).join(", ");
    return [code, element("span", parts, "stack"), said];
  });
  return [rows, "shares count missing values"];
}

function showDistribution(state, i, chosen) {
  const { points } = state;
  const { page } = points;
  const column = page.table[i];
  const panel = byId("distribution");
  const close = button("Close", () => {
    panel.hidden = true;
  });
  const codes = Array.from(page.clusters.keys()).slice(0, 30);
  const isCategory = column.kind === "category";
  if (!isCategory && points.tableColumn(i) === null) return;
  const [rows, note] = isCategory ? categoryRows(points, i, codes) : numberRows(points, i, codes);
  const list = element("ul", undefined, "distributions");
  for (const [code, picture, said] of rows) {
    const entry = element("li", [named(page.names[code]), picture, element("span", said, "value")]);
    entry.classList.toggle("chosen", code === chosen);
    list.append(entry);
  }
  panel.replaceChildren(element("div", [element("h3", `${column.name} by cluster`), element("span", note, "hint"), close], "heading"), list);
  panel.hidden = false;
  panel.scrollIntoView({ block: "nearest" });
}

function connectColumns(state) {
  for (const cell of document.querySelectorAll("#heat [data-column]")) {
    cell.addEventListener("click", () => showDistribution(state, Number(cell.dataset.column), Number(cell.dataset.of)));
  }
  for (const [id, table] of [["all-columns", "heat"], ["all-clusters", "clusters"]]) {
    byId(id)?.addEventListener("click", () => {
      byId(table).classList.add("whole");
      byId(id).hidden = true;
    });
  }
  for (const cell of document.querySelectorAll("[data-pair]")) {
    cell.addEventListener("click", () => state.change({ brush: { pair: cell.dataset.pair.split(" ").map(Number) } }));
  }
}
