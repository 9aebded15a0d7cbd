// How things are drawn: colours for light and dark, symbols that differ without colour, numbers and labels.

const report = JSON.parse(document.getElementById("data").textContent);

const THEMES = {
  light: {
    ink: "#1b1f24", faint: "#57606a", ground: "#ffffff", line: "#dfe3e8", bar: "#c9d1d9",
    colours: ["#2480fb", "#ab7600", "#051e89", "#d14961", "#580002", "#937cb7", "#2b002f", "#6b7680"],
  },
  dark: {
    ink: "#e6edf3", faint: "#9aa7b4", ground: "#0f1419", line: "#2a3540", bar: "#465462",
    colours: ["#0d80fb", "#bc7105", "#61fcbd", "#d82f59", "#c5f779", "#8865a5", "#f6c2ff", "#b4bec8"],
  },
};

// plotly's name of a symbol, and the same as a path of about 10 x 10 around the origin; eleven of them, and eight
// colours, so that eighty-eight series look different
const SYMBOLS = [
  ["circle", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z"],
  ["square", "M-4 -4H4V4H-4Z"],
  ["triangle-up", "M0 -5L5 4H-5Z"],
  ["diamond", "M0 -5.5L5.5 0L0 5.5L-5.5 0Z"],
  ["triangle-down", "M0 5L5 -4H-5Z"],
  ["cross", "M-5 -1.8H-1.8V-5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5Z"],
  ["triangle-left", "M-5 0L4 -5V5Z"],
  ["triangle-right", "M5 0L-4 -5V5Z"],
  ["pentagon", "M0 -5L4.8 -1.5L2.9 4H-2.9L-4.8 -1.5Z"],
  ["star", "M0 -5.5L1.3 -1.8L5.2 -1.7L2.1 .7L3.2 4.5L0 2.2L-3.2 4.5L-2.1 .7L-5.2 -1.7L-1.3 -1.8Z"],
  ["x", "M-5 -2.5L-2.5 -5L0 -2.5L2.5 -5L5 -2.5L2.5 0L5 2.5L2.5 5L0 2.5L-2.5 5L-5 2.5L-2.5 0Z"],
];

const BOUNDS = { lower: "dash", upper: "dot", predicted: "dashdot" };
const darkScreen = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;

const theme = () => THEMES[darkScreen.matches && !printing ? "dark" : "light"];

// the number of a series' colour and symbol: a setting has the same colour in every model, by a whole turn of the colours
// from model to model, as long as the symbols suffice to tell the models apart
const notes = [...new Set(report.series.map((series) => series.note))];
const turn = THEMES.light.colours.length;
const aligned = notes.length > 1 && report.models.length <= SYMBOLS.length;
const stride = aligned ? turn * Math.ceil(notes.length / turn) : notes.length;
const mark = (series) => notes.indexOf(report.series[series].note) + stride * report.series[series].model;
const colour = (series) => theme().colours[mark(series) % turn];
const symbol = (series) => SYMBOLS[mark(series) % SYMBOLS.length];
const faded = (hex, opacity) => `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16))}, ${opacity})`;

// plotly reads some HTML in its texts: what comes from the study is text
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function number(value, digits = 5) {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(digits)));
}

const between = ([, low, high]) => (low === null ? "" : `, 95 % in [${number(low, 4)}, ${number(high, 4)}]`);

function element(tag, attributes = {}, ...children) {
  const space = ["svg", "path"].includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const node = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// the mark of a series as a small picture; without a series the dash of a bound
function key(series, dash) {
  const stroke = series === null ? theme().faint : colour(series);
  const line = element("path", { d: "M-13 0H13", stroke, "stroke-width": 2, fill: "none" });
  if (dash) line.setAttribute("stroke-dasharray", dash === "dash" ? "6 4" : "2 3");
  const picture = element("svg", { class: "key", viewBox: "-13 -7 26 14", "aria-hidden": "true" }, line);
  if (series !== null) picture.append(element("path", { d: symbol(series)[1], fill: stroke }));
  return picture;
}
