// Files that the reader takes away. Labels and texts are written as they are, so that everything can be read back.
function field(value) {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// RFC 4180
const csv = (fields, entries) =>
  [fields.map(([name]) => name), ...Array.from(entries, (entry) => fields.map(([, get]) => get(entry)))]
    .map((row) => row.map(field).join(",") + "\r\n")
    .join("");

function save(name, content, type = "text/csv;charset=utf-8") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Decisions may be about points that are not on the page: a server keeps their identifiers with them.
function decisionsAsCsv({ points, taken: records }) {
  const { page, pointOf } = points;
  const ids = page.idNames.map((name, i) => [name, (r) => r[name] ?? page.ids[i][pointOf.get(r.row)]]);
  const others = ["label", "decision", "new_label", "decided_at"].map((name) => [name, (r) => r[name]]);
  return csv([["row", (r) => r.row], ...ids, ...others], records.values());
}

// The user's own columns, then the corrected label and the scores.
function tableAsCsv(decisions) {
  const { points } = decisions;
  const { page, columns } = points;
  const before = (p) => page.labels[columns.label[p]];
  const after = (p) => ({ noise: page.labels.at(-1), move: decisions.of(p)?.new_label })[decisions.of(p)?.decision] ?? before(p);
  const number = (name) => (p) => (Number.isNaN(columns[name][p]) ? "" : columns[name][p]);
  const ids = [["row", (p) => columns.row[p]], ...page.idNames.map((name, i) => [name, (p) => page.ids[i][p]])];
  const added = [
    ["label", after],
    ["cluster_name", (p) => page.clusterNames[page.labels.indexOf(after(p))]],
    ...(page.calibrated ? [["trust", number("trust")], ["verdict", (p) => points.verdict(p)]] : []),
    ["rival", (p) => page.labels[columns.rival[p]]],
    ["priority", number("priority")],
    ["reason", (p) => points.reason(p)],
    ["own_affinity", number("own")],
    ["typicality", number("typicality")],
    ["label_before", before],
    ["decision", (p) => decisions.of(p)?.decision],
  ];
  const names = new Set([...ids, ...added].map(([name]) => name));
  const own = page.table.map((column, i) => {
    const name = names.has(column.name) ? `${column.name} (yours)` : column.name;
    return [name, (p) => (column.kind === "date" && points.value(i, p) !== null ? written(column, points.value(i, p), true) : points.value(i, p))];
  });
  const kept = own.filter((_, i) => points.tableColumn(i) !== null);
  const listed = Array.from({ length: points.size }, (_, p) => p).sort((a, b) => columns.row[a] - columns.row[b]);
  return csv([...ids, ...kept, ...added], listed);
}

function connectExports(decisions) {
  const { points, store } = decisions;
  const fromServer = async (name) => save(name, await (await store.ask(`export/${name}`)).blob());
  const exports = {
    "decisions.csv": (name) => save(name, decisionsAsCsv(decisions)),
    "table.csv": (name) => (points.page.served ? fromServer(name) : save(name, tableAsCsv(decisions))),
    "table.parquet": fromServer,
    "table.xlsx": fromServer,
    audit: async () => {
      const paragraph = auditParagraph(decisions);
      try {
        await navigator.clipboard.writeText(paragraph);
        say("decision-status", "The audit was copied to the clipboard.");
      } catch {
        save("audit.txt", paragraph + "\n", "text/plain;charset=utf-8");
      }
    },
  };
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => attempt(() => exports[button.dataset.export](button.dataset.export)));
  }
}
