// The table of labels to review. Everything is put in as text, never as markup.
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

  // What can be listed: which points, how many of all data they are, what one and several are called, and none.
  const LISTS = {
    doubtful: {
      holds: (table, point) => ["contested", "contradicted"].includes(table.verdict(point)),
      count: ({ page }) => page.counts[1] + page.counts[2],
      words: () => ["label that is not supported", "labels that are not supported"],
      none: "Every label is supported.",
    },
    contradicted: {
      holds: (table, point) => table.verdict(point) === "contradicted",
      count: ({ page }) => page.counts[2],
      words: () => ["contradicted label", "contradicted labels"],
      none: "No label is contradicted.",
    },
    below: {
      holds: (table, point) => table.columns.trust[point] <= table.threshold,
      count: ({ page, threshold }) => report.countBelow(page, threshold),
      words: ({ page, threshold }) => {
        const level = `with ${page.quantity} ${threshold.toFixed(2)} or less`;
        return [`label ${level}`, `labels ${level}`];
      },
      none: "No label is at or below the threshold.",
    },
    noise: {
      holds: (table, point) => table.verdict(point) === "noise",
      count: ({ page }) => page.counts[3],
      words: () => ["noise point", "noise points"],
      none: "There is no noise.",
    },
    all: {
      holds: () => true,
      count: ({ page }) => page.counts.reduce((total, number) => total + number, 0),
      words: () => ["point", "points"],
      none: "There are no points.",
    },
  };

  class ReviewTable {
    constructor(page, columns, onMark) {
      this.page = page;
      this.columns = columns;
      this.onMark = onMark;
      this.size = columns.row.length;
      this.threshold = 0.5;
      this.selection = null;
      this.sort = { key: "trust", direction: 1 };
      this.markedPoint = null;
      this.table = document.getElementById("review");
      this.body = this.table.tBodies[0];
      this.choice = document.getElementById("listed");
      this.keys = {};
      this.listen();
    }

    get list() {
      return LISTS[this.choice.value];
    }

    verdict(point) {
      return this.page.verdicts[this.columns.verdict[point]];
    }

    // A reader who moves the threshold wants to see what lies below it.
    setThreshold(threshold, moved) {
      this.threshold = threshold;
      if (moved) this.choice.value = "below";
      this.update();
    }

    listen() {
      this.choice.addEventListener("change", () => this.update());
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
        else if (name === "label" || name === "rival") this.keys[name] = byName(columns[name]);
        // Noise has no trust and no typicality, and comes last.
        else this.keys[name] = Array.from(columns[name], (value) => (Number.isNaN(value) ? Infinity : value));
      }
      return this.keys[name];
    }

    update() {
      const { row } = this.columns;
      const candidates = this.selection ?? Array.from({ length: this.size }, (_, index) => index);
      const key = this.key(this.sort.key);
      const { direction } = this.sort;
      this.listed = candidates.filter((index) => this.list.holds(this, index));
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
      document.getElementById("review-status").textContent = this.status();
      if (!this.listed.length) {
        const note = element("td", this.selection ? "None of the selected points." : this.list.none, "empty");
        note.colSpan = this.table.tHead.rows[0].cells.length;
        const row = element("tr");
        row.append(note);
        this.body.append(row);
      }
    }

    status() {
      const [listed, all] = [this.listed.length, this.list.count(this)];
      const [one, several] = this.list.words(this);
      const said = (number) => `${report.withCommas(number)} ${number === 1 ? one : several}`;
      if (this.selection) {
        const selected = this.selection.length;
        return `${said(listed)} among ${report.withCommas(selected)} selected point${selected === 1 ? "" : "s"}.`;
      }
      const number = listed === all ? said(all) : `${report.withCommas(listed)} of ${said(all)}`;
      return `${number}. Select points in a figure to list only those.`;
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
      row.append(cell(named(page.names[columns.label[point]])));
      if (page.calibrated) row.append(this.number(point, columns.trust[point]));
      row.append(cell(element("span", this.verdict(point), `key ${this.verdict(point)}`)));
      row.append(cell(named(page.names[columns.rival[point]])));
      row.append(this.number(point, columns.own[point], columns.half_width[point]));
      if ("typicality" in columns) row.append(this.typicality(point));
      row.append(cell(pairs(this.affinities(point))));
      if ("feature_0" in columns) row.append(cell(pairs(this.features(point))));
      return row;
    }

    picture(point) {
      // Pictures start with the least trusted point, which is the last one.
      const encoded = this.page.pictures[this.size - 1 - point];
      if (encoded === undefined) return cell();
      const image = element("img");
      image.alt = `image of row ${this.columns.row[point]}`;
      image.src = encoded;
      return cell(image);
    }

    // Noise has no label, so neither trust nor affinity to its own cluster.
    number(point, value, halfWidth = 0) {
      if (this.verdict(point) === "noise") return cell(element("span", "-"), "number");
      const node = cell(element("span", value.toFixed(2)), "number");
      if (halfWidth >= 0.005) node.append(element("span", ` ± ${halfWidth.toFixed(2)}`, "interval"));
      return node;
    }

    typicality(point) {
      const value = this.columns.typicality[point];
      if (value < this.page.atypical) return cell(element("span", "unlike anything in its cluster", "atypical"));
      return cell(element("span", Number.isNaN(value) ? "-" : value.toFixed(2)));
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
