// Start: draw the figures, then tie them, the slider and the table together.
"use strict";
(function (report) {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  // Indices of the labels whose trust lies in one of the chosen bins.
  function labelsInBins(trust, chosen, steps) {
    const wanted = new Set(chosen);
    const points = [];
    trust.forEach((value, point) => {
      if (wanted.has(binOf(value, steps))) points.push(point);
    });
    return points;
  }

  // Bins are open on the left, but the first one holds 0 as well. Noise, which has no trust, is in none.
  function binOf(value, steps) {
    if (Number.isNaN(value)) return -1;
    let bin = Math.min(Math.max(Math.ceil(value * steps) - 1, 0), steps - 1);
    // Rounding may have moved an edge: the bins are (bin / steps, (bin + 1) / steps].
    if (bin > 0 && value <= bin / steps) bin -= 1;
    else if (value > (bin + 1) / steps) bin += 1;
    return bin;
  }

  // How many labels of the data the selected ones stand for, in each bin.
  function selectedCounts(page, columns, selection) {
    const counts = new Float64Array(page.steps);
    for (const point of selection) {
      const bin = binOf(columns.trust[point], page.steps);
      const supported = page.verdicts[columns.verdict[point]] === "supported";
      if (bin >= 0) counts[bin] += supported ? page.perSupported : page.perDoubtful;
    }
    return counts;
  }

  function connect(figures, page) {
    const model = (name) => figures.get_model_by_name(name);
    const points = model("points");
    const bins = model("bins");
    const marked = model("marked");
    const columns = points.data;
    columns.label_name = Array.from(columns.label, (code) => page.names[code]);
    columns.rival_name = Array.from(columns.rival, (code) => page.names[code]);
    columns.verdict_name = Array.from(columns.verdict, (code) => page.verdicts[code]);

    const mark = (point) => {
      const names = ["x", "y", "trust", "position"];
      marked.data = Object.fromEntries(names.map((name) => [name, point === null ? [] : [columns[name][point]]]));
    };
    const table = new report.ReviewTable(page, columns, mark);
    const clear = document.getElementById("clear");
    const status = document.getElementById("selection-status");
    let fromBins = false;

    const selectionChanged = () => {
      const chosen = Array.from(points.selected.indices);
      table.selection = chosen.length ? chosen : null;
      table.update();
      clear.disabled = !chosen.length;
      status.textContent = chosen.length ? `${report.withCommas(chosen.length)} selected.` : "Nothing selected.";
      bins.data = { ...bins.data, selected: selectedCounts(page, columns, chosen) };
      if (!fromBins) bins.selected.indices = [];
    };
    points.selected.properties.indices.change.connect(selectionChanged);
    bins.selected.properties.indices.change.connect(() => {
      if (!bins.selected.indices.length) return;
      fromBins = true;
      points.selected.indices = labelsInBins(columns.trust, bins.selected.indices, page.steps);
      fromBins = false;
    });
    const clearSelection = () => {
      points.selected.indices = [];
    };
    clear.addEventListener("click", clearSelection);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") clearSelection();
    });

    report.followTheme(figures, page.palettes);
    report.followSlider(page, (threshold, moved) => {
      for (const view of ["histogram", "profile"]) {
        model(`below-${view}`).right = threshold;
        model(`threshold-${view}`).location = threshold;
      }
      table.setThreshold(threshold, moved);
    });
  }

  async function start() {
    const { documents, items } = read("figures-data");
    await Bokeh.embed.embed_items(documents, items);
    connect(Bokeh.documents[0], read("page-data"));
    document.documentElement.dataset.ready = "true";
  }

  start();
})((window.allegianceReport ??= {}));
