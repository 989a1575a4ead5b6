// Start: draw the figures, then tie them, the controls, the cards and the table to one state.
// Images of a cluster in the table of clusters.
const MOST_TYPICAL = 4;
const read = (id) => JSON.parse(byId(id).textContent);

function describeFilter(state) {
  const { names, weights } = state.points.page;
  const parts = [];
  if (state.clusters.size === 1) parts.push(`cluster ${names[state.clusters.values().next().value]}`);
  else if (state.clusters.size) parts.push(`${state.clusters.size} clusters`);
  if (state.search) parts.push(`“${state.search}”`);
  if (state.brush?.levels) parts.push("a part of the histogram");
  if (state.brush?.mask) parts.push("a selection");
  if (state.brush?.pair) parts.push(`weak labels of ${names[state.brush.pair[0]]} with rival ${names[state.brush.pair[1]]}`);
  if (!parts.length) return "All points.";
  const count = sum(state.mask);
  return `Selected: ${parts.join(", ")} (${withCommas(count)} points${weights ? " on the page" : ""}).`;
}

function connectControls(state, table, decisions) {
  const { page } = state.points;
  const search = byId("search");
  let waiting;
  const find = async () => {
    const query = search.value.trim();
    // The page does not hold all points, nor all texts: the server searches the rest.
    const asks = page.served && (page.weights || page.texts) && query.length > 1;
    const sent = asks ? await attempt(() => decisions.store.get(`find?query=${encodeURIComponent(query)}`)) : null;
    if (query !== search.value.trim()) return;  // A newer search has started.
    if (sent?.columns) state.points.add(sent);
    state.change({ search: query, matches: sent?.rows ?? [] });
  };
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 150);
  });
  const color = byId("color");
  color.addEventListener("change", () => state.change({ color: color.value }));
  const slider = byId("threshold");
  slider.addEventListener("input", () => {
    // A reader who moves the threshold wants to see what lies below it.
    if (table.choice.value !== "below") {
      table.choice.value = "below";
      table.resetSort();
    }
    state.change({ step: slider.valueAsNumber });
  });
  connectAxes(state);
  byId("clear").addEventListener("click", () => state.clear());
  state.follow((kinds) => {
    if (kinds.has("filter")) {
      if (!state.search) search.value = "";
      say("filter-status", describeFilter(state));
      byId("clear").disabled = !state.isFiltered;
    }
    if (kinds.has("filter") || kinds.has("threshold")) showCounts(state);
  });
}

// The choice of axes: those that came with the page, or any two columns of numbers or dates.
function connectAxes(state) {
  const { points } = state;
  const [choice, ...sides] = ["axes", "axis-x", "axis-y"].map(byId);
  const isNumeric = ({ kind }, i) => ["number", "date"].includes(kind) && points.page.values[i] !== null;
  const usable = points.page.table.map((column, i) => [column, i]).filter(([column, i]) => isNumeric(column, i));
  sides.forEach((select, side) => {
    select.append(...usable.map(([{ name }, i]) => Object.assign(element("option", name), { value: i })));
    if (usable.length > 1) select.value = usable[side][1];
  });
  const changed = () => {
    const isColumns = choice.value === "columns";
    byId("axis-columns").hidden = !isColumns;
    state.change({ axes: isColumns ? sides.map((select) => Number(select.value)) : Number(choice.value) });
  };
  for (const select of [choice, ...sides]) select.addEventListener("change", changed);
}

function showNames({ page }) {
  for (const node of document.querySelectorAll("[data-names]")) node.replaceChildren(...breakable(page.names[Number(node.dataset.names)]));
  for (const node of document.querySelectorAll("[data-title]")) node.title = page.names[Number(node.dataset.title)];
  for (const chip of document.querySelectorAll("[data-chip]")) chip.style.background = page.colors.cluster[Number(chip.dataset.chip)];
}

function connectClusters(state, decisions, table, views) {
  const { points } = state;
  const { page } = points;
  const buttons = Array.from(document.querySelectorAll("[data-cluster]"));
  for (const button of buttons) {
    const code = Number(button.dataset.cluster);
    button.querySelector(".chip").style.background = page.colors.cluster[code];
    button.addEventListener("click", (event) => {
      chooseCluster(state, code, event.ctrlKey || event.shiftKey || event.metaKey);
    });
  }
  for (const cell of document.querySelectorAll("[data-typical]")) {
    const typical = page.clusters[Number(cell.dataset.typical)].typical.filter((point) => points.image(point));
    cell.append(...typical.slice(0, MOST_TYPICAL).map((point) => picture(points, point)));
  }
  const card = byId("cluster");
  const mark = (point) => state.change({ marked: point });
  const renamed = () => {
    showNames(points);
    table.update();
    views.soon("drawMap", "drawLegend");
    say("filter-status", describeFilter(state));
    const [code] = state.clusters;
    if (!card.hidden) card.querySelector("h3").textContent = `Cluster ${page.names[code]}`;
  };
  showNames(points);
  state.follow((kinds) => {
    if (!kinds.has("filter")) return;
    for (const button of buttons) button.setAttribute("aria-pressed", state.clusters.has(Number(button.dataset.cluster)));
    const [code] = state.clusters;
    card.hidden = state.clusters.size !== 1 || code >= page.clusters.length;
    if (card.hidden) card.replaceChildren();
    else card.replaceChildren(element("h3", `Cluster ${page.names[code]}`), clusterCard(points, decisions, code, { mark, renamed }));
  });
}

