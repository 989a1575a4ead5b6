// The table of labels to review: the queue.
// Rows shown at first, and added when the reader asks for more.
const FIRST = 15;
const MORE = 100;

// Rank texts so that sorting many rows compares numbers only.
function ranks(texts) {
  const collator = new Intl.Collator("en", { numeric: true });
  const order = texts.map((_, index) => index).sort((a, b) => collator.compare(texts[a], texts[b]));
  const rank = new Float64Array(texts.length);
  order.forEach((index, place) => (rank[index] = place && texts[order[place - 1]] === texts[index] ? rank[order[place - 1]] : place));
  return rank;
}

// The queues: their order, which points, how many of all data they are, and what one of them is called.
const LISTS = {
  priority: {
    sort: ["priority", -1],
    holds: ({ verdict }, point) => verdict[point] === 1 || verdict[point] === 2,
    count: ({ page }) => page.counts[1] + page.counts[2],
    word: () => "borderline or doubtful label#",
  },
  trust: {
    sort: ["trust", 1],
    holds: ({ verdict }, point) => verdict[point] === 1 || verdict[point] === 2,
    count: ({ page }) => page.counts[1] + page.counts[2],
    word: () => "borderline or doubtful label#",
  },
  audit: {
    holds: (_, point, { audited }) => audited.has(point),
    count: ({ page }) => page.audit.points.length,
    word: () => "label# to audit",
  },
  selection: {
    holds: () => true,
    count: ({ page }) => sum(page.counts),
    word: () => "point#",
  },
  below: {
    sort: ["trust", 1],
    holds: ({ level, trust }, point, { state }) => level[point] <= state.step && trust[point] === trust[point],
    count: ({ state }) => sum(countAll(state).levels, 0, state.step + 1),
    word: ({ page, state }) => `label# with ${page.quantity} ${state.threshold.toFixed(2)} or less`,
  },
  decided: {
    holds: (_, point, { decisions }) => decisions.of(point) !== undefined,
    count: ({ decisions }) => decisions.taken.size,
    word: () => "point# you decided about",
  },
};
class ReviewTable {
  constructor(state, decisions) {
    this.state = state;
    this.points = state.points;
    this.page = this.points.page;
    this.decisions = decisions;
    this.orders = {};
    this.audited = new Set(this.page.audit.points);
    this.listed = new Uint32Array(0);
    this.table = byId("review");
    this.body = this.table.tBodies[0];
    this.headings = Array.from(this.table.tHead.rows[0].cells, (cell) => cell.textContent.trim());
    this.choice = byId("listed");
    this.resetSort();
    this.more = byId("more");
    this.choice.addEventListener("change", () => {
      this.resetSort();
      this.update();
      showAudit(decisions);
    });
    this.more.addEventListener("click", () => this.addRows(MORE));
    for (const header of this.table.querySelectorAll("th[data-key]")) {
      header.querySelector("button").addEventListener("click", () => this.sortBy(header.dataset.key));
    }
  }

  // Each queue has its own order; the default is review priority.
  resetSort() {
    const [key, direction] = this.list.sort ?? ["priority", -1];
    this.sort = { key, direction, isDefault: true };
  }

  get list() {
    return LISTS[this.choice.value];
  }

  // The audit and what was decided are listed whatever the reader looks at.
  get isWhole() {
    return ["audit", "decided"].includes(this.choice.value);
  }

  // Whether the queue has a point; the choice of the queue is read once for all points.
  filter() {
    const { state, list, isWhole } = this;
    const { columns } = this.points;
    return (point) => (isWhole || state.holds(point)) && list.holds(columns, point, this);
  }

  sortBy(key) {
    this.sort = { key, direction: this.sort.key === key ? -this.sort.direction : 1 };
    this.update();
  }

  // The numbers by which a column is sorted; noise has no trust and no typicality, and comes last.
  key(name) {
    const { columns } = this.points;
    if (name.startsWith("id-")) return ranks(this.page.ids[Number(name.slice(3))]);
    if (name === "label" || name === "rival") {
      const rank = ranks(this.page.labels);
      return Array.from(columns[name], (code) => rank[code]);
    }
    const last = name === "priority" ? -Infinity : Infinity;
    return Array.from(columns[name], (value) => (Number.isNaN(value) ? last : value));
  }

  // All points in the order of a column.
  order(name) {
    if (this.orders[name]?.length !== this.points.size) {
      const { row } = this.points.columns;
      const key = this.key(name);
      // Equal values are in the order of rows when those to review first come first.
      const sign = name === "priority" ? -1 : 1;
      const order = Uint32Array.from({ length: this.points.size }, (_, i) => i);
      this.orders[name] = order.sort((a, b) => (key[a] < key[b] ? -1 : key[a] > key[b] ? 1 : sign * (row[a] - row[b])));
    }
    return this.orders[name];
  }

  update() {
    const isAudit = this.choice.value === "audit" && this.sort.isDefault;
    const inOrder = isAudit ? Uint32Array.from(this.page.audit.points) : this.order(this.sort.key);
    this.listed = inOrder.filter(this.filter());
    if (this.sort.direction < 0 && !isAudit) this.listed.reverse();
    this.body.replaceChildren();
    this.shown = 0;
    this.addRows(FIRST);
    this.showState();
  }

