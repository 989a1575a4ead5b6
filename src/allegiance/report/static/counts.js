// The slider: counts of all labels at or below the threshold, overall and for each cluster.
"use strict";
(function (report) {
  const percent = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) + " %" : "-");
  report.withCommas = (number) => number.toLocaleString("en-GB");

  function show(id, text) {
    document.getElementById(id).textContent = text;
  }

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  // Among all labels, also those that are not on the page.
  report.countBelow = function (page, threshold) {
    const step = Math.round(threshold * page.steps);
    return sum(page.sizes) - sum(page.above.map((counts) => counts[step]));
  };

  function showCounts(page, step) {
    const above = page.above.map((counts) => counts[step]);
    const total = sum(page.sizes);
    const totalAbove = sum(above);
    show("threshold-value", (step / page.steps).toFixed(2));
    show("count-below", report.withCommas(total - totalAbove));
    show("share-below", percent(total - totalAbove, total));
    show("count-above", report.withCommas(totalAbove));
    for (const cell of document.querySelectorAll("[data-above]")) {
      const group = cell.dataset.above;
      cell.textContent = group === "all" ? percent(totalAbove, total) : percent(above[group], page.sizes[group]);
    }
  }

  // Call `onChange` with the threshold and whether the reader moved it: now, and whenever that happens.
  report.followSlider = function (page, onChange) {
    const slider = document.getElementById("threshold");
    const update = (moved) => {
      showCounts(page, slider.valueAsNumber);
      onChange(slider.valueAsNumber / page.steps, moved);
    };
    slider.addEventListener("input", () => update(true));
    update(false);
  };
})((window.allegianceReport ??= {}));
