// Start: draw the figures, then tie them, the controls, the cards and the table to one state.
"use strict";
(function (report) {
  const { element } = report;
  const byId = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(byId(id).textContent);

  function describeFilter(state) {
    const { names, weights } = state.points.page;
    const parts = [];
    if (state.clusters.size === 1) parts.push(`cluster ${names[state.clusters.values().next().value]}`);
    else if (state.clusters.size) parts.push(`${state.clusters.size} clusters`);
    if (state.search) parts.push(`“${state.search}”`);
    if (state.brush?.levels) parts.push("a part of the histogram");
    if (state.brush?.mask) parts.push("a selection");
    if (!parts.length) return "All points.";
    let count = 0;
    for (const inside of state.mask) count += inside;
    return `Looking at ${parts.join(", ")}: ${report.withCommas(count)} points${weights ? " on the page" : ""}.`;
  }

  function connectControls(state, table) {
    const search = byId("search");
    let waiting;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => state.change({ search: search.value.trim() }), 150);
    });
    const colour = byId("colour");
    colour.addEventListener("change", () => state.change({ colour: colour.value }));
    const slider = byId("threshold");
    slider.addEventListener("input", () => {
      table.listBelow();
      state.change({ step: slider.valueAsNumber });
    });
    byId("clear").addEventListener("click", () => state.clear());
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") state.marked === null ? state.clear() : state.change({ marked: null });
    });
    state.follow((kinds) => {
      if (kinds.has("filter")) {
        if (!state.search) search.value = "";
        report.say("filter-status", describeFilter(state));
        byId("clear").disabled = !state.isFiltered;
      }
      if (kinds.has("filter") || kinds.has("threshold")) report.showCounts(state);
    });
  }

  function connectClusters(state) {
    const { page } = state.points;
    const buttons = Array.from(document.querySelectorAll("[data-cluster]"));
    for (const button of buttons) {
      const code = Number(button.dataset.cluster);
      button.querySelector(".chip").style.background = page.colours.cluster[code];
      button.addEventListener("click", (event) => {
        report.chooseCluster(state, code, event.ctrlKey || event.shiftKey || event.metaKey);
      });
    }
    const all = byId("all-clusters");
    all?.addEventListener("click", () => {
      byId("clusters").classList.add("whole");
      all.hidden = true;
    });
    const card = byId("cluster");
    const mark = (point) => state.change({ marked: point, openIn: "panel" });
    state.follow((kinds) => {
      if (!kinds.has("filter")) return;
      for (const button of buttons) button.setAttribute("aria-pressed", state.clusters.has(Number(button.dataset.cluster)));
      const [code] = state.clusters;
      card.hidden = state.clusters.size !== 1 || code >= page.clusters.length;
      if (card.hidden) card.replaceChildren();
      else card.replaceChildren(element("h3", `Cluster ${page.names[code]}`), report.clusterCard(state.points, code, mark));
    });
  }

  function connectPoint(state, decisions) {
    const card = byId("point");
    state.follow((kinds) => {
      if (!kinds.has("marked")) return;
      const { marked } = state;
      card.hidden = marked === null || state.openIn !== "panel";
      card.replaceChildren();
      if (card.hidden) return;
      const close = report.button("Close", () => state.change({ marked: null }));
      const heading = element("div", [element("h3", `Row ${state.points.columns.row[marked]}`), close], "heading");
      card.append(heading, report.pointCard(state.points, decisions, marked));
    });
  }

  function connectReview(state, decisions, table) {
    state.follow((kinds) => {
      const moved = kinds.has("threshold") && table.choice.value === "below";
      if (kinds.has("filter") || moved) table.update();
      if (kinds.has("marked")) table.showMarked();
    });
    decisions.follow((point) => {
      table.decided(point);
      for (const select of document.querySelectorAll(".card select.decision")) select.showDecision();
      report.say("decision-status", decisions.summary());
      byId("export-decisions").disabled = !decisions.taken.size;
      byId("undo").disabled = !decisions.history.length;
    });
    byId("undo").addEventListener("click", () => decisions.undo());
    byId("export-decisions").addEventListener("click", () => report.download("decisions.csv", decisions.csv()));
    byId("export-list").addEventListener("click", () => {
      report.download("review.csv", report.listAsCsv(state.points, table.listed));
    });
  }

  async function start() {
    const points = new report.Points(read("page-data"));
    const state = new report.State(points);
    const decisions = new report.Decisions(points);
    const table = new report.ReviewTable(state, decisions);
    connectControls(state, table);
    connectClusters(state);
    connectReview(state, decisions, table);
    connectPoint(state, decisions);
    const { documents, items } = read("figures-data");
    await Bokeh.embed.embed_items(documents, items);
    const [figures] = Bokeh.documents;
    const views = new report.FigureViews(figures, state);
    report.followTheme(figures, () => views.soon("drawMap", "drawProfile"));
    state.follow((kinds) => views.update(kinds));
    report.state = state;
    // Two frames later everything is drawn.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        performance.mark("ready");
        document.documentElement.dataset.ready = "true";
      }),
    );
  }

  start();
})((window.allegianceReport ??= {}));