// The point under review: its card, the keys, and the way to the next one.
function connectPoint(state, decisions, table) {
  const card = byId("point");
  const { points } = state;
  const open = (point) => state.change({ marked: point });
  const act = (key) => {
    const point = state.marked;
    const rival = points.columns.rival[point];
    if (key === "z") return decisions.undo().then((undone) => undone !== null && open(undone));
    if (key === "n" && points.isNoise(point)) return null;
    if (key === "m" && rival === points.columns.label[point]) return null;
    const decision = { k: "keep", m: "move", n: "noise", u: "unsure" }[key];
    const next = table.nextOpen(point);
    decisions.decide(point, decision, decision === "move" ? rival : null);
    if (next !== null) open(next);
    return null;
  };
  addEventListener("keydown", (event) => {
    // Keys in a field belong to the field.
    if (event.target.closest("input:not([type=range], [type=checkbox]), select, textarea")) return;
    if (event.key === "Escape") state.marked === null ? state.clear() : open(null);
    // Single-key shortcuts work while a point is open, and can be switched off (WCAG 2.1.4).
    const isOpen = state.marked !== null;
    if (!isOpen || !byId("shortcuts").checked || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const walks = step && event.target.type !== "range" && !event.target.closest(".wide-table, .bk-Figure");
    if ("kmnuz".includes(event.key)) act(event.key);
    else if (event.key === "j") open(table.nextOpen(state.marked) ?? state.marked);
    else if (walks) open(table.at(state.marked, step) ?? state.marked);
    else return;
    event.preventDefault();
  });
  byId("undo").addEventListener("click", () => act("z"));
  byId("next").addEventListener("click", () => open(table.nextOpen(state.marked) ?? table.at(state.marked, 1)));
  state.follow((kinds) => {
    if (!kinds.has("marked")) return;
    const { marked } = state;
    card.hidden = marked === null;
    card.replaceChildren();
    if (marked === null) return;
    const place = table.listed.indexOf(marked);
    const where = place < 0 ? "" : `${withCommas(place + 1)} of ${withCommas(table.listed.length)} in the queue`;
    const close = button("Close", () => open(null));
    const heading = element("h3", points.title(marked));
    card.append(element("div", [heading, element("span", where, "hint"), close], "heading"));
    card.append(pointCard(points, decisions, marked, { act, mark: open }));
    showDecided(card, decisions, marked);
    card.scrollIntoView({ block: "nearest" });
  });
  decisions.follow(() => {
    if (state.marked !== null) showDecided(card, decisions, state.marked);
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
    say("decision-status", decisions.summary());
    document.querySelector('[data-export="decisions.csv"]').disabled = !decisions.taken.size;
    byId("undo").disabled = !decisions.canUndo;
    showAudit(decisions);
  });
  connectExports(decisions);
  connectAudit(decisions);
}

// Width of a printed page in pixels.
const PAPER_WIDTH = 700;

// Sections are closed on a phone, but for the first ones, and open in print.
function connectSections() {
  const sections = Array.from(document.querySelectorAll("details.section"));
  if (matchMedia("(max-width: 50rem)").matches) for (const section of sections) section.open = section.id === "drivers";
  let closed = [];
  addEventListener("beforeprint", () => {
    // Figures keep the size of the screen: scale them to the width of the paper.
    document.documentElement.style.setProperty("--print-zoom", Math.min(1, PAPER_WIDTH / document.querySelector("main").clientWidth));
    closed = sections.filter((section) => !section.open);
    for (const section of closed) section.open = true;
  });
  addEventListener("afterprint", () => {
    for (const section of closed) section.open = false;
  });
}

async function start() {
  connectSections();
  const points = new Points(read("page-data"));
  const state = new State(points);
  const decisions = new Decisions(points);
  await decisions.load();
  const table = new ReviewTable(state, decisions);
  connectControls(state, table, decisions);
  connectReview(state, decisions, table);
  decisions.store.follow(async () => {
    await decisions.load();
    showNames(points);
    table.update();
    decisions.tell(null);
  });
  connectPoint(state, decisions, table);
  const { documents, items } = read("figures-data");
  await Bokeh.embed.embed_items(documents, items);
  const [figures] = Bokeh.documents;
  const views = new FigureViews(figures, state);
  connectClusters(state, decisions, table, views);
  connectColumns(state);
  followTheme(figures, () => views.soon("drawMap"));
  state.follow((kinds) => views.update(kinds));
  Object.assign(report, { state, decisions, table });
  // Two frames later everything is drawn.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      performance.mark("ready");
      document.documentElement.dataset.ready = "true";
    }),
  );
}

start();
