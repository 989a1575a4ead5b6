// Counts of labels by level of trust, for what the reader looks at.
"use strict";
(function (report) {
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
  report.tally = function (state) {
    return state.isCounted ? fromTables(state, true) : fromPoints(state);
  };

  report.countAll = (state) => fromTables(state, false);

  const sum = (numbers, first, end) => {
    let total = 0;
    for (let i = first; i < end; i++) total += numbers[i];
    return total;
  };

  // Say how many labels lie at or below the threshold, and how many of those above it would come back.
  report.showCounts = function (state) {
    const { page } = state.points;
    const { levels, sums } = report.tally(state);
    const below = sum(levels, 0, state.step + 1);
    const above = sum(levels, state.step + 1, levels.length);
    const about = !state.isCounted && page.weights ? "about " : "";
    const say = (id, text) => (document.getElementById(id).textContent = text);
    say("threshold-value", state.threshold.toFixed(2));
    say("count-below", about + report.withCommas(below));
    say("count-all", about + report.withCommas(below + above));
    say("share-below", report.percent(below, below + above));
    say("count-above", about + report.withCommas(above));
    if (page.sums) say("back-above", report.percent(sum(sums, state.step + 1, sums.length), above, 0));
  };
})((window.allegianceReport ??= {}));
