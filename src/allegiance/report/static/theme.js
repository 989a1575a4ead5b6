// Colors of the figures: those of the page come from the style sheet, so that they follow its light or dark theme.
let themed;

// Kept until the theme changes: reading them makes the browser compute the styles of the whole page.
function themeColors() {
  if (themed) return themed;
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "soft", "line", "bar", "chosen", "below", "ring"];
  return (themed = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()])));
}

// Which colors the glyphs of the figures take.
const FILLS = { bars: "bar", chosen: "chosen", others: "soft" };
const LINES = { bars: "bar", chosen: "chosen", dots: "paper", crosses: "soft", ring: "ring" };

function paint(figures) {
  const color = themeColors();
  for (const plot of figures.roots()) {
    for (const axis of [...plot.below, ...plot.left]) {
      axis.setv({ axis_label_text_color: color.ink, major_label_text_color: color.soft });
      axis.setv({ axis_line_color: color.line, major_tick_line_color: color.line });
    }
    for (const model of plot.center) {
      if (model.type === "BoxAnnotation") model.fill_color = color.below;
      else if (model.type === "Span") model.line_color = color.below;
      else if (model.type === "Grid" && model.grid_line_color != null) model.grid_line_color = color.line;
    }
    for (const { name, glyph } of plot.renderers) {
      if (name in FILLS) glyph.fill_color = { value: color[FILLS[name]] };
      if (name in LINES) glyph.line_color = { value: color[LINES[name]] };
      if (name === "names") glyph.setv({ text_color: { value: color.ink }, background_fill_color: { value: color.paper } });
    }
  }
}

// Paint now, whenever the theme changes, and in light colors for print; then let the caller repaint what it drew.
function followTheme(figures, repainted) {
  const repaint = () => {
    themed = null;
    paint(figures);
    repainted();
  };
  paint(figures);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      document.documentElement.classList.toggle("printing", printing);
      repaint();
    });
  }
}

// The values of a column on the page, without missing ones, sorted.
function knownValues(points, i) {
  const values = points.tableColumn(i);
  return Float64Array.from(values).filter((value) => !Number.isNaN(value)).sort();
}

// The color of each point by trust, cluster, verdict or a column of the table, as a place in a list of colors.
class Colors {
  constructor(points, kind) {
    const [subject, number] = kind.split(" ");
    this.kind = subject;
    Object.assign(this, this[subject](points, Number(number)));
  }

  scale(names, low, high, value) {
    const perUnit = names.length / (high - low || 1);
    const last = names.length - 1;
    return (point) => Math.min(last, Math.max(0, Math.floor((value(point) - low) * perUnit) || 0));
  }

  trust({ columns, page }) {
    const names = page.colors.trust;
    // The scale of trust starts at the tenth below the least trusted label, or lower than one half.
    const first = Math.min(50, ...page.levels.map((counts) => counts.findIndex((count) => count > 0) >>> 0));
    const low = Math.floor(Math.max(0, first - 1) / 10) / 10;
    const ends = [`${page.quantity} ${low.toFixed(1)}`, "1.0"];
    return { names, ends, place: this.scale(names, low, 1, (point) => columns.trust[point]) };
  }

  cluster({ columns, page }) {
    return { names: page.colors.cluster, place: (point) => columns.label[point] };
  }

  verdict({ columns, page }) {
    return { names: page.colors.verdict, place: (point) => columns.verdict[point] };
  }

  // Missing values, and categories beyond the most frequent ones, are gray.
  column(points, i) {
    const { page } = points;
    const [column, values] = [page.table[i], points.tableColumn(i)];
    if (column.kind === "category") {
      const names = page.colors.levels;
      const gray = names.length - 1;
      const counts = new Map();
      for (const code of values) if (code) counts.set(code, (counts.get(code) ?? 0) + 1);
      const frequent = Array.from(counts.keys()).sort((a, b) => counts.get(b) - counts.get(a)).slice(0, gray);
      const placeOf = new Map(frequent.map((code, place) => [code, place]));
      const keys = frequent.map((code, place) => [column.levels[code - 1], names[place]]);
      return { names, keys: [...keys, ["other or missing", names[gray]]], place: (point) => placeOf.get(values[point]) ?? gray };
    }
    const known = knownValues(points, i);
    const quantile = (share) => known[Math.round(share * (known.length - 1))] ?? 0;
    const [low, high] = [quantile(0.02), quantile(0.98)];
    const names = [...page.colors.values, page.colors.cluster.at(-1)];
    const place = this.scale(page.colors.values, low, high, (point) => values[point]);
    const ends = [`${column.name} ${written(column, low)}`, written(column, high)];
    return { names, ends, place: (point) => (Number.isNaN(values[point]) ? names.length - 1 : place(point)) };
  }

  of(point) {
    return this.names[this.place(point)];
  }

  // Red, green and blue of all colors, three numbers each.
  get channels() {
    return (this._channels ??= Float64Array.from(
      this.names.flatMap((name) => [1, 3, 5].map((at) => parseInt(name.slice(at, at + 2), 16))),
    ));
  }
}
