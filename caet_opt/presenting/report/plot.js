// A chart as SVG: lines, bands, markers with intervals, bars and boxes between two axes, and what the pointer is told.
// plot(node, traces, layout) takes that part of plotly's vocabulary which the charts here speak.

const LETTER = 6.4;
const LINE = 15;
const DASHES = { dash: "7 4", dot: "1.5 3.5", dashdot: "9 3 1.5 3" };
const RAISED = { "-": "⁻", ...Object.fromEntries([..."0123456789"].map((digit, at) => [digit, "⁰¹²³⁴⁵⁶⁷⁸⁹"[at]])) };
const FLAT = ["line-ew", "M-7 0H7"];
let drawn = 0;

// the lowest and the highest that a trace reaches, bars and boxes with their width
function extent(trace, which) {
  if (which === "x") {
    const half = (trace.width ?? 0) / 2;
    return trace.x.flatMap((value) => [value - half, value + half]);
  }
  if (trace.type === "box") return [...trace.lowerfence, ...trace.upperfence, ...trace.mean];
  const { array = [], arrayminus = [] } = trace.error_y ?? {};
  const ends = trace.y.flatMap((value, at) => [value, value + (array[at] ?? 0), value - (arrayminus[at] ?? 0)]);
  return trace.type === "bar" ? [0, ...ends] : ends;
}

// where an axis begins and ends, in logarithms if it is logarithmic
function reach(axis, traces, which) {
  if (axis.range) return axis.range;
  const log = axis.type === "log";
  const values = traces.flatMap((trace) => extent(trace, which)).filter((value) => Number.isFinite(value) && (!log || value > 0));
  const ends = values.length ? [Math.min(...values), Math.max(...values)] : [1, 1];
  const [low, high] = log ? ends.map(Math.log10) : ends;
  const margin = 0.05 * (high - low) || 0.1 * Math.abs(high) || 0.1;
  return axis.rangemode === "tozero" && low >= 0 ? [0, high + margin] : [low - margin, high + margin];
}

// marks of an axis with their texts, as many as there is room for
function ticks(axis, [low, high], pixels, upwards) {
  const inside = ([value]) => value >= low - 1e-9 * (high - low) && value <= high + 1e-9 * (high - low);
  const room = (found) => found.length * (upwards ? 2 * LINE : LETTER * 2 + Math.max(0, ...found.map(([, text]) => LETTER * wide(text)))) <= pixels;
  const log = axis.type === "log";
  if (axis.tickvals) {
    const all = axis.tickvals.map((value, at) => [log ? Math.log10(value) : value, axis.ticktext[at]]).filter(inside);
    const whole = log ? all.filter(([value]) => Math.abs(value - Math.round(value)) < 1e-9) : all;
    if (room(all) || whole.length < 2) return all;
    return thin(whole, room);
  }
  if (log) {
    const decades = Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, at) => Math.ceil(low) + at);
    return thin(decades.map((power) => [power, `10${[...String(power)].map((letter) => RAISED[letter]).join("")}`]), room);
  }
  const rough = (high - low) / Math.max(2, pixels / (upwards ? 45 : 75));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
  const count = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
  const values = Array.from({ length: count }, (_, at) => Number(((Math.ceil(low / step - 1e-9) + at) * step).toPrecision(12)));
  return values.map((value) => [value, number(value, 6)]);
}

function thin(found, room) {
  const every = (step) => found.filter((_, at) => at % step === 0);
  let step = 1;
  while (!room(every(step)) && step < found.length) step += 1;
  return every(step);
}

const wide = (text) => Math.max(...String(text).split("<br>").map((line) => line.length));

// a text of one or more lines
function words(text, x, y, attributes = {}) {
  const lines = String(text).split("<br>").map((line, at) => element("tspan", { x, dy: at ? LINE : 0 }, unescaped(line)));
  return element("text", { x, y, ...attributes }, ...lines);
}

const unescaped = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

