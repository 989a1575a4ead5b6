// Tables that the reader takes away, as CSV (RFC 4180).
"use strict";
(function (report) {
  function field(value) {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  report.csv = (header, rows) => [header, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");

  report.download = function (name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  // The columns of `allegiance score`, behind the row number and what identifies the points.
  report.listAsCsv = function (points, listed) {
    const { page, columns } = points;
    const optional = (name, get) => (name ? [[name, get]] : []);
    const number = (value) => (Number.isNaN(value) ? "" : value);
    const fields = [
      ["row", (p) => columns.row[p]],
      ...page.idNames.map((name, i) => [name, (p) => page.ids[i][p]]),
      ["label", (p) => page.labels[columns.label[p]]],
      ...optional(page.calibrated && "trust", (p) => number(columns.trust[p])),
      ["verdict", (p) => points.verdict(p)],
      ["rival", (p) => points.rival(p)],
      ["own_affinity", (p) => number(columns.own[p])],
      ...optional("typicality" in columns && "typicality", (p) => number(columns.typicality[p])),
    ];
    const rows = Array.from(listed, (point) => fields.map(([, get]) => get(point)));
    return report.csv(fields.map(([name]) => name), rows);
  };
})((window.allegianceReport ??= {}));