  showState() {
    for (const header of this.table.querySelectorAll("th[data-key]")) {
      if (header.dataset.key !== this.sort.key) header.removeAttribute("aria-sort");
      else header.setAttribute("aria-sort", this.sort.direction > 0 ? "ascending" : "descending");
    }
    this.showStatus();
    byId("next").disabled = !this.listed.length;
    if (!this.listed.length) {
      const among = this.state.isFiltered && !this.isWhole;
      const note = element("td", among ? "None of the selected points. Choose another queue, or show all points." : "There are none.", "empty");
      note.colSpan = this.headings.length;
      this.body.append(element("tr", note));
    }
  }

  showStatus() {
    const [listed, all] = [this.listed.length, this.list.count(this)];
    const said = (number) => `${withCommas(number)} ${this.list.word(this).replace("#", number === 1 ? "" : "s")}`;
    const known = Array.from(this.decisions.taken.keys(), (row) => this.points.pointOf.get(row));
    const holds = this.filter();
    const decided = known.filter((point) => point !== undefined && holds(point)).length;
    const progress = decided && this.choice.value !== "decided" ? ` ${withCommas(decided)} decided.` : "";
    let whole = listed === all ? `${said(all)}.` : `${withCommas(listed)} of ${said(all)}.`;
    if (this.state.isFiltered && !this.isWhole) whole = `${said(listed)} among the selected points.`;
    say("review-status", whole + progress);
  }

  addRows(number) {
    const added = this.listed.slice(this.shown, this.shown + number);
    for (const point of added) this.body.append(this.row(point));
    this.shown += added.length;
    const left = this.listed.length - this.shown;
    this.more.hidden = !left;
    this.more.textContent = left > MORE ? `Show ${withCommas(MORE)} of ${withCommas(left)} more` : `Show ${withCommas(left)} more`;
  }

  row(point) {
    const { points, page } = this;
    const cells = [];
    if (page.images) cells.push([points.image(point) ? picture(points, point) : null]);
    const [first, ...others] = page.idNames.length ? points.ids(point) : [points.columns.row[point]];
    const opened = button(named(first), () => this.state.change({ marked: point }), "open");
    cells.push([opened, page.idNames.length ? "" : "number"]);
    for (const id of others) cells.push([named(id)]);
    if (page.texts) cells.push([points.text(point) ? element("span", points.text(point), "excerpt") : null, "long"]);
    cells.push([this.cluster(points.columns.label[point])]);
    cells.push([points.trust(point), "number"]);
    cells.push([verdictKey(points.verdict(point))], [this.cluster(points.columns.rival[point])]);
    cells.push([points.priority(point), "number"], [points.reason(point), "reason"]);
    if (page.hasEvidence) cells.push([this.evidence(point), "long"]);
    cells.push([decisionSelect(points, this.decisions, point)]);
    const row = element("tr", cells.map(([content, className]) => element("td", content, className)));
    Array.from(row.cells).forEach((cell, i) => (cell.dataset.name = this.headings[i]));
    row.dataset.point = point;
    row.classList.toggle("marked", point === this.state.marked);
    this.showDecision(row, point);
    return row;
  }

  // The name of a cluster after its color.
  cluster(code) {
    const chip = element("span", undefined, "chip");
    chip.style.background = this.page.colors.cluster[code];
    return element("span", [chip, named(this.page.names[code])], "chipped");
  }

  evidence(point) {
    const evidence = this.points.evidence(point).filter(({ weight }) => weight < 0).slice(0, 3);
    const parts = evidence.map((entry) => {
      const node = element("span", breakable(evidenceText(entry)[0]));
      node.title = evidenceText(entry).join(", ");
      return node;
    });
    return element("span", parts, "pairs");
  }

  rowOf(point) {
    return this.body.querySelector(`tr[data-point="${point}"]`);
  }

  showMarked() {
    for (const row of this.body.querySelectorAll("tr.marked")) row.classList.remove("marked");
    if (this.state.marked !== null) this.rowOf(this.state.marked)?.classList.add("marked");
  }

  showDecision(row, point) {
    row.classList.toggle("decided", this.decisions.of(point) !== undefined);
    row.querySelector("select.decision").showDecision();
  }

  decided(point) {
    const row = point === null ? null : this.rowOf(point);
    if (row) this.showDecision(row, point);
    if (this.choice.value === "decided") this.update();
    else this.showStatus();
  }

  // The point of the queue that stands `step` places behind another one; without one the first.
  at(point, step) {
    const place = this.listed.indexOf(point);
    if (place < 0) return this.listed[0] ?? null;
    return this.listed[place + step] ?? null;
  }

  // The next point without a decision behind another one, then from the start; null if all are decided.
  nextOpen(point) {
    const place = this.listed.indexOf(point);
    const isOpen = (candidate) => !this.decisions.of(candidate);
    return this.listed.subarray(place + 1).find(isOpen) ?? this.listed.subarray(0, Math.max(place, 0)).find(isOpen) ?? null;
  }
}