function plot(node, traces, look) {
  const width = look.width ?? node.clientWidth;
  const height = node.clientHeight;
  const [xs, ys] = [reach(look.xaxis, traces, "x"), reach(look.yaxis, traces, "y")];
  const yTicks = ticks(look.yaxis, ys, height - 60, true);
  const left = 30 + LETTER * Math.max(2, ...yTicks.map(([, text]) => wide(text)));
  const box = { left, right: width - 20, top: 8, bottom: 0 };
  const xTicks = ticks(look.xaxis, xs, box.right - left, false);
  const lines = Math.max(1, ...xTicks.map(([, text]) => String(text).split("<br>").length));
  box.bottom = height - 24 - LINE * lines;
  const place = (axis, [low, high], from, to) => (value) =>
    from + ((axis.type === "log" ? Math.log10(value) : value) - low) / (high - low) * (to - from);
  const px = place(look.xaxis, xs, box.left, box.right);
  const py = place(look.yaxis, ys, box.bottom, box.top);
  const raw = (ends, from, to) => (value) => from + (value - ends[0]) / (ends[1] - ends[0]) * (to - from);
  const picture = element("svg", { class: "main-svg", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  picture.style.background = look.paper_bgcolor;
  picture.append(...drawAxes(look, box, xTicks.map(([at, text]) => [raw(xs, box.left, box.right)(at), text]),
    yTicks.map(([at, text]) => [raw(ys, box.bottom, box.top)(at), text]), width, height));
  drawn += 1;
  const cut = element("clipPath", { id: `cut-${drawn}` },
    element("rect", { x: box.left - 6, y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 6 }));
  const inner = element("g", { "clip-path": `url(#cut-${drawn})` });
  for (const { x0, line } of look.shapes ?? []) inner.append(path(`M${px(x0)} ${box.top}V${box.bottom}`, line));
  const spots = traces.flatMap((trace) => drawTrace(inner, trace, px, py, box));
  picture.append(cut, inner);
  node.replaceChildren(picture);
  Object.assign(node, { data: traces, layout: look });
  answer(node, picture, spots);
}

// what an axis shows, and that it is logarithmic
const titled = (axis) => axis.title.text + (axis.type === "log" ? ", logarithmic" : "");

function drawAxes(look, box, xTicks, yTicks, width, height) {
  const { ink, line } = theme();
  const text = { fill: ink, "font-size": 12, "font-family": FONT };
  const parts = [path(`M${box.left} ${box.top}V${box.bottom}H${box.right}`, { color: theme().faint, width: 1 })];
  for (const [x, label] of xTicks) {
    if (look.xaxis.showgrid !== false) parts.unshift(path(`M${x} ${box.top}V${box.bottom}`, { color: line, width: 1 }));
    parts.push(words(label, x, box.bottom + LINE, { ...text, "text-anchor": "middle" }));
  }
  for (const [y, label] of yTicks) {
    parts.unshift(path(`M${box.left} ${y}H${box.right}`, { color: line, width: 1 }));
    parts.push(words(label, box.left - 6, y + 4, { ...text, "text-anchor": "end" }));
  }
  const middle = (box.top + box.bottom) / 2;
  return [
    ...parts,
    words(titled(look.xaxis), (box.left + box.right) / 2, height - 6, { ...text, "text-anchor": "middle" }),
    words(titled(look.yaxis), 12, middle, { ...text, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }),
  ];
}

function path(d, { color, width = 1, dash } = {}, more = {}) {
  const line = { d, fill: "none", stroke: color ?? "none", "stroke-width": width, "stroke-linejoin": "round", ...more };
  if (DASHES[dash]) line["stroke-dasharray"] = DASHES[dash];
  return element("path", line);
}

// draws a trace; where the pointer finds its points, with what is said there
function drawTrace(parent, trace, px, py, box) {
  if (trace.type === "bar") return drawBars(parent, trace, px, py, box);
  if (trace.type === "box") return drawBoxes(parent, trace, px, py);
  const points = trace.x.map((x, at) => [px(x), py(trace.y[at])]);
  const along = points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(2)} ${Number.isFinite(y) ? y.toFixed(2) : box.bottom + 9}`).join("");
  if (trace.fill === "toself") parent.append(path(`${along}Z`, {}, { fill: trace.fillcolor }));
  else if (trace.fill === "tozeroy" && points.length) {
    parent.append(path(`${along}V${box.bottom}H${points[0][0]}Z`, {}, { fill: trace.fillcolor }));
  }
  if (trace.mode.includes("lines") && trace.line.width > 0) parent.append(path(along, trace.line));
  if (trace.error_y) parent.append(path(whiskers(trace, px, py, box), { color: trace.error_y.color, width: trace.error_y.thickness }));
  if (trace.mode.includes("markers")) parent.append(markers(trace, points));
  if (trace.hoverinfo === "skip") return [];
  return points.map(([x, y], at) => ({ x, y, text: trace.hovertext[at] }));
}

function whiskers({ x, y, error_y: { array, arrayminus, width } }, px, py, box) {
  return x.map((at, index) => {
    const ends = [y[index] + array[index], y[index] - arrayminus[index]].map(py);
    const [top, bottom] = ends.map((end) => (Number.isFinite(end) ? end : box.bottom + 9));
    const cap = width ? `M${px(at) - width} ${top}h${2 * width}M${px(at) - width} ${bottom}h${2 * width}` : "";
    return `M${px(at)} ${top}V${bottom}${cap}`;
  }).join("");
}

function markers({ marker }, points) {
  const group = element("g", { class: "points" });
  points.forEach(([x, y], at) => {
    const name = Array.isArray(marker.symbol) ? marker.symbol[at] : marker.symbol;
    const [, d] = [...SYMBOLS, FLAT].find(([known]) => known === name.replace("-open", "")) ?? SYMBOLS[0];
    const hollow = name.endsWith("-open") || d === FLAT[1];
    const scale = marker.size / 9;
    group.append(element("path", {
      d, transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale})`, fill: hollow ? "none" : marker.color,
      stroke: marker.color, "stroke-width": hollow ? 1.8 / scale : 0,
    }));
  });
  return group;
}

