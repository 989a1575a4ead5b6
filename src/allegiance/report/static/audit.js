// The audit: an estimate for all labels from those that were checked. Only the random ones are representative.
// Random labels that must be decided before their share is shown.
const FEWEST = 10;
const Z = 1.959964;

// Wilson's 95% interval of a share p in m draws.
function wilson(p, m) {
  const center = (p + (Z * Z) / (2 * m)) / (1 + (Z * Z) / m);
  const half = (Z / (1 + (Z * Z) / m)) * Math.sqrt((p * (1 - p)) / m + (Z * Z) / (4 * m * m));
  return [Math.max(0, center - half), Math.min(1, center + half)];
}

// Right and checked labels, of those drawn at random and of those by review priority, without unsure ones.
function counted({ points, taken }) {
  const { audit } = points.page;
  const counts = { random: [0, 0], least: [0, 0] };
  audit.points.forEach((point, i) => {
    const record = taken.get(points.columns.row[point]);
    if (!record || record.decision === "unsure") return;
    const part = audit.random[i] ? counts.random : counts.least;
    part[0] += record.decision === "keep" ? 1 : 0;
    part[1] += 1;
  });
  return counts;
}

// The audit as a paragraph to paste, by a server or by counting; empty while too few labels are checked.
function auditParagraph(decisions) {
  const { audit, served } = decisions.points.page;
  if (served) return decisions.audit ?? "";
  const { random, least } = counted(decisions);
  if (!random[1] || random[1] < Math.min(FEWEST, sum(audit.random))) return "";
  const whole = (share) => (least[0] + share * (audit.labels - least[1])) / audit.labels;
  const right = whole(random[0] / random[1]);
  const [low, high] = wilson(random[0] / random[1], random[1]).map(whole);
  const isWrong = ({ decision, label }) => label !== "-1" && ["move", "noise"].includes(decision);
  const wrong = Array.from(decisions.taken.values()).filter(isWrong).length;
  return (
    `Right: ${percent(right, 1, 0)} of ${withCommas(audit.labels)} labels ` +
    `(95% interval: ${(100 * low).toFixed(0)}-${percent(high, 1, 0)}), from ${random[1]} labels drawn at ` +
    `random${least[1] ? ` and ${least[1]} by review priority` : ""}. ` +
    `About ${withCommas(Math.max(0, audit.labels * (1 - right) - wrong))} wrong labels are left.`
  );
}

// Let the server recalculate trust from the audit, and load the new page.
function connectAudit({ store }) {
  byId("recalculate")?.addEventListener("click", () => attempt(() => store.post("recalculate", {}).then(() => location.reload())));
}

function showAudit(decisions) {
  const { audit, audited } = decisions.points.page;
  if (!audit.points.length) return;
  const paragraph = auditParagraph(decisions);
  const { random, least } = counted(decisions);
  const done = random[1] + least[1];
  const progress = `Audit: ${done} of ${audit.points.length} checked, ${random[1]} of them drawn at random.`;
  byId("audit-line").hidden = byId("listed").value !== "audit" && !done;
  say("audit", paragraph ? progress : `${progress} The share of right labels appears after ${FEWEST} random ones.`);
  for (const button of document.querySelectorAll("#recalculate, [data-export=audit]")) button.disabled = !paragraph;
  if (audited && paragraph) byId("replication").textContent = paragraph;
  byId("audit-answer").hidden = !paragraph || audited;
  say("audit-answer", paragraph);
}
