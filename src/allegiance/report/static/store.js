// What the reader decides about labels and how they call clusters: kept by the server, or in this browser.
const KINDS = ["keep", "move", "noise", "unsure"];

// Keeps a log of records in the browser, where it allows that. An undo takes back the last record of its row.
class BrowserStore {
  constructor() {
    this.key = `allegiance-decisions-${document.documentElement.dataset.page}`;
    Object.assign(this, { log: [], names: {}, isKept: true });
  }

  // Take over what the browser holds: another tab may have added to it.
  read() {
    if (!this.isKept) return;
    try {
      const { log = [], names = {} } = JSON.parse(localStorage.getItem(this.key) ?? "{}");
      this.log = log.filter(({ row, decision }) => Number.isInteger(row) && KINDS.includes(decision));
      this.names = names;
    } catch {
      this.isKept = false;  // The browser stores nothing.
    }
  }

  async load() {
    this.read();
    return { decisions: this.log, names: this.names, canUndo: this.log.length > 0 };
  }

  // Call a function when another tab changes the decisions.
  follow(changed) {
    addEventListener("storage", ({ key }) => key === this.key && changed());
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
    this.read();
    if (record.decision) this.log.push({ ...record, decided_at: new Date().toISOString().replace(/\.\d+Z$/, "Z") });
    else this.log = this.log.filter(({ row }) => row !== record.row);
    return this.answer(record.row);
  }

  async undo() {
    this.read();
    const last = this.log.pop();
    return last ? this.answer(last.row) : {};
  }

  async rename(label, name) {
    this.read();
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
      throw new Error("The server is not responding; your decisions are not being saved. Start it again, then reload this page.");
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

  // Other tabs ask the server, too.
  follow() {}

  load = () => this.get("state");
  decide = ({ row, decision, new_label }) => this.post("decide", { row, decision, new_label });
  undo = () => this.post("undo", {});
  rename = (label, name) => this.post("name", { label, name });
}

class Decisions {
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
    const { decisions, names, canUndo } = (await attempt(() => this.store.load())) ?? { decisions: [], names: {} };
    this.taken.clear();
    for (const record of decisions) {
      this.taken.delete(record.row);
      this.taken.set(record.row, record);
    }
    const { labels } = this.points.page;
    for (const [label, name] of Object.entries(names)) this.showName(labels.indexOf(label), name);
    this.canUndo = canUndo;
    this.askAudit();
  }

  // Ask the server for the audit once decisions pause: with many labels it takes a moment.
  askAudit() {
    clearTimeout(this.waiting);
    if (!this.points.page.served || !this.points.page.audit.points.length) return;
    this.waiting = setTimeout(async () => {
      const sent = await attempt(() => this.store.get("audit"));
      if (sent) this.audit = sent.audit;
      this.tell(null);
    }, 200);
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
    const before = this.of(point) ?? null;
    this.put(record.row, decision ? record : null);
    const answer = await this.settle(this.store.decide(record));
    if (!("row" in answer)) this.put(record.row, before);  // It was not kept.
  }

  // Take the last decision back, and return its point.
  async undo() {
    const { row } = await this.settle(this.store.undo());
    return this.points.pointOf.get(row) ?? null;
  }

  async settle(promise) {
    const answer = await attempt(() => promise);
    if (!answer) return {};
    complain("");
    this.canUndo = answer.canUndo ?? false;
    this.askAudit();
    if ("row" in answer) this.put(answer.row, answer.record);
    return answer;
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
    await attempt(() => this.store.rename(this.points.page.labels[code], name));
  }

  summary() {
    if (!this.taken.size) return "No decisions yet.";
    const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    for (const { decision } of this.taken.values()) counts[decision] += 1;
    const words = { keep: "kept", move: "moved", noise: "noise", unsure: "unsure" };
    const parts = KINDS.filter((kind) => counts[kind]).map((kind) => `${withCommas(counts[kind])} ${words[kind]}`);
    return `${withCommas(this.taken.size)} decided: ${parts.join(", ")}.${this.store.note}`;
  }
}

// A choice of decisions for one point. The names to move to are filled in when the reader gets there.
function decisionSelect(points, decisions, point) {
  const { labels, names } = points.page;
  const [own, rival] = [points.columns.label[point], points.columns.rival[point]];
  const isNoise = points.isNoise(point);
  const select = element("select", undefined, "decision");
  select.setAttribute("aria-label", `decision about ${points.title(point)}`);
  const option = (value, text) => Object.assign(element("option", text), { value });
  const fill = (codes) => {
    const taken = decisions.of(point);
    const moved = taken?.decision === "move" ? labels.indexOf(taken.new_label) : -1;
    const moves = element("optgroup");
    moves.label = "move to";
    for (const code of new Set([rival, moved, ...codes])) if (code >= 0 && code !== own) moves.append(option(`move ${code}`, `→ ${names[code]}`));
    select.replaceChildren(option("", "undecided"), option("keep", isNoise ? "keep as noise" : "keep"), moves);
    select.append(...(isNoise ? [] : [option("noise", "noise")]), option("unsure", "unsure"));
    select.value = moved >= 0 ? `move ${moved}` : (taken?.decision ?? "");
  };
  const show = () => fill(document.activeElement === select ? names.slice(0, -1).keys() : []);
  select.addEventListener("focus", show);
  select.addEventListener("change", () => {
    const [decision, code] = select.value.split(" ");
    decisions.decide(point, decision, code === undefined ? null : Number(code));
  });
  select.showDecision = show;
  show();
  return select;
}
