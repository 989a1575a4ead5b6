// A closer look: the card of a point, the card of a cluster, and the legend of the map.
// Values that are evidence for a cluster, listed on a card.
const MOST_EVIDENCE = 5;

function definitions(entries, className) {
  const list = element("dl", undefined, className);
  for (const [name, value] of entries) list.append(element("div", [element("dt", name), element("dd", value)]));
  return list;
}

// Bars from the left, or from the middle for numbers that may be negative, with their names and numbers.
function bars(entries, largest, signed = false) {
  const list = element("ul", undefined, signed ? "bars signed" : "bars");
  for (const [name, value, said] of entries) {
    const bar = element("span", undefined, "track");
    const fill = element("span", undefined, value < 0 ? "fill negative" : "fill");
    const share = Math.min(1, Math.abs(value) / (largest || 1));
    fill.style.width = `${(signed ? 50 : 100) * share}%`;
    bar.append(fill);
    list.append(element("li", [named(name), bar, element("span", said, "value")]));
  }
  return list;
}

const part = (title, content) => element("div", [element("p", title), content], "part");
const share = (value) => percent(value, 1, 0);
const typicalText = (column, value) => (column.kind === "category" ? share(value) : written(column, value));

const cut = (label) => (label.length > 16 ? `${label.slice(0, 15)}…` : label);

// One value of a point, and what is usual in both clusters: ["tenure: 1", "mean 38.2 in 0, 9.1 in 3"].
const evidenceText = ({ column, value, here, there, own, rival }) => {
  const said = `${typicalText(column, here)} in ${cut(own)}, ${typicalText(column, there)} in ${cut(rival)}`;
  return [`${column.name}: ${written(column, value)}`, column.kind === "category" ? said : `mean ${said}`];
};

function evidenceList(entries) {
  if (!entries.length) return element("p", "No single value stands out.", "hint");
  const list = element("ul", undefined, "evidence");
  for (const entry of entries.slice(0, MOST_EVIDENCE)) {
    const [value, usual] = evidenceText(entry);
    list.append(element("li", [element("span", value), element("span", usual, "value")]));
  }
  return list;
}

// Own affinity with the half-width of its 95 % interval; noise has no own cluster.
function ownAffinity(points, point) {
  if (points.isNoise(point)) return element("span", "-");
  const node = element("span", points.columns.own[point].toFixed(2));
  const halfWidth = points.columns.half_width[point];
  if (halfWidth >= 0.005) node.append(element("span", ` ± ${halfWidth.toFixed(2)}`, "interval"));
  return node;
}

function typicality(points, point) {
  const value = points.columns.typicality[point];
  if (value < points.page.atypical) return element("span", "outlier", "atypical");
  return element("span", Number.isNaN(value) ? "-" : value.toFixed(2));
}

function members(points, listed, onMark) {
  const list = element("ul", undefined, "members");
  for (const point of listed) {
    const content = [];
    if (points.image(point)) content.push(picture(points, point));
    content.push(element("span", points.title(point)));
    if (points.text(point)) content.push(element("span", points.text(point), "excerpt"));
    list.append(element("li", button(content, () => onMark(point), "member")));
  }
  return list;
}

// The buttons of a decision, each with its key.
function decisionButtons(points, decisions, point, act) {
  const noise = points.isNoise(point);
  const own = points.columns.label[point] === points.columns.rival[point];
  const entries = [
    ["keep", "k", noise ? "Keep as noise" : "Keep"],
    ...(own ? [] : [["move", "m", `Move to ${points.rival(point)}`]]),
    ...(noise ? [] : [["noise", "n", "Noise"]]),
    ["unsure", "u", "Unsure"],
  ];
  const group = element("div", undefined, "decide");
  for (const [decision, key, text] of entries) {
    const node = button([element("span", text, "name"), element("kbd", key)], () => act(key));
    node.dataset.decide = decision;
    group.append(node);
  }
  group.append(decisionSelect(points, decisions, point));
  return group;
}

function showDecided(card, decisions, point) {
  const taken = decisions.of(point);
  const rival = decisions.points.page.labels[decisions.points.columns.rival[point]];
  for (const node of card.querySelectorAll("[data-decide]")) {
    const { decide } = node.dataset;
    node.setAttribute("aria-pressed", taken?.decision === decide && (decide !== "move" || taken.new_label === rival));
  }
  for (const select of card.querySelectorAll("select.decision")) select.showDecision();
}

// Every column of the user's table; a server sends the values as texts.
function fullRecord(points, point, sent) {
  const { page } = points;
  const value = (column, i) => (sent ? (sent[i] ?? "–") : written(column, points.value(i, point), true));
  const known = page.table.map((column, i) => [column.name, value(column, i), sent || points.tableColumn(i) !== null]);
  const entries = known.filter(([, , isKnown]) => isKnown);
  const details = element("details", [element("summary", `The full record: ${entries.length} columns`), definitions(entries, "record")]);
  details.open = page.hasTable && entries.length <= 40;
  return details;
}

