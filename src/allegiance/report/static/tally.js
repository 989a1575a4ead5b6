// Counts of labels by level of trust, for what the reader looks at.
function fromTables(state, onlyFiltered) {
  const { page } = state.points;
  const levels = new Float64Array(page.steps + 1);
  const sums = new Float64Array(page.steps + 1);
  const [first, last] = (onlyFiltered && state.brush?.levels) || [0, page.steps];
  page.levels.forEach((counts, code) => {
    if (onlyFiltered && state.clusters.size && !state.clusters.has(code)) return;
    for (let level = first; level <= last; level++) {
      levels[level] += counts[level];
      sums[level] += page.sums ? page.sums[code][level] : 0;
    }
  });
  return { levels, sums };
}

function fromPoints(state) {
  const { points } = state;
  const { level, trust } = points.columns;
  const levels = new Float64Array(points.page.steps + 1);
  const sums = new Float64Array(points.page.steps + 1);
  for (let point = 0; point < points.size; point++) {
    // Noise, which has no trust, is not counted.
    if (!state.mask[point] || trust[point] !== trust[point]) continue;
    const weight = points.weight(point);
    levels[level[point]] += weight;
    sums[level[point]] += weight * trust[point];
  }
  return { levels, sums };
}

// Labels and sums of trust at each level: exact for clusters and bins, scaled up from the points on the page otherwise.
function tally(state) {
  return state.isCounted ? fromTables(state, true) : fromPoints(state);
}

const countAll = (state) => fromTables(state, false);

// Say how many labels lie at or below the threshold, and how many of those above it would come back.
function showCounts(state) {
  const { page } = state.points;
  const { levels, sums } = tally(state);
  const below = sum(levels, 0, state.step + 1);
  const above = sum(levels, state.step + 1, levels.length);
  const about = !state.isCounted && page.weights ? "about " : "";
  say("threshold-value", state.threshold.toFixed(2));
  say("count-below", about + withCommas(below));
  say("count-all", about + withCommas(below + above));
  say("share-below", percent(below, below + above));
  say("count-above", about + withCommas(above));
  if (page.sums) say("back-above", percent(sum(sums, state.step + 1, sums.length), above, 0));
}
