// The points on the page: columns of numbers, unpacked when they are first asked for.
"use strict";
(function (report) {
  const TYPES = { f8: Float64Array, f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

  function unpack({ type, data }) {
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    return new TYPES[type](bytes.buffer);
  }

  report.withCommas = (number) => Math.round(number).toLocaleString("en-GB");
  report.percent = (part, whole, digits = 1) => (whole ? ((100 * part) / whole).toFixed(digits) + " %" : "-");

  report.Points = class {
    constructor(page) {
      this.page = page;
      this.columns = {};
      for (const [name, packed] of Object.entries(page.columns)) {
        Object.defineProperty(this.columns, name, {
          configurable: true,
          enumerable: true,
          get: () => {
            Object.defineProperty(this.columns, name, { value: unpack(packed), enumerable: true });
            packed.data = "";
            return this.columns[name];
          },
        });
      }
      this.size = this.columns.level.length;
    }

    // How many points of the data this one stands for.
    weight(point) {
      return this.page.weights ? this.page.weights[this.columns.kind[point]] : 1;
    }

    label(point) {
      return this.page.names[this.columns.label[point]];
    }

    rival(point) {
      return this.page.names[this.columns.rival[point]];
    }

    verdict(point) {
      return this.page.verdicts[this.columns.verdict[point]];
    }

    isNoise(point) {
      return this.verdict(point) === "noise";
    }

    // Trust as text; noise has no label to trust.
    trust(point) {
      return this.isNoise(point) ? "-" : this.columns.trust[point].toFixed(2);
    }

    ids(point) {
      return this.page.ids.map((column) => column[point]);
    }

    text(point) {
      return this.page.texts?.[point];
    }

    // Words of its text that are more typical of its rival than of its label.
    words(point) {
      return this.page.words?.points[point] ?? [];
    }

    image(point) {
      return this.page.images?.[point];
    }

    // The largest affinities: names, numbers.
    affinities(point) {
      const entries = [];
      for (let place = 0; `cluster_${place}` in this.columns; place++) {
        const name = this.page.names[this.columns[`cluster_${place}`][point]];
        entries.push([name, this.columns[`affinity_${place}`][point]]);
      }
      return entries;
    }

    // The features that pull the point from its label towards its rival: names, standard deviations.
    pulls(point) {
      const entries = [];
      for (let place = 0; `feature_${place}` in this.columns; place++) {
        const feature = this.columns[`feature_${place}`][point];
        if (feature === 0) break;
        entries.push([this.page.features[feature - 1], this.columns[`deviation_${place}`][point]]);
      }
      return entries;
    }
  };
})((window.allegianceReport ??= {}));
