// Colours of the figures: read from the style sheet, so that they follow the page's light or dark theme.
"use strict";
(function (report) {
  function colours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "ink", "soft", "line", "band", "bar", "chosen", "below", "ring", "theme"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  }

  function paintAxis(axis, colour) {
    axis.setv({
      axis_label_text_color: colour.ink,
      major_label_text_color: colour.soft,
      axis_line_color: colour.line,
      major_tick_line_color: colour.line,
    });
  }

  function paintColorBar(bar, colour) {
    bar.setv({ title_text_color: colour.ink, major_label_text_color: colour.soft, major_tick_line_color: colour.soft });
  }

  function paintGlyphs(renderer, colour) {
    const solid = { bands: colour.band, bars: colour.bar, chosen: colour.chosen }[renderer.name];
    for (const glyph of [renderer.glyph, renderer.selection_glyph, renderer.nonselection_glyph]) {
      if (glyph == null || typeof glyph === "string") continue;
      if (solid) glyph.fill_color = { value: solid };
      if (solid && renderer.name !== "bands") glyph.line_color = { value: solid };
      if (renderer.name === "dots") glyph.line_color = { value: colour.paper };
      if (renderer.name === "noise") glyph.line_color = { value: colour.soft };
      if (renderer.name === "ring") glyph.line_color = { value: colour.ring };
    }
  }

  function paintAnnotation(model, colour) {
    if (model.type === "BoxAnnotation" && (model.name || "").startsWith("below-")) model.fill_color = colour.below;
    if (model.type === "Span") model.line_color = colour.below;
    if (model.type === "Grid") model.grid_line_color = model.grid_line_color == null ? null : colour.line;
  }

  function paint(figures, palettes) {
    const colour = colours();
    for (const plot of figures.roots()) {
      for (const model of [...plot.below, ...plot.left, ...plot.right]) {
        if (model.type === "ColorBar") paintColorBar(model, colour);
        else paintAxis(model, colour);
      }
      for (const model of plot.center) paintAnnotation(model, colour);
      for (const renderer of plot.renderers) {
        if (renderer.type === "GlyphRenderer") paintGlyphs(renderer, colour);
        else paintAnnotation(renderer, colour);
      }
    }
    figures.get_model_by_name("colours").palette = palettes[colour.theme];
  }

  // Paint now, whenever the theme changes, and in light colours for print.
  report.followTheme = function (figures, palettes) {
    const repaint = () => paint(figures, palettes);
    repaint();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
      addEventListener(event, () => {
        document.documentElement.classList.toggle("printing", printing);
        repaint();
      });
    }
  };
})((window.allegianceReport ??= {}));
