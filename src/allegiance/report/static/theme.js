// Colours of the figures: those of the page come from the style sheet, so that they follow its light or dark theme.
let themed;

// Kept until the theme changes: reading them makes the browser compute the styles of the whole page.
function themeColours() {
  if (themed) return themed;
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "soft", "line", "band", "bar", "chosen", "below", "ring"];
  return (themed = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()])));
}

// Which colours the glyphs of the figures take.
const FILLS = { bars: "bar", chosen: "chosen", others: "soft" };
const LINES = { bars: "bar", chosen: "chosen", dots: "paper", crosses: "soft", ring: "ring" };

function paint(figures) {
  const colour = themeColours();
  for (const plot of figures.roots()) {
    for (const axis of [...plot.below, ...plot.left]) {
      axis.setv({ axis_label_text_color: colour.ink, major_label_text_color: colour.soft });
      axis.setv({ axis_line_color: colour.line, major_tick_line_color: colour.line });
    }
    for (const model of plot.center) {
      if (model.type === "BoxAnnotation") model.fill_color = colour.below;
      else if (model.type === "Span") model.line_color = colour.below;
      else if (model.type === "Grid" && model.grid_line_color != null) model.grid_line_color = colour.line;
    }
    for (const { name, glyph } of plot.renderers) {
      if (name in FILLS) glyph.fill_color = { value: colour[FILLS[name]] };
      if (name in LINES) glyph.line_color = { value: colour[LINES[name]] };
    }
  }
}

// Paint now, whenever the theme changes, and in light colours for print; then let the caller repaint what it drew.
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

// The colour of each point by trust, cluster or verdict, as a place in a list of colours.
class Colours {
  constructor(points, kind) {
    const { columns, page } = points;
    this.names = page.colours[kind];
    // The scale of trust starts at the tenth below the least trusted label, or lower than one half.
    const first = Math.min(50, ...page.levels.map((counts) => counts.findIndex((count) => count > 0) >>> 0));
    this.lowest = Math.floor(Math.max(0, first - 1) / 10) / 10;
    const scale = this.names.length / (1 - this.lowest);
    const last = this.names.length - 1;
    const byTrust = (point) => Math.min(last, Math.max(0, Math.floor((columns.trust[point] - this.lowest) * scale) || 0));
    this.place = { trust: byTrust, cluster: (point) => columns.label[point], verdict: (point) => columns.verdict[point] }[kind];
  }

  of(point) {
    return this.names[this.place(point)];
  }

  // Red, green and blue of all colours, three numbers each.
  get channels() {
    return (this._channels ??= Float64Array.from(
      this.names.flatMap((name) => [1, 3, 5].map((at) => parseInt(name.slice(at, at + 2), 16))),
    ));
  }
}
