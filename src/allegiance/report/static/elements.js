// Parts of the page. Everything that comes from the data is put in as text, never as markup.
function element(tag, content, className) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (content instanceof Node) node.append(content);
  else if (Array.isArray(content)) node.append(...content);
  else if (content !== undefined && content !== null) node.textContent = content;
  return node;
}

const byId = (id) => document.getElementById(id);

// A text that can be broken after underscores, as column names should be.
const breakable = (text) => String(text).split(/(?<=_)/).flatMap((part, i) => (i ? [element("wbr"), part] : [part]));

// A text in at most two lines, broken after spaces and underscores.
function wrapped(text, length) {
  const lines = [""];
  for (const part of text.split(/(?<=[ _])/)) {
    if (lines.at(-1).length + part.length > length && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += part;
  }
  const [first, second = ""] = lines.map((line) => line.trim());
  const isCut = lines.length > 2 || second.length > length;
  return second ? [first, isCut ? `${second.slice(0, length - 1)}…` : second] : [first];
}

// A name from the data: cut where there is no room for it, whole when pointed at.
function named(name) {
  const node = element("span", breakable(name), "name");
  node.title = name;
  return node;
}

function button(content, onClick, className) {
  const node = element("button", content, className);
  node.type = "button";
  node.addEventListener("click", onClick);
  return node;
}

const verdictKey = (verdict) => element("span", verdict, `key ${verdict}`);

function say(id, text) {
  byId(id).textContent = text;
}

// Say what went wrong, at the top of the page.
function complain(text) {
  const node = byId("trouble");
  node.textContent = text;
  node.hidden = !text;
  if (text) node.scrollIntoView({ block: "nearest" });
}

// Do something that may fail, and say so if it does.
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    complain(error.message);
    return null;
  }
}

function sum(numbers, first = 0, end = numbers.length) {
  let total = 0;
  for (let i = first; i < end; i++) total += numbers[i];
  return total;
}

// Formats are made once: `toLocaleString` makes one for each number.
const formats = [0, 1, 2].map((digits) => new Intl.NumberFormat("en-US", { maximumFractionDigits: digits }));

const withCommas = (number) => formats[0].format(Math.round(number));
const percent = (part, whole, digits = 1) => (whole ? ((100 * part) / whole).toFixed(digits) + "%" : "-");

// A value of a column as a person would write it; `fine` keeps all digits.
function written(column, value, fine = false) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (column.kind === "date") {
    const text = new Date(value).toISOString();
    return value % 86400000 && fine ? text.slice(0, 19).replace("T", " ") : text.slice(0, 10);
  }
  if (column.kind !== "number" || (fine && !Number.isInteger(value))) return String(value);
  if (column.year) return value.toFixed(0);
  const size = Math.abs(value);
  if (Number.isInteger(value)) return size < 10000 ? String(value) : formats[0].format(value);
  return size < 0.1 || size >= 1e9 ? String(Number(value.toPrecision(3))) : formats[size >= 100 ? 1 : 2].format(value);
}

// The image of a point, loaded when it comes into view.
function picture(points, point) {
  const image = element("img");
  image.alt = `image of ${points.title(point)}`;
  image.loading = "lazy";
  image.src = points.image(point);
  return image;
}
