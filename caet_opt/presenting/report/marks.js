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

// the name of a symbol, and its path of about 10 x 10 around the origin
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

// the lines of curves, and those of thresholds in the order of the filter
const LINES = ["solid", "dash", "dot", "dashdot"];
const darkScreen = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;

const theme = () => THEMES[darkScreen.matches && !printing ? "dark" : "light"];

// what a series looks like: the numbers of its colour, its symbol and its line, given with it or else its own number
const mark = (series) => report.series[series].mark ?? { colour: series, symbol: series, dash: 0 };
const colour = (series) => shade(mark(series).colour);
const shade = (at) => theme().colours[at % theme().colours.length];
const symbol = (series) => SYMBOLS[mark(series).symbol % SYMBOLS.length];
const dash = (series) => LINES[mark(series).dash % LINES.length];
const faded = (hex, opacity) => `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16))}, ${opacity})`;

// texts of charts may have <b> and <br>: what comes from the study is text
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function number(value, digits = 5) {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(digits)));
}

// an interval that Python has rounded outward
const between = (text) => (text === null ? "" : `, 95 % in ${text}`);

// a bound to some digits: an upper one is not below what it is, a lower one not above
function rounded(value, up, digits = 5) {
  const text = value.toExponential(digits - 1);
  const [mantissa, power] = text.split("e");
  const beside = up ? Number(text) < value : Number(text) > value;
  const steps = Math.round(Number(mantissa) * 10 ** (digits - 1)) + (beside ? (up ? 1 : -1) : 0);
  return number(Number(`${steps}e${Number(power) - digits + 1}`), digits);
}

function element(tag, attributes = {}, ...children) {
  const space = ["svg", "path", "g", "text", "tspan", "rect", "clipPath"].includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const node = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// the mark of a series as a small picture
function key(series) {
  return sample(colour(series), symbol(series), dash(series));
}

// a line with a symbol on it; either may be missing
function sample(ink, symbolOf, line) {
  const parts = [];
  if (line) {
    const attributes = { d: "M-15 0H15", stroke: ink, "stroke-width": 2, fill: "none" };
    if (DASHES[line]) attributes["stroke-dasharray"] = DASHES[line];
    parts.push(element("path", attributes));
  }
  if (symbolOf) parts.push(element("path", { d: symbolOf[1], fill: ink }));
  return element("svg", { class: "key", viewBox: "-15 -7 30 14", "aria-hidden": "true" }, ...parts);
}

// what a box of the filter stands for: its colour, its symbol or its line, by number; where no symbol means anything
// else, it goes with the colour
function keyOf(kind, at) {
  const paired = report.series.every((_, series) => mark(series).symbol === mark(series).colour);
  if (kind === "colour") return sample(shade(at), paired ? SYMBOLS[at % SYMBOLS.length] : ["", "M-6 -6H6V6H-6Z"]);
  if (kind === "dash") return sample(theme().ink, null, LINES[at % LINES.length]);
  return sample(theme().ink, SYMBOLS[at % SYMBOLS.length]);
}
