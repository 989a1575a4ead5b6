// Start: draw the figures, then tie them, the slider and the table together.
"use strict";
(function (report) {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  // Indices of the points whose confidence lies in one of the chosen bins, each open on the left.
  function pointsInBins(confidence, chosen, steps) {
    const wanted = new Set(chosen);
    const points = [];
    confidence.forEach((value, point) => {
      if (wanted.has(binOf(value, steps))) points.push(point);
    });
    return points;
  }

  function binOf(value, steps) {
    let bin = Math.min(Math.max(Math.ceil(value * steps) - 1, 0), steps - 1);
    // Rounding may have moved an edge: the bins are (bin / steps, (bin + 1) / steps].
    if (value <= bin / steps) bin -= 1;
    else if (value > (bin + 1) / steps) bin += 1;
    return bin;
  }

  // How many points of the data the selected ones stand for, in each bin.
  function selectedCounts(page, confidence, selection) {
    const counts = new Float64Array(page.steps);
    for (const point of selection) {
      counts[binOf(confidence[point], page.steps)] += confidence[point] > 0.5 ? page.perStable : page.perReview;
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
    columns.runner_up_name = Array.from(columns.runner_up, (code) => page.names[code]);

    const mark = (point) => {
      const names = ["x", "y", "confidence", "position"];
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
      bins.data = { ...bins.data, selected: selectedCounts(page, columns.confidence, chosen) };
      if (!fromBins) bins.selected.indices = [];
    };
    points.selected.properties.indices.change.connect(selectionChanged);
    bins.selected.properties.indices.change.connect(() => {
      if (!bins.selected.indices.length) return;
      fromBins = true;
      points.selected.indices = pointsInBins(columns.confidence, bins.selected.indices, page.steps);
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
    report.followSlider(page, (threshold) => {
      for (const view of ["histogram", "profile"]) {
        model(`below-${view}`).right = threshold;
        model(`threshold-${view}`).location = threshold;
      }
      table.threshold = threshold;
      table.update();
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
