// The table of points to review. Everything is put in as text, never as markup.
"use strict";
(function (report) {
  // Rows added at a time: the rest follows when the reader scrolls.
  const CHUNK = 100;

  function element(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }

  function named(name) {
    const node = element("span", name, "name");
    node.title = name;
    return node;
  }

  function cell(child, className) {
    const node = element("td", undefined, className);
    if (child) node.append(child);
    return node;
  }

  function pairs(entries) {
    const list = element("span", undefined, "pairs");
    for (const [name, value] of entries) {
      const pair = element("span");
      pair.append(named(name), element("span", value, "value"));
      list.append(pair);
    }
    return list;
  }

  // Rank texts so that sorting many rows compares numbers only.
  function ranks(texts) {
    const collator = new Intl.Collator("en", { numeric: true });
    const order = texts.map((_, index) => index).sort((a, b) => collator.compare(texts[a], texts[b]));
    const rank = new Float64Array(texts.length);
    order.forEach((index, place) => (rank[index] = place && texts[order[place - 1]] === texts[index] ? rank[order[place - 1]] : place));
    return rank;
  }

  class ReviewTable {
    constructor(page, columns, onMark) {
      this.page = page;
      this.columns = columns;
      this.onMark = onMark;
      this.size = columns.row.length;
      this.threshold = 0.5;
      this.selection = null;
      this.sort = { key: "confidence", direction: 1 };
      this.markedPoint = null;
      this.table = document.getElementById("review");
      this.body = this.table.tBodies[0];
      this.keys = {};
      this.listen();
    }

    listen() {
      for (const header of this.table.querySelectorAll("th[data-key]")) {
        header.querySelector("button").addEventListener("click", () => this.sortBy(header.dataset.key));
      }
      const scroll = document.getElementById("review-scroll");
      scroll.addEventListener("scroll", () => {
        if (scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 600) this.addRows();
      });
    }

    sortBy(key) {
      this.sort = { key, direction: this.sort.key === key ? -this.sort.direction : 1 };
      this.update();
    }

    // The numbers by which a column is sorted.
    key(name) {
      if (!(name in this.keys)) {
        const { columns, page } = this;
        const byName = (codes) => {
          const rank = ranks(page.names);
          return Array.from(codes, (code) => rank[code]);
        };
        if (name === "id") this.keys.id = ranks(page.ids);
        else this.keys[name] = name === "label" || name === "runner_up" ? byName(columns[name]) : columns[name];
      }
      return this.keys[name];
    }

    update() {
      const { confidence, row } = this.columns;
      const candidates = this.selection ?? Array.from({ length: this.size }, (_, index) => index);
      const key = this.key(this.sort.key);
      const { direction } = this.sort;
      this.listed = candidates.filter((index) => confidence[index] <= this.threshold);
      this.listed.sort((a, b) => direction * (key[a] - key[b]) || row[a] - row[b]);
      this.body.replaceChildren();
      document.getElementById("review-scroll").scrollTop = 0;
      this.addRows();
      this.showState();
    }

    showState() {
      for (const header of this.table.querySelectorAll("th[data-key]")) {
        if (header.dataset.key !== this.sort.key) header.removeAttribute("aria-sort");
        else header.setAttribute("aria-sort", this.sort.direction > 0 ? "ascending" : "descending");
      }
      const listed = report.withCommas(this.listed.length);
      const level = `confidence of ${this.threshold.toFixed(2)} or less`;
      const all = report.withCommas(report.countBelow(this.page, this.threshold));
      document.getElementById("review-status").textContent = this.selection
        ? `${listed} of ${report.withCommas(this.selection.length)} selected points have a ${level}.`
        : `${listed === all ? all : `${listed} of ${all}`} points with a ${level}. Select some in a figure to list only those.`;
      if (!this.listed.length) {
        const note = element("td", `No ${this.selection ? "selected " : ""}point is at or below the threshold.`, "empty");
        note.colSpan = this.table.tHead.rows[0].cells.length;
        const row = element("tr");
        row.append(note);
        this.body.append(row);
      }
    }

    addRows() {
      const start = this.body.querySelectorAll("tr[data-point]").length;
      const rows = this.listed.slice(start, start + CHUNK).map((point) => this.row(point));
      this.body.append(...rows);
    }

    row(point) {
      const { columns, page } = this;
      const row = element("tr");
      row.dataset.point = point;
      if (point === this.markedPoint) row.className = "marked";
      if (page.pictures) row.append(this.picture(point));
      const number = element("button", columns.row[point]);
      number.type = "button";
      number.addEventListener("click", () => this.mark(point));
      row.append(cell(number, "number"));
      if (page.ids) row.append(cell(named(page.ids[point])));
      row.append(this.label(point));
      row.append(this.confidence(point));
      row.append(cell(named(page.names[columns.runner_up[point]])));
      row.append(cell(pairs(this.affinities(point))));
      if ("feature_0" in columns) row.append(cell(pairs(this.features(point))));
      return row;
    }

    picture(point) {
      // Pictures start with the least confident point, which is the last one.
      const encoded = this.page.pictures[this.size - 1 - point];
      if (encoded === undefined) return cell();
      const image = element("img");
      image.alt = `image of row ${this.columns.row[point]}`;
      image.src = "data:image/png;base64," + encoded;
      return cell(image);
    }

    // The label, and the cluster the point belongs to more, if that is another.
    label(point) {
      const { columns, page } = this;
      const node = cell(named(page.names[columns.label[point]]));
      if (columns.cluster_0[point] !== columns.label[point]) {
        const owner = element("span", " → ", "interval");
        owner.append(named(page.names[columns.cluster_0[point]]));
        node.append(owner);
      }
      return node;
    }

    confidence(point) {
      const node = cell(element("span", this.columns.confidence[point].toFixed(3)), "number");
      const halfWidth = this.columns.half_width[point];
      if (halfWidth > 0) node.append(element("span", ` ± ${halfWidth.toFixed(3)}`, "interval"));
      return node;
    }

    affinities(point) {
      const entries = [];
      for (let place = 0; `cluster_${place}` in this.columns; place++) {
        const name = this.page.names[this.columns[`cluster_${place}`][point]];
        entries.push([name, this.columns[`affinity_${place}`][point].toFixed(2)]);
      }
      return entries;
    }

    features(point) {
      const entries = [];
      for (let place = 0; `feature_${place}` in this.columns; place++) {
        const feature = this.columns[`feature_${place}`][point];
        if (feature < 0) break;
        const deviation = this.columns[`deviation_${place}`][point];
        entries.push([this.page.features[feature], `${deviation < 0 ? "−" : "+"}${Math.abs(deviation).toFixed(1)} sd`]);
      }
      return entries;
    }

    mark(point) {
      this.markedPoint = this.markedPoint === point ? null : point;
      for (const row of this.body.rows) row.classList.toggle("marked", Number(row.dataset.point) === this.markedPoint);
      this.onMark(this.markedPoint);
    }
  }

  report.ReviewTable = ReviewTable;
})((window.allegianceReport ??= {}));
