// The map: what lies in its window is drawn by the server's answer, as points or as density.
"use strict";
(function (explorer) {
  // Milliseconds of rest after which a moved or zoomed map asks for its window.
  const REST = 60;
  const CHOICE = { map: "map-choice", colour: "colour-choice" };
  const element = (id) => document.getElementById(id);

  function themeColours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "ink", "soft", "line", "ring", "accent"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  }

  // The bytes of an image as the kind of array that Bokeh takes for one: each pixel is a number of four bytes.
  function rgbaImage(pixels, height, width) {
    const { ndarray } = Bokeh.require("core/util/ndarray");
    const numbers = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4);
    return ndarray(numbers, { dtype: "uint32", shape: [height, width] });
  }

  // Roughly how large a name is on the screen, in pixels.
  const LETTER = 7.5;
  const LINE = 20;

  // Leave out names that lie outside the window or on another one; the names of larger clusters come first.
  function withoutOverlaps(names, [left, right, bottom, top, width, height]) {
    const kept = { x: [], y: [], name: [] };
    const boxes = [];
    names.name.forEach((name, i) => {
      const x = ((names.x[i] - left) / (right - left)) * width;
      const y = ((top - names.y[i]) / (top - bottom)) * height;
      const half = (name.length * LETTER) / 2 + 4;
      const inside = x > 0 && x < width && y > 0 && y < height;
      const free = boxes.every((box) => Math.abs(box.x - x) > box.half + half || Math.abs(box.y - y) > LINE);
      if (!inside || !free) return;
      boxes.push({ x, y, half });
      for (const column of Object.keys(kept)) kept[column].push(names[column][i]);
    });
    return kept;
  }

  class Map2D {
    constructor(figure, connection) {
      this.document = figure;
      this.plot = figure.get_model_by_name("map");
      this.connection = connection;
      this.asked = 0;
      this.places = {};
      this.hovering = false;
      this.pointer = null;
      this.sources = Object.fromEntries(this.plot.renderers.map((one) => [one.name, one.data_source]));
      this.follow();
      this.paint();
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    }

    get name() { return element(CHOICE.map).value; }
    get colour() { return element(CHOICE.colour).value; }

    get window() {
      const { x_range: x, y_range: y } = this.plot;
      return [x.start, x.end, y.start, y.end, Math.round(this.plot.inner_width), Math.round(this.plot.inner_height)];
    }

    // Tie the events of the figure and of the controls to questions.
    follow() {
      const moved = () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.refresh(), REST);
      };
      for (const range of [this.plot.x_range, this.plot.y_range]) {
        range.properties.start.change.connect(moved);
        range.properties.end.change.connect(moved);
      }
      this.plot.properties.inner_width.change.connect(moved);
      this.plot.on_event("reset", () => this.showWhole());
      this.plot.on_event("tap", (event) => this.ask("tap", { x: event.x, y: event.y, window: this.window }));
      this.plot.on_event("selectiongeometry", (event) => event.final && this.select(event.geometry));
      this.plot.on_event("mousemove", (event) => this.hover(event));
      this.plot.on_event("mouseleave", () => this.leave());
      element(CHOICE.map).addEventListener("change", () => this.open());
      element(CHOICE.colour).addEventListener("change", () => this.refresh());
      element("names-shown").addEventListener("change", () => this.paint());
    }

    ask(name, values) {
      return this.connection.ask(name, { map: this.name, ...values }).catch((error) => explorer.say(error.message));
    }

    // Show the chosen map as a whole.
    async open() {
      element("map-busy").hidden = false;
      const about = await this.ask("map", {});
      element("map-busy").hidden = true;
      if (about === undefined) return;
      this.whole = about.window;
      [this.plot.below[0].axis_label, this.plot.left[0].axis_label] = about.labels;
      this.names = about.names;
      this.description = about.description;
      explorer.offer(element(CHOICE.colour), about.colours);
      this.mark(about.marked);
      this.showWhole();
    }

    showWhole() {
      const [left, right, bottom, top] = this.whole;
      this.plot.x_range.setv({ start: left, end: right });
      this.plot.y_range.setv({ start: bottom, end: top });
      this.refresh();
    }

    // Ask what to draw; an answer that a later question has overtaken is dropped.
    async refresh() {
      clearTimeout(this.timer);
      if (!this.plot.inner_width) return;
      const number = ++this.asked;
      const started = performance.now();
      const view = await this.ask("view", { colour: this.colour, window: this.window });
      if (view === undefined || number !== this.asked) return;
      this.draw(view);
      explorer.timing = { ...explorer.timing, view: performance.now() - started };
    }

    draw(view) {
      const { dots, density, names } = this.sources;
      names.data = withoutOverlaps(this.names, view.window);
      const mapper = this.plot.renderers.find((one) => one.name === "dots").glyph.fill_color.transform;
      mapper.setv({ palette: view.palette, low: view.low, high: view.high, nan_color: view.nothing });
      const dense = view.kind === "density";
      if (dense) {
        const [left, right, bottom, top] = view.window;
        density.data = { image: [rgbaImage(view.arrays.pixels, view.height, view.width)], x: [left], y: [bottom], dw: [right - left], dh: [top - bottom] };
        dots.selected.indices = [];
        dots.data = { x: [], y: [], value: [] };
      } else {
        density.data = { image: [], x: [], y: [], dw: [], dh: [] };
        dots.selected.indices = [];
        dots.data = { x: view.arrays.x, y: view.arrays.y, value: view.arrays.value };
        if (view.arrays.chosen?.length) dots.selected.indices = Array.from(view.arrays.chosen);
        this.resize(view.points);
      }
      this.legend(view);
      const what = dense ? "drawn as density; zoom in for single points" : "drawn one by one";
      element("map-said").textContent =
        `${this.description[0].toUpperCase()}${this.description.slice(1)}. ${view.points.toLocaleString("en")} points in view, ${what}.`;
      element("map").dataset.kind = view.kind;
      element("map").dataset.drawn = String(this.asked);
    }

    // Fewer points are drawn larger.
    resize(points) {
      const size = points > 6000 ? 4 : points > 1500 ? 6 : 8;
      const renderer = this.plot.renderers.find((one) => one.name === "dots");
      for (const glyph of [renderer.glyph, renderer.selection_glyph, renderer.nonselection_glyph])
        if (glyph && typeof glyph !== "string") glyph.size = { value: size };
    }

    legend(view) {
      const box = element("legend");
      const entry = (text, colour) => {
        const one = document.createElement("span");
        const swatch = document.createElement("i");
        swatch.style.background = colour;
        one.append(swatch, text);
        return one;
      };
      if (view.legend.length) {
        box.replaceChildren(...view.legend.map(([text, colour]) => entry(text, colour)));
        return;
      }
      const bar = document.createElement("span");
      bar.className = "scale";
      bar.style.background = `linear-gradient(to right, ${view.palette.filter((_, i) => i % 16 === 0).join(", ")})`;
      const number = (value) => String(Number(value.toPrecision(3)));
      box.replaceChildren(`${view.title}  ${number(view.low)} `, bar, ` ${number(view.high)}`);
    }

    // Draw a ring around the point that is looked at.
    mark(places) {
      this.places = places ?? {};
      const place = this.places[this.name];
      this.sources.marked.data = place ? { x: [place[0]], y: [place[1]] } : { x: [], y: [] };
    }

    select(geometry) {
      if (geometry.type === "rect")
        this.ask("select", { xs: [geometry.x0, geometry.x1], ys: [geometry.y0, geometry.y1] });
      else if (geometry.type === "poly" && geometry.x.length > 2)
        this.ask("select", { xs: Array.from(geometry.x), ys: Array.from(geometry.y) });
    }

    // One question at a time: the last place of the pointer is asked for when the answer is there.
    async hover(event) {
      this.pointer = event;
      if (this.hovering) return;
      this.hovering = true;
      while (this.pointer !== null) {
        const { x, y, sx, sy } = this.pointer;
        this.pointer = null;
        const started = performance.now();
        const found = await this.connection.ask("hover", { map: this.name, x, y, window: this.window }).catch(() => null);
        explorer.timing = { ...explorer.timing, hover: performance.now() - started };
        if (this.left) break;
        this.point(found, sx, sy);
      }
      this.hovering = false;
      this.left = false;
    }

    point(found, sx, sy) {
      const tooltip = element("tooltip");
      const none = found === null || found.row === null;
      this.sources.pointed.data = none ? { x: [], y: [] } : { x: [found.x], y: [found.y] };
      tooltip.hidden = none;
      if (none) return;
      tooltip.replaceChildren(...found.lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
      const room = element("map-frame").clientWidth - tooltip.offsetWidth - 4;
      tooltip.style.left = `${Math.max(0, Math.min(sx + 14, room))}px`;
      tooltip.style.top = `${sy + 14}px`;
    }

    leave() {
      this.left = this.hovering;
      this.pointer = null;
      this.point(null, 0, 0);
    }

    // Take the colours of axes, rings and names from the style sheet.
    paint() {
      const colour = themeColours();
      for (const axis of [...this.plot.below, ...this.plot.left])
        axis.setv({
          axis_label_text_color: colour.ink, major_label_text_color: colour.soft,
          axis_line_color: colour.line, major_tick_line_color: colour.line,
        });
      for (const model of this.plot.center) if (model.type === "Grid") model.grid_line_color = colour.line;
      for (const renderer of this.plot.renderers) {
        if (renderer.name === "marked") renderer.glyph.line_color = { value: colour.ring };
        if (renderer.name === "pointed") renderer.glyph.line_color = { value: colour.accent };
        if (renderer.name === "names") {
          renderer.visible = element("names-shown").checked;
          renderer.glyph.text_color = { value: colour.ink };
          renderer.glyph.background_fill_color = { value: colour.paper };
        }
      }
    }
  }

  explorer.Map2D = Map2D;
})((window.allegianceExplorer ??= {}));
