// What the reader decides about labels and how they call clusters: kept by the server, or in this browser.
"use strict";
(function (report) {
  const KINDS = ["keep", "move", "noise", "unsure"];

  // Keeps a log of records in the browser, where it allows that. An undo takes back the last record of its row.
  class BrowserStore {
    constructor() {
      this.key = `allegiance-decisions-${document.documentElement.dataset.page}`;
    }

    async load() {
      try {
        const { log = [], names = {} } = JSON.parse(localStorage.getItem(this.key) ?? "{}");
        this.log = log.filter(({ row, decision }) => Number.isInteger(row) && KINDS.includes(decision));
        this.names = names;
        this.isKept = true;
      } catch {
        [this.log, this.names, this.isKept] = [[], {}, false];
      }
      const standing = new Map();
      for (const record of this.log) {
        standing.delete(record.row);
        standing.set(record.row, record);
      }
      return { decisions: Array.from(standing.values()), names: this.names, canUndo: this.log.length > 0 };
    }

    save() {
      try {
        localStorage.setItem(this.key, JSON.stringify({ log: this.log, names: this.names }));
        this.isKept = true;
      } catch {
        this.isKept = false;
      }
    }

    answer(row) {
      this.save();
      return { row, record: this.log.findLast((record) => record.row === row) ?? null, canUndo: this.log.length > 0 };
    }

    async decide(record) {
      if (record.decision) this.log.push({ ...record, decided_at: new Date().toISOString().replace(/\.\d+Z$/, "Z") });
      else this.log = this.log.filter(({ row }) => row !== record.row);
      return this.answer(record.row);
    }

    async undo() {
      const last = this.log.pop();
      return last ? this.answer(last.row) : null;
    }

    async rename(label, name) {
      this.names[label] = name;
      this.save();
    }

    get note() {
      return this.isKept ? "" : " This browser does not store them: export them before you close the page.";
    }
  }

  // Sends each decision to the server, one after the other; the answer means that it is on the disk.
  class ServerStore {
    constructor() {
      this.token = new URLSearchParams(location.search).get("token") ?? "";
      this.last = Promise.resolve();
      this.note = "";
    }

    async ask(path, options = {}) {
      let answer;
      try {
        answer = await fetch(path, { ...options, headers: { Authorization: `Bearer ${this.token}` } });
      } catch {
        throw new Error("The server does not answer. What you decide now is not kept: start it again, then reload this page.");
      }
      if (!answer.ok) throw new Error(await answer.text());
      return answer;
    }

    async get(path) {
      return (await this.ask(path)).json();
    }

    post(path, message) {
      const sent = this.last.then(async () => (await this.ask(path, { method: "POST", body: JSON.stringify(message) })).json());
      this.last = sent.catch(() => {});
      return sent;
    }

    load() {
      return this.get("state");
    }

    decide({ row, decision, new_label }) {
      return this.post("decide", { row, decision, new_label });
    }

    undo() {
      return this.post("undo", {});
    }

    rename(label, name) {
      return this.post("name", { label, name });
    }
  }

  report.Decisions = class {
    constructor(points) {
      this.points = points;
      this.store = points.page.served ? new ServerStore() : new BrowserStore();
      // Decisions by row, in the order in which they were taken.
      this.taken = new Map();
      this.canUndo = false;
      // What the server makes of the audit.
      this.audit = null;
      this.listeners = [];
      points.page.clusterNames.forEach((name, code) => this.showName(code, name));
    }

    follow(listener) {
      this.listeners.push(listener);
      listener(null);
    }

    tell(point) {
      for (const listener of this.listeners) listener(point);
    }

    of(point) {
      return this.taken.get(this.points.columns.row[point]);
    }

    async load() {
      try {
        const { decisions, names, canUndo, audit } = await this.store.load();
        for (const record of decisions) this.taken.set(record.row, record);
        const { labels } = this.points.page;
        for (const [label, name] of Object.entries(names)) this.showName(labels.indexOf(label), name);
        [this.canUndo, this.audit] = [canUndo, audit ?? null];
      } catch (error) {
        report.complain(error.message);
      }
    }

    // Take a decision, or take it back if `decision` is empty. A move has a new label: a place among the clusters.
    async decide(point, decision, code = null) {
      const { page, columns } = this.points;
      const record = {
        row: columns.row[point],
        label: page.labels[columns.label[point]],
        decision,
        new_label: decision === "move" ? page.labels[code] : null,
      };
      this.put(record.row, decision ? record : null);
      await this.settle(this.store.decide(record));
    }

    async undo() {
      const answer = await this.settle(this.store.undo());
      return answer ? (this.points.pointOf.get(answer.row) ?? null) : null;
    }

    async settle(promise) {
      try {
        const answer = await promise;
        report.complain("");
        if (!answer) return null;
        this.canUndo = answer.canUndo;
        if ("audit" in answer) this.audit = answer.audit;
        if (!("row" in answer)) return null;
        this.put(answer.row, answer.record);
        return answer;
      } catch (error) {
        report.complain(error.message);
        return null;
      }
    }

    put(row, record) {
      this.taken.delete(row);
      if (record) this.taken.set(row, record);
      this.tell(this.points.pointOf.get(row) ?? null);
    }

    showName(code, name) {
      const { page } = this.points;
      if (!(code >= 0 && code < page.clusterNames.length)) return;
      page.clusterNames[code] = name;
      page.names[code] = name ? `${page.labels[code]} · ${name}` : page.labels[code];
    }

    async rename(code, name) {
      this.showName(code, name);
      try {
        await this.store.rename(this.points.page.labels[code], name);
      } catch (error) {
        report.complain(error.message);
      }
    }

    summary() {
      if (!this.taken.size) return "No decisions yet.";
      const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
      for (const { decision } of this.taken.values()) counts[decision] += 1;
      const words = { keep: "kept", move: "moved", noise: "noise", unsure: "unsure" };
      const parts = KINDS.filter((kind) => counts[kind]).map((kind) => `${report.withCommas(counts[kind])} ${words[kind]}`);
      return `${report.withCommas(this.taken.size)} decided: ${parts.join(", ")}.${this.store.note}`;
    }
  };

  // A choice of decisions for one point. The names to move to are filled in when the reader gets there.
  report.decisionSelect = function (points, decisions, point) {
    const select = report.element("select", undefined, "decision");
    select.setAttribute("aria-label", `decision about ${points.title(point)}`);
    const option = (value, text) => {
      const node = report.element("option", text);
      node.value = value;
      return node;
    };
    const moves = report.element("optgroup");
    moves.label = "move to";
    const [own, rival] = [points.columns.label[point], points.columns.rival[point]];
    const addMove = (code) => moves.append(option(`move ${code}`, `→ ${points.page.names[code]}`));
    if (rival !== own) addMove(rival);
    const fill = () => {
      select.removeEventListener("focus", fill);
      for (let code = 0; code < points.page.names.length - 1; code++) if (code !== own && code !== rival) addMove(code);
      show();
    };
    const show = () => {
      const taken = decisions.of(point);
      const code = taken?.decision === "move" ? points.page.labels.indexOf(taken.new_label) : -1;
      const value = !taken ? "" : code >= 0 ? `move ${code}` : taken.decision;
      if (code >= 0 && !moves.querySelector(`option[value="${value}"]`)) addMove(code);
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
