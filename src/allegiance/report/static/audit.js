// The audit: what the labels that were looked at say about all labels. Only those drawn at random speak for the rest.
"use strict";
(function (report) {
  // Random labels that must be decided before their share is shown.
  const FEWEST = 10;
  const Z = 1.959964;

  // Wilson's 95 % interval of a share p seen in m draws.
  function wilson(p, m) {
    const center = (p + (Z * Z) / (2 * m)) / (1 + (Z * Z) / m);
    const half = (Z / (1 + (Z * Z) / m)) * Math.sqrt((p * (1 - p)) / m + (Z * Z) / (4 * m * m));
    return [Math.max(0, center - half), Math.min(1, center + half)];
  }

  // Labels right and looked at, of those drawn at random and of the least trusted; those that were unsure are left out.
  function counted({ points, taken }) {
    const { audit } = points.page;
    const found = { random: [0, 0], least: [0, 0] };
    audit.points.forEach((point, i) => {
      const record = taken.get(points.columns.row[point]);
      if (!record || record.decision === "unsure") return;
      const part = audit.random[i] ? found.random : found.least;
      part[0] += record.decision === "keep" ? 1 : 0;
      part[1] += 1;
    });
    return found;
  }

  // The estimate by counting, as { right, low, high, left, random, least }; null while too few were looked at.
  report.countAudit = function (decisions) {
    const { audit } = decisions.points.page;
    const { random, least } = counted(decisions);
    const needed = Math.min(FEWEST, audit.random.filter(Boolean).length);
    if (random[1] < needed || !random[1]) return null;
    const share = random[0] / random[1];
    const others = audit.labels - least[1];
    const whole = (value) => (least[0] + value * others) / audit.labels;
    const [low, high] = wilson(share, random[1]).map(whole);
    let wrong = 0;
    for (const { decision, label } of decisions.taken.values()) wrong += label !== "-1" && ["move", "noise"].includes(decision);
    const right = whole(share);
    return { right, low, high, left: Math.max(0, audit.labels * (1 - right) - wrong), random: random[1], least: least[1] };
  };

  // The audit as a paragraph to paste; empty while too few labels were looked at.
  report.auditParagraph = function (decisions) {
    if (decisions.points.page.served) return decisions.audit ?? "";
    const found = report.countAudit(decisions);
    if (!found) return "";
    const percent = (share) => report.percent(share, 1, 0);
    const least = found.least ? ` and the ${found.least} least trusted` : "";
    return (
      `Right: ${percent(found.right)} of ${report.withCommas(decisions.points.page.audit.labels)} labels ` +
      `(95\u00a0% interval ${(100 * found.low).toFixed(0)} to ${percent(found.high)}), from ${found.random} labels drawn at ` +
      `random${least}. About ${report.withCommas(found.left)} wrong labels are left.`
    );
  };

  // Let the server recalculate trust with what the audit tells, and show the page with it.
  report.connectAudit = function ({ store }) {
    report.byId("recalculate")?.addEventListener("click", async () => {
      try {
        await store.post("recalculate", {});
        location.reload();
      } catch (error) {
        report.complain(error.message);
      }
    });
  };

  report.showAudit = function (decisions) {
    const { audit } = decisions.points.page;
    if (!audit.points.length) return;
    const paragraph = report.auditParagraph(decisions);
    const { random, least } = counted(decisions);
    const all = audit.points.length;
    const done = random[1] + least[1];
    const isOpen = report.byId("listed").value === "audit" || done > 0;
    const progress = `Audit: ${done} of ${all} looked at, ${random[1]} of them drawn at random.`;
    report.byId("audit-line").hidden = !isOpen;
    const recalculate = report.byId("recalculate");
    if (recalculate) recalculate.disabled = !paragraph;
    report.say("audit", paragraph ? progress : `${progress} How many labels are right is shown after ${FEWEST} random ones.`);
    const { audited } = decisions.points.page;
    if (audited && paragraph) document.querySelector("#answer strong").textContent = paragraph;
    report.byId("audit-answer").hidden = !paragraph || audited;
    report.say("audit-answer", paragraph);
    document.querySelector('[data-export="audit"]').disabled = !paragraph;
  };
})((window.allegianceReport ??= {}));
