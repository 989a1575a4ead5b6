// A closer look: the card of a point, the card of a cluster, and the legend of the map.
"use strict";
(function (report) {
  const { element, named, signed } = report;

  function definitions(entries) {
    const list = element("dl");
    for (const [name, value] of entries) list.append(element("div", [element("dt", name), element("dd", value)]));
    return list;
  }

  // Bars from the left, or from the middle for numbers that may be negative, with their names and numbers.
  function bars(entries, largest, signedBars = false) {
    const list = element("ul", undefined, signedBars ? "bars signed" : "bars");
    for (const [name, value, said] of entries) {
      const bar = element("span", undefined, "track");
      const fill = element("span", undefined, value < 0 ? "fill negative" : "fill");
      const share = Math.min(1, Math.abs(value) / (largest || 1));
      fill.style.width = `${(signedBars ? 50 : 100) * share}%`;
      bar.append(fill);
      list.append(element("li", [named(name), bar, element("span", said, "value")]));
    }
    return list;
  }

  function part(title, content) {
    return element("div", [element("p", title), content], "part");
  }

  // Everything that is known of a point.
  report.pointCard = function (points, decisions, point) {
    const { columns } = points;
    const card = element("div", undefined, "card");
    if (points.image(point)) card.append(report.picture(points, point));
    const facts = [
      ...points.page.idNames.map((name, i) => [name, named(points.page.ids[i][point])]),
      ["label", named(points.label(point))],
      ...(points.page.calibrated ? [["trust", points.trust(point)]] : []),
      ["verdict", report.verdictKey(points.verdict(point))],
      ["rival", named(points.rival(point))],
      ["own affinity", report.ownAffinity(points, point)],
      ...("typicality" in columns ? [["typicality", report.typicality(points, point)]] : []),
      ["decision", report.decisionSelect(points, decisions, point)],
    ];
    card.append(part("The label", definitions(facts)));
    const affinities = points.affinities(point).map(([name, value]) => [name, value, value.toFixed(2)]);
    card.append(part("Largest affinities", bars(affinities, 1)));
    const pulls = points.pulls(point);
    if (pulls.length) {
      const strongest = Math.max(...pulls.map(([, value]) => Math.abs(value)));
      const entries = pulls.map(([name, value]) => [name, value, signed(value)]);
      card.append(part("Features that pull it away", bars(entries, strongest, true)));
    }
    const words = points.words(point);
    if (words.length) card.append(part("Words that speak for the rival", element("p", words.join(", "), "words")));
    if (points.text(point)) card.append(report.markedText("p", points.text(point), words, "document"));
    return card;
  };

  // Own affinity with the half-width of its 95 % interval; noise has no own cluster.
  report.ownAffinity = function (points, point) {
    if (points.isNoise(point)) return element("span", "-");
    const node = element("span", points.columns.own[point].toFixed(2));
    const halfWidth = points.columns.half_width[point];
    if (halfWidth >= 0.005) node.append(element("span", ` ± ${halfWidth.toFixed(2)}`, "interval"));
    return node;
  };

  report.typicality = function (points, point) {
    const value = points.columns.typicality[point];
    if (value < points.page.atypical) return element("span", "unlike anything in its cluster", "atypical");
    return element("span", Number.isNaN(value) ? "-" : value.toFixed(2));
  };

  function typicalMembers(points, card, onMark) {
    const list = element("ul", undefined, "members");
    for (const point of card.typical) {
      const content = [];
      if (points.image(point)) content.push(report.picture(points, point));
      content.push(element("span", `row ${points.columns.row[point]}`));
      if (points.text(point)) content.push(element("span", points.text(point), "excerpt"));
      list.append(element("li", report.button(content, () => onMark(point), "member")));
    }
    return list;
  }

  const rounded = (number) => Number(number.toPrecision(3)).toLocaleString("en-GB", { maximumSignificantDigits: 3 });

  // What a cluster is like: its traits beside the rest, its rivals, its typical members.
  report.clusterCard = function (points, code, onMark) {
    const { page } = points;
    const data = page.clusters[code];
    const card = element("div", undefined, "card");
    if (data.traits.length) {
      const strongest = Math.abs(data.traits[0][3]);
      const entries = data.traits.map(([feature, inside, outside, difference]) => {
        return [page.features[feature], difference, `${rounded(inside)}, others ${rounded(outside)}`];
      });
      card.append(part("Features against the rest", bars(entries, strongest, true)));
    }
    const words = page.words?.clusters[code] ?? [];
    if (words.length) card.append(part("Words against the rest", element("p", words.join(", "), "words")));
    const rivals = data.rivals.map(([rival, count]) => [page.names[rival], count, report.withCommas(count)]);
    const doubtful = rivals.length ? bars(rivals, rivals[0][1]) : element("p", "Every label is supported.", "hint");
    card.append(part("Rivals of its doubtful labels", doubtful));
    if (data.typical.length) card.append(part("Most typical members", typicalMembers(points, data, onMark)));
    return card;
  };

  function scale(colours, quantity) {
    const canvas = element("canvas");
    canvas.width = colours.names.length;
    canvas.height = 1;
    const context = canvas.getContext("2d");
    colours.names.forEach((colour, i) => {
      context.fillStyle = colour;
      context.fillRect(i, 0, 1, 1);
    });
    return [element("span", `${quantity} ${colours.lowest.toFixed(1)}`), canvas, element("span", "1.0")];
  }

  const MOST_NAMED = 12;

  report.drawLegend = function (state, colours) {
    const { page } = state.points;
    const legend = document.getElementById("legend");
    const key = (name, i) => {
      const node = element("span", name, "chip-key");
      node.style.setProperty("--chip", colours.names[i]);
      return node;
    };
    if (state.colour === "trust") legend.replaceChildren(...scale(colours, page.quantity));
    else if (state.colour === "verdict") {
      legend.replaceChildren(...page.verdicts.filter((_, i) => i < 3 || page.counts[3]).map(key));
    } else {
      const rest = page.names.length - 1 - MOST_NAMED;
      const more = rest > 0 ? [element("span", `and ${rest} more, coloured as in the table of clusters`)] : [];
      legend.replaceChildren(...page.names.slice(0, Math.min(MOST_NAMED, page.names.length - 1)).map(key), ...more);
    }
  };
})((window.allegianceReport ??= {}));
