// Parts of the page. Everything that comes from the data is put in as text, never as markup.
"use strict";
(function (report) {
  report.element = function (tag, content, className) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (content instanceof Node) node.append(content);
    else if (Array.isArray(content)) node.append(...content);
    else if (content !== undefined && content !== null) node.textContent = content;
    return node;
  };

  // A name from the data: cut where there is no room for it, whole when pointed at.
  report.named = function (name) {
    const node = report.element("span", name, "name");
    node.title = name;
    return node;
  };

  // A text in which some words are marked, whatever their case.
  report.markedText = function (tag, text, words, className) {
    const node = report.element(tag, undefined, className);
    if (!words.length) {
      node.textContent = text;
      return node;
    }
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(${escaped.join("|")})(?![\\p{L}\\p{N}_])`, "giu");
    text.split(pattern).forEach((part, i) => node.append(i % 2 ? report.element("mark", part) : part));
    return node;
  };

  report.button = function (content, onClick, className) {
    const node = report.element("button", content, className);
    node.type = "button";
    node.addEventListener("click", onClick);
    return node;
  };

  report.verdictKey = (verdict) => report.element("span", verdict, `key ${verdict}`);

  report.say = function (id, text) {
    document.getElementById(id).textContent = text;
  };

  report.signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(1)} sd`;

  // The image of a point, loaded when it comes into view.
  report.picture = function (points, point) {
    const image = report.element("img");
    image.alt = `image of row ${points.columns.row[point]}`;
    image.loading = "lazy";
    image.src = points.image(point);
    return image;
  };
})((window.allegianceReport ??= {}));