function drawBars(parent, trace, px, py, box) {
  return trace.x.map((x, at) => {
    const [from, to, top] = [px(x - trace.width / 2), px(x + trace.width / 2), py(trace.y[at])];
    parent.append(element("rect", {
      x: from, y: top, width: to - from, height: Math.max(0, box.bottom - top), fill: trace.marker.color, stroke: trace.marker.line.color,
    }));
    return { x: px(x), y: top, text: trace.hovertext[at] };
  });
}

function drawBoxes(parent, trace, px, py) {
  trace.x.forEach((x, at) => {
    const [from, to] = [px(x - trace.width / 2), px(x + trace.width / 2)];
    const [low, first, middle, third, high] = ["lowerfence", "q1", "median", "q3", "upperfence"].map((part) => py(trace[part][at]));
    parent.append(element("rect", {
      x: from, y: third, width: to - from, height: first - third, fill: trace.fillcolor, stroke: trace.line.color, "stroke-width": trace.line.width,
    }));
    parent.append(path(`M${px(x)} ${third}V${high}M${px(x)} ${first}V${low}M${from} ${middle}H${to}`, trace.line));
    const mean = `M${px(x) - 5} ${py(trace.mean[at])}l5 -5l5 5l-5 5Z`;
    parent.append(path(mean, { color: trace.line.color, width: 1.4 }, { fill: theme().ground }));
  });
  return [];
}

// the point nearest to the pointer says what it is
function answer(node, picture, spots) {
  const tip = element("div", { class: "tip", role: "status", hidden: "" });
  node.append(tip);
  const find = ({ clientX, clientY }) => {
    const { left, top } = picture.getBoundingClientRect();
    const distance = (spot) => Math.hypot(spot.x - clientX + left, spot.y - clientY + top);
    const near = spots.reduce((best, spot) => (distance(spot) < distance(best) ? spot : best), { x: Infinity, y: Infinity });
    tip.hidden = !(distance(near) < 40);
    if (tip.hidden) return;
    tip.replaceChildren(...near.text.split("<br>").map((line) => {
      const bold = line.startsWith("<b>");
      return element(bold ? "strong" : "span", {}, unescaped(bold ? line.slice(3, -4) : line));
    }));
    tip.style.left = `${Math.max(0, Math.min(near.x + 12, node.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, near.y - tip.offsetHeight - 12)}px`;
  };
  picture.addEventListener("pointermove", find);
  picture.addEventListener("pointerdown", find);
  picture.addEventListener("pointerleave", () => { tip.hidden = true; });
}