// Everything that is known of a point. A server sends what the page has no room for.
function pointCard(points, decisions, point, { act, mark }) {
  const { page, columns } = points;
  const card = element("div", undefined, "card");
  card.append(decisionButtons(points, decisions, point, act));
  const shown = element("div", points.image(point) ? picture(points, point) : undefined, "picture");
  card.append(shown);
  const facts = [
    ["row", String(columns.row[point])],
    ...page.idNames.map((name, i) => [name, named(page.ids[i][point])]),
    ["label", named(points.label(point))],
    ...(page.calibrated ? [["trust", points.trust(point)]] : []),
    ["verdict", verdictKey(points.verdict(point))],
    ["rival", named(points.rival(point))],
    ["priority", points.priority(point)],
    ...(points.reason(point) ? [["reason", points.reason(point)]] : []),
  ];
  card.append(part("The label", definitions(facts)));
  const affinities = points.affinities(point).map(([name, value]) => [name, value, value.toFixed(2)]);
  const details = definitions([["own affinity", ownAffinity(points, point)], ["typicality", typicality(points, point)]]);
  const evidence = points.evidence(point);
  const [own, rival] = points.opponents(point).map((code) => page.names[code]);
  if (page.hasEvidence && own !== rival) {
    card.append(part(`Evidence for ${own}`, evidenceList(evidence.filter(({ weight }) => weight > 0))));
    card.append(part(`Evidence for ${rival}`, evidenceList(evidence.filter(({ weight }) => weight < 0))));
  }
  const more = element("details", [element("summary", "Affinities"), details, bars(affinities, 1)], "part");
  more.open = !page.calibrated;
  card.append(more);
  const near = element("div", undefined, "near");
  const showNear = (lists) =>
    near.replaceChildren(...lists.map((listed, i) => (listed.length ? part(`Nearest in ${[own, rival][i]}`, members(points, listed, mark)) : "")));
  showNear(page.near[point] ?? []);
  const text = element("p", points.text(point) ?? "", "document");
  const record = element("div", page.table.length ? fullRecord(points, point) : undefined, "whole");
  card.append(near, text, record);
  if (page.served) {
    attempt(async () => {
      const sent = await decisions.store.get(`record?row=${columns.row[point]}`);
      if (sent.image) shown.replaceChildren(Object.assign(element("img"), { src: sent.image, alt: `image of ${points.title(point)}` }));
      if (sent.text) text.textContent = sent.text;
      if (page.table.length) record.replaceChildren(fullRecord(points, point, sent.values));
      showNear(sent.near.map((rows) => rows.map((row) => points.pointOf.get(row)).filter((p) => p !== undefined)));
    });
  }
  return card;
}

// A cluster: its name, its traits compared with the other clusters, its rivals, its typical members.
function clusterCard(points, decisions, code, { mark, renamed }) {
  const { page } = points;
  const data = page.clusters[code];
  const card = element("div", undefined, "card");
  const input = element("input");
  Object.assign(input, { id: "cluster-name", type: "text", value: page.clusterNames[code], maxLength: 80, autocomplete: "off" });
  input.addEventListener("change", async () => {
    await decisions.rename(code, input.value.trim());
    renamed();
  });
  const label = element("label", "Name");
  label.htmlFor = input.id;
  card.append(element("p", [label, input, element("span", "used in every export", "hint")], "naming"));
  if (data.traits.length) {
    const strongest = Math.min(6, Math.abs(data.traits[0][4]));
    const entries = data.traits.map(([i, level, inside, outside, difference]) => {
      const column = page.table[i];
      const name = level < 0 ? column.name : `${column.name}: ${column.levels[level]}`;
      return [name, difference, `${typicalText(column, inside)}, others ${typicalText(column, outside)}`];
    });
    card.append(part("What sets it apart", bars(entries, strongest, true)));
  }
  const counts = page.rivals[code].map((count, rival) => [page.names[rival], count, withCommas(count)]);
  const rivals = counts.filter(([, count]) => count).sort((a, b) => b[1] - a[1]).slice(0, 3);
  const weak = rivals.length ? bars(rivals, rivals[0][1]) : element("p", "All labels are firm.", "hint");
  card.append(part("Rivals of its borderline and doubtful labels", weak));
  if (data.typical.length) card.append(part("Most typical members", members(points, data.typical, mark)));
  return card;
}

function scale({ names, ends }) {
  const bar = element("span", undefined, "scale");
  const step = Math.max(1, Math.floor(names.length / 16));
  bar.style.background = `linear-gradient(to right, ${names.slice(0, 256).filter((_, i) => i % step === 0).join(", ")})`;
  return [element("span", ends[0]), bar, element("span", ends[1])];
}

const MOST_NAMED = 12;

function drawLegend(state, colors) {
  const { page } = state.points;
  const key = (name, color) => {
    const node = element("span", element("span", name), "chip-key");
    node.style.setProperty("--chip", color);
    return node;
  };
  let entries;
  if (colors.ends) entries = scale(colors);
  else if (colors.keys) entries = colors.keys.map(([name, color]) => key(name, color));
  else {
    const names = colors.kind === "cluster" ? page.names.slice(0, page.clusters.length) : page.verdicts.slice(0, page.counts[3] ? 4 : 3);
    entries = names.slice(0, MOST_NAMED).map((name, i) => key(name, colors.names[i]));
    if (names.length > MOST_NAMED) entries.push(element("span", `and ${names.length - MOST_NAMED} more, colored as in the table of clusters`));
  }
  byId("legend").replaceChildren(...entries);
}
