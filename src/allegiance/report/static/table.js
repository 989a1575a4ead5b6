// The table of labels to review.
"use strict";
(function (report) {
  const { element, named, signed } = report;
  // Rows shown at first, and added when the reader asks for more.
  const FIRST = 25;
  const MORE = 100;

  // Rank texts so that sorting many rows compares numbers only.
  function ranks(texts) {
    const collator = new Intl.Collator("en", { numeric: true });
    const order = texts.map((_, index) => index).sort((a, b) => collator.compare(texts[a], texts[b]));
    const rank = new Float64Array(texts.length);
    order.forEach((index, place) => (rank[index] = place && texts[order[place - 1]] === texts[index] ? rank[order[place - 1]] : place));
    return rank;
  }

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  // What can be listed: which points, how many of all data they are, what one and several are called, and none.
  const LISTS = {
    doubtful: {
      holds: ({ verdict }, point) => verdict[point] === 1 || verdict[point] === 2,
      count: ({ page }) => page.counts[1] + page.counts[2],
      words: () => ["label that is not supported", "labels that are not supported"],
      none: "Every label is supported.",
    },
    contradicted: {
      holds: ({ verdict }, point) => verdict[point] === 2,
      count: ({ page }) => page.counts[2],
      words: () => ["contradicted label", "contradicted labels"],
      none: "No label is contradicted.",
    },
    below: {
      holds: ({ level, trust }, point, { state }) => level[point] <= state.step && trust[point] === trust[point],
      count: ({ page, state }) => sum(page.levels.map((counts) => sum(counts.slice(0, state.step + 1)))),
      words: ({ page, state }) => {
        const level = `with ${page.quantity} ${state.threshold.toFixed(2)} or less`;
        return [`label ${level}`, `labels ${level}`];
      },
      none: "No label is at or below the threshold.",
    },
    noise: {
      holds: ({ verdict }, point) => verdict[point] === 3,
      count: ({ page }) => page.counts[3],
      words: () => ["noise point", "noise points"],
      none: "There is no noise.",
    },
    decided: {
      holds: (_, point, { decisions }) => decisions.of(point) !== undefined,
      count: ({ decisions }) => decisions.taken.size,
      words: () => ["point you decided about", "points you decided about"],
      none: "You have not decided about any point.",
    },
    all: {
      holds: () => true,
      count: ({ page }) => sum(page.counts),
      words: () => ["point", "points"],
      none: "There are no points.",
    },
  };

  report.ReviewTable = class {
    constructor(state, decisions) {
      this.state = state;
      this.points = state.points;
      this.page = this.points.page;
      this.decisions = decisions;
      this.sort = { key: "trust", direction: 1 };
      this.orders = {};
      this.table = document.getElementById("review");
      this.body = this.table.tBodies[0];
      this.headings = Array.from(this.table.tHead.rows[0].cells, (cell) => cell.textContent.trim());
      this.choice = document.getElementById("listed");
      this.more = document.getElementById("more");
      this.listen();
    }

    get list() {
      return LISTS[this.choice.value];
    }

    listen() {
      this.choice.addEventListener("change", () => this.update());
      this.more.addEventListener("click", () => this.addRows(MORE));
      for (const header of this.table.querySelectorAll("th[data-key]")) {
        header.querySelector("button").addEventListener("click", () => this.sortBy(header.dataset.key));
      }
      this.body.addEventListener("keydown", (event) => this.pressed(event));
    }

    // A reader who moves the threshold wants to see what lies below it.
    listBelow() {
      this.choice.value = "below";
    }

    sortBy(key) {
      this.sort = { key, direction: this.sort.key === key ? -this.sort.direction : 1 };
      this.update();
    }

    // The numbers by which a column is sorted; noise has no trust and no typicality, and comes last.
    key(name) {
      const { columns } = this.points;
      const byName = (codes) => {
        const rank = ranks(this.page.names);
        return Array.from(codes, (code) => rank[code]);
      };
      if (name.startsWith("id-")) return ranks(this.page.ids[Number(name.slice(3))]);
      if (name === "label" || name === "rival") return byName(columns[name]);
      return Array.from(columns[name], (value) => (Number.isNaN(value) ? Infinity : value));
    }

    // All points in the order of a column. By trust they come already sorted, the least trusted last.
    order(name) {
      if (!(name in this.orders)) {
        const order = Uint32Array.from({ length: this.points.size }, (_, i) => this.points.size - 1 - i);
        if (name !== "trust") {
          const { row } = this.points.columns;
          const key = this.key(name);
          order.sort((a, b) => key[a] - key[b] || row[a] - row[b]);
        }
        this.orders[name] = order;
      }
      return this.orders[name];
    }

    update() {
      const { columns } = this.points;
      const order = this.order(this.sort.key);
      const { list, state } = this;
      this.listed = order.filter((point) => state.holds(point) && list.holds(columns, point, this));
      if (this.sort.direction < 0) this.listed.reverse();
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
      report.say("review-status", this.status());
      document.getElementById("export-list").disabled = !this.listed.length;
      if (!this.listed.length) {
        const note = element("td", this.state.isFiltered ? "None of the points looked at." : this.list.none, "empty");
        note.colSpan = this.headings.length;
        this.body.append(element("tr", note));
      }
    }

    status() {
      const [listed, all] = [this.listed.length, this.list.count(this)];
      const [one, several] = this.list.words(this);
      const said = (number) => `${report.withCommas(number)} ${number === 1 ? one : several}`;
      if (this.state.isFiltered) return `${said(listed)} among the points looked at.`;
      return listed === all ? `${said(all)}.` : `${report.withCommas(listed)} of ${said(all)}.`;
    }

    addRows(number) {
      const added = this.listed.slice(this.shown, this.shown + number);
      for (const point of added) this.body.append(...this.rows(point));
      this.shown += added.length;
      const left = this.listed.length - this.shown;
      this.more.hidden = !left;
      this.more.textContent = `Show ${report.withCommas(Math.min(MORE, left))} more of ${report.withCommas(left)}`;
    }

    // The row of a point and, if it is marked, the one with its details.
    rows(point) {
      const row = this.row(point);
      return point === this.state.marked ? [row, ...this.open(row, point)] : [row];
    }

    row(point) {
      const { points, page } = this;
      const { columns } = points;
      const cells = [];
      if (page.images) cells.push([points.image(point) ? report.picture(points, point) : null]);
      const number = report.button(columns.row[point], () => this.toggle(point), "open");
      number.setAttribute("aria-expanded", "false");
      cells.push([number, "number"]);
      for (const id of points.ids(point)) cells.push([named(id)]);
      const text = points.text(point);
      if (page.texts) cells.push([text ? report.markedText("span", text, points.words(point), "excerpt") : null, "long"]);
      cells.push([named(points.label(point))]);
      if (page.calibrated) cells.push([points.trust(point), "number"]);
      cells.push([report.verdictKey(points.verdict(point))], [named(points.rival(point))]);
      cells.push([report.ownAffinity(points, point), "number"]);
      if ("typicality" in columns) cells.push([report.typicality(points, point), "number"]);
      if ("feature_0" in columns) cells.push([this.pulls(point), "long"]);
      cells.push([report.decisionSelect(points, this.decisions, point)]);
      const row = element("tr", cells.map(([content, className]) => element("td", content, className)));
      Array.from(row.cells).forEach((cell, i) => (cell.dataset.name = this.headings[i]));
      row.dataset.point = point;
      this.showDecision(row, point);
      return row;
    }

    pulls(point) {
      const pairs = this.points.pulls(point).map(([name, value]) => {
        return element("span", [named(name), element("span", signed(value), "value")]);
      });
      return element("span", pairs, "pairs");
    }

    rowOf(point) {
      return this.body.querySelector(`tr[data-point="${point}"]`);
    }

    toggle(point) {
      const isOpen = this.state.marked === point && this.state.openIn === "table";
      this.state.change({ marked: isOpen ? null : point, openIn: "table" });
    }

    // Mark the row of the marked point, open its details if it was marked here, and close any other.
    showMarked() {
      for (const row of this.body.querySelectorAll("tr.marked")) {
        row.classList.remove("marked");
        row.querySelector("button.open").setAttribute("aria-expanded", "false");
      }
      for (const row of this.body.querySelectorAll("tr.details")) row.remove();
      const row = this.state.marked === null ? null : this.rowOf(this.state.marked);
      if (row) row.after(...this.open(row, this.state.marked));
    }

    open(row, point) {
      row.classList.add("marked");
      if (this.state.openIn !== "table") return [];
      row.querySelector("button.open").setAttribute("aria-expanded", "true");
      const cell = element("td", report.pointCard(this.points, this.decisions, point));
      cell.colSpan = this.headings.length;
      return [element("tr", cell, "details")];
    }

    showDecision(row, point) {
      row.classList.toggle("decided", this.decisions.of(point) !== undefined);
      row.querySelector("select.decision").showDecision();
    }

    decided(point) {
      const row = point === null ? null : this.rowOf(point);
      if (row) this.showDecision(row, point);
      if (this.choice.value === "decided") this.update();
    }

    // One key for each decision about the row of the focus, arrows to walk.
    pressed(event) {
      const row = event.target.closest("tr[data-point]");
      if (!row || event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
      const point = Number(row.dataset.point);
      const { rival } = this.points.columns;
      const keys = { k: ["keep"], m: ["move", rival[point]], n: ["noise"], u: ["unsure"], Backspace: [""] };
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in keys && !(event.key === "n" && this.points.isNoise(point))) {
        this.decisions.decide(point, ...keys[event.key]);
        this.walk(row, event.key === "Backspace" ? 0 : 1);
      } else if (event.key in steps) this.walk(row, steps[event.key]);
      else return;
      event.preventDefault();
    }

    walk(row, step) {
      const rows = Array.from(this.body.querySelectorAll("tr[data-point]"));
      const next = rows.indexOf(row) + step;
      if (next >= rows.length) this.addRows(MORE);
      (rows[next] ?? row.nextElementSibling)?.querySelector?.("button.open")?.focus();
    }
  };
})((window.allegianceReport ??= {}));
