// Files that the reader takes away. Labels and texts are written as they are, so that everything can be read back.
"use strict";
(function (report) {
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

  const number = (value) => (Number.isNaN(value) ? "" : value);

  const identity = ({ page, columns }) => [
    ["row", (p) => columns.row[p]],
    ...page.idNames.map((name, i) => [name, (p) => page.ids[i][p]]),
  ];

  function scores(points, label) {
    const { page, columns } = points;
    return [
      ["label", label],
      ["cluster_name", (p) => page.clusterNames[page.labels.indexOf(label(p))] ?? ""],
      ...(page.calibrated ? [["trust", (p) => number(columns.trust[p])]] : []),
      ["verdict", (p) => points.verdict(p)],
      ["rival", (p) => page.labels[columns.rival[p]]],
      ["own_affinity", (p) => number(columns.own[p])],
      ["typicality", (p) => number(columns.typicality[p])],
    ];
  }

  const before = ({ page, columns }) => (p) => page.labels[columns.label[p]];
  const taken = (decisions, ...names) => names.map((name) => [name, (p) => decisions.of(p)?.[name]]);

  // Decisions may be about points that are not on the page: a server keeps their identifiers with them.
  function decisionsAsCsv({ points, taken: records }) {
    const { page, pointOf } = points;
    const ids = page.idNames.map((name, i) => [name, (r) => r[name] ?? page.ids[i][pointOf.get(r.row)]]);
    const others = ["label", "decision", "new_label", "decided_at"].map((name) => [name, (r) => r[name]]);
    return csv([["row", (r) => r.row], ...ids, ...others], records.values());
  }

  function queueAsCsv(decisions, table) {
    const { points } = decisions;
    return csv([...identity(points), ...scores(points, before(points)), ...taken(decisions, "decision", "new_label")], table.listed);
  }

  // The user's own columns, then the corrected label and the scores.
  function tableAsCsv(decisions) {
    const { points } = decisions;
    const { page, columns } = points;
    const after = (p) => {
      const decided = decisions.of(p);
      if (decided?.decision === "noise") return page.labels.at(-1);
      return decided?.decision === "move" ? decided.new_label : before(points)(p);
    };
    const own = identity(points);
    const added = [...scores(points, after), ["label_before", before(points)], ...taken(decisions, "decision")];
    const names = new Set([...own, ...added].map(([name]) => name));
    page.table.forEach((column, i) => {
      if (points.tableColumn(i) === null) return;
      const name = names.has(column.name) ? `${column.name} (yours)` : column.name;
      own.push([name, (p) => {
        const value = points.value(i, p);
        return value !== null && column.kind === "date" ? report.written(column, value, true) : value;
      }]);
    });
    const listed = Array.from({ length: points.size }, (_, p) => p).sort((a, b) => columns.row[a] - columns.row[b]);
    return csv([...own, ...added], listed);
  }

  function decisionsAsJson(decisions) {
    const { page } = decisions.points;
    const names = Object.fromEntries(page.clusterNames.map((name, code) => [page.labels[code], name]));
    const content = { decisions: Array.from(decisions.taken.values()), names, audit: report.auditParagraph(decisions) || null };
    return JSON.stringify(content, null, 1);
  }

  report.connectExports = function (decisions, table) {
    const { points, store } = decisions;
    const fromServer = async (name) => save(name, await (await store.ask(`export/${name}`)).blob());
    const exports = {
      "decisions.csv": (name) => save(name, decisionsAsCsv(decisions)),
      "decisions.json": (name) => save(name, decisionsAsJson(decisions), "application/json"),
      "table.csv": (name) => (points.page.served ? fromServer(name) : save(name, tableAsCsv(decisions))),
      "table.parquet": fromServer,
      "table.xlsx": fromServer,
      "list.csv": (name) => save(name, queueAsCsv(decisions, table)),
      audit: async () => {
        const paragraph = report.auditParagraph(decisions);
        try {
          await navigator.clipboard.writeText(paragraph);
          report.say("decision-status", "The audit is in the clipboard.");
        } catch {
          save("audit.txt", paragraph + "\n", "text/plain;charset=utf-8");
        }
      },
    };
    for (const button of document.querySelectorAll("[data-export]")) {
      button.addEventListener("click", async () => {
        try {
          await exports[button.dataset.export](button.dataset.export);
        } catch (error) {
          report.complain(error.message);
        }
      });
    }
  };
})((window.allegianceReport ??= {}));
