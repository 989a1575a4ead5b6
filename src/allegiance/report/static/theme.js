// Colours of the figures: those of the page come from the style sheet, so that they follow its light or dark theme.
"use strict";
(function (report) {
  let colours;

  // Kept until the theme changes: reading them makes the browser compute the styles of the whole page.
  report.themeColours = function () {
    if (colours) return colours;
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "ink", "soft", "line", "band", "bar", "chosen", "below", "ring"];
    return (colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()])));
  };

  function paintAxis(axis, colour) {
    axis.setv({
      axis_label_text_color: colour.ink,
      major_label_text_color: colour.soft,
      axis_line_color: colour.line,
      major_tick_line_color: colour.line,
    });
  }

  function paintGlyph(renderer, colour) {
    const { glyph } = renderer;
    const fill = { bars: colour.bar, chosen: colour.chosen, others: colour.soft }[renderer.name];
    const line = { bars: colour.bar, chosen: colour.chosen, dots: colour.paper, crosses: colour.soft, ring: colour.ring };
    if (fill) glyph.fill_color = { value: fill };
    if (line[renderer.name]) glyph.line_color = { value: line[renderer.name] };
  }

  function paintAnnotation(model, colour) {
    if (model.type === "BoxAnnotation" && (model.name || "").startsWith("below-")) model.fill_color = colour.below;
    if (model.type === "Span") model.line_color = colour.below;
    if (model.type === "Grid") model.grid_line_color = model.grid_line_color == null ? null : colour.line;
  }

  function paint(figures) {
    const colour = report.themeColours();
    for (const plot of figures.roots()) {
      for (const axis of [...plot.below, ...plot.left]) paintAxis(axis, colour);
      for (const model of plot.center) paintAnnotation(model, colour);
      for (const renderer of plot.renderers) {
        if (renderer.type === "GlyphRenderer") paintGlyph(renderer, colour);
        else paintAnnotation(renderer, colour);
      }
    }
  }

  // Paint now, whenever the theme changes, and in light colours for print; then let the caller repaint what it drew.
  report.followTheme = function (figures, repainted) {
    const repaint = () => {
      colours = null;
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
  };

  // The colour of each point by trust, cluster or verdict, as a place in a list of colours.
  report.Colours = class {
    constructor(points, kind) {
      const { columns, page } = points;
      this.names = page.colours[kind];
      this.lowest = kind === "trust" ? report.lowestTrust(points) : 0;
      if (kind === "trust") {
        const { trust } = columns;
        const scale = this.names.length / (1 - this.lowest);
        const last = this.names.length - 1;
        this.place = (point) => Math.min(last, Math.max(0, Math.floor((trust[point] - this.lowest) * scale) || 0));
      } else {
        const codes = kind === "cluster" ? columns.label : columns.verdict;
        this.place = (point) => codes[point];
      }
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
  };

  // The scale of trust starts at the tenth below the least trusted label, or lower than one half.
  report.lowestTrust = function ({ page }) {
    const first = page.levels.reduce((least, counts) => Math.min(least, counts.findIndex((count) => count > 0) >>> 0), 50);
    return Math.floor(Math.max(0, first - 1) / 10) / 10;
  };
})((window.allegianceReport ??= {}));
