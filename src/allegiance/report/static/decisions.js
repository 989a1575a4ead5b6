// What the reader decides about labels: kept in the browser where it allows that, and exported as CSV.
"use strict";
(function (report) {
  const KINDS = ["keep", "move", "noise", "unsure"];

  report.Decisions = class {
    constructor(points) {
      this.points = points;
      this.key = `allegiance-decisions-${document.documentElement.dataset.page}`;
      // Decisions by point, in the order in which they were taken.
      this.taken = new Map();
      this.history = [];
      this.listeners = [];
      this.isKept = this.load();
    }

    follow(listener) {
      this.listeners.push(listener);
      listener(null);
    }

    of(point) {
      return this.taken.get(point);
    }

    // Take a decision, or take it back if `decision` is empty. A move has a new label: a place among the names.
    decide(point, decision, newCode = null) {
      this.history.push([point, this.taken.get(point)]);
      const record = decision && { decision, newCode, decidedAt: new Date().toISOString().replace(/\.\d+Z$/, "Z") };
      this.put(point, record);
    }

    undo() {
      const last = this.history.pop();
      if (last) this.put(...last);
    }

    put(point, record) {
      this.taken.delete(point);
      if (record) this.taken.set(point, record);
      this.save();
      for (const listener of this.listeners) listener(point);
    }

    // Stored by row and names, which mean the same whatever the order of points and clusters.
    save() {
      try {
        localStorage.setItem(this.key, JSON.stringify(this.records()));
        this.isKept = true;
      } catch {
        this.isKept = false;
      }
    }

    load() {
      try {
        const stored = JSON.parse(localStorage.getItem(this.key) ?? "[]");
        if (!stored.length) return true;
        const pointOf = new Map(Array.from(this.points.columns.row, (row, point) => [row, point]));
        for (const { row, decision, new_label, decided_at } of stored) {
          const newCode = decision === "move" ? this.points.page.names.indexOf(new_label) : null;
          if (!pointOf.has(row) || !KINDS.includes(decision) || newCode === -1) continue;
          this.taken.set(pointOf.get(row), { decision, newCode, decidedAt: decided_at });
        }
        return true;
      } catch {
        return false;
      }
    }

    records() {
      const { page, columns } = this.points;
      return Array.from(this.taken, ([point, { decision, newCode, decidedAt }]) => ({
        row: columns.row[point],
        ids: this.points.ids(point),
        label: page.labels[columns.label[point]],
        decision,
        new_label: decision === "move" ? page.names[newCode] : "",
        decided_at: decidedAt,
      }));
    }

    csv() {
      const header = ["row", ...this.points.page.idNames, "label", "decision", "new_label", "decided_at"];
      const rows = this.records().map((r) => [r.row, ...r.ids, r.label, r.decision, r.new_label, r.decided_at]);
      return report.csv(header, rows);
    }

    summary() {
      if (!this.taken.size) return "No decisions yet.";
      const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
      for (const { decision } of this.taken.values()) counts[decision] += 1;
      const words = { keep: "kept", move: "moved", noise: "noise", unsure: "unsure" };
      const parts = KINDS.filter((kind) => counts[kind]).map((kind) => `${report.withCommas(counts[kind])} ${words[kind]}`);
      const kept = this.isKept ? "" : " This browser does not store them: export them before you close the page.";
      return `${report.withCommas(this.taken.size)} decided: ${parts.join(", ")}.${kept}`;
    }
  };

  // A choice of decisions for one point. The names to move to are filled in when the reader gets there.
  report.decisionSelect = function (points, decisions, point) {
    const select = report.element("select", undefined, "decision");
    select.setAttribute("aria-label", `decision about row ${points.columns.row[point]}`);
    const option = (value, text) => {
      const node = report.element("option", text);
      node.value = value;
      return node;
    };
    const moves = report.element("optgroup");
    moves.label = "move to";
    const [own, rival] = [points.columns.label[point], points.columns.rival[point]];
    const addMove = (code) => moves.append(option(`move ${code}`, `→ ${points.page.names[code]}`));
    addMove(rival);
    const fill = () => {
      select.removeEventListener("focus", fill);
      for (let code = 0; code < points.page.names.length - 1; code++) if (code !== own && code !== rival) addMove(code);
      show();
    };
    const show = () => {
      const taken = decisions.of(point);
      const value = !taken ? "" : taken.decision === "move" ? `move ${taken.newCode}` : taken.decision;
      if (value.startsWith("move") && !moves.querySelector(`option[value="${value}"]`)) addMove(taken.newCode);
      select.value = value;
    };
    const isNoise = points.isNoise(point);
    select.append(option("", "undecided"), option("keep", isNoise ? "keep as noise" : "keep"), moves);
    if (!isNoise) select.append(option("noise", "noise"));
    select.append(option("unsure", "unsure"));
    select.addEventListener("focus", fill);
    select.addEventListener("change", () => {
      const [decision, code] = select.value.split(" ");
      decisions.decide(point, decision, code === undefined ? null : Number(code));
    });
    select.showDecision = show;
    show();
    return select;
  };
})((window.allegianceReport ??= {}));
