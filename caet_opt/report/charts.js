// What each chart draws: functions from cells to the traces and the layout of plotly.

const report = JSON.parse(document.getElementById("data").textContent);
const LEVEL = "log(1/δ)";

const has = (value) => value !== null && value !== undefined;
const groupBy = (cells, property) => {
  const groups = new Map();
  for (const cell of cells) groups.set(cell[property], [...(groups.get(cell[property]) ?? []), cell]);
  return groups;
};
const heading = (cell) => {
  const series = report.series[cell.series];
  const note = series.note ? `<br>${plain(series.note)}` : "";
  return `<b>${plain(short(report.models[series.model].label, 60))}</b>${note}<br>${LEVEL} = ${number(cell.level)}, ` +
    `δ = ${number(cell.delta, 4)}, ${cell.runs} runs`;
};

function axis(title, more = {}) {
  const look = theme();
  return {
    title: { text: title, standoff: 8 }, gridcolor: look.line, linecolor: look.line, zerolinecolor: look.line,
    tickcolor: look.line, automargin: true, fixedrange: true, ...more,
  };
}

function layout(x, y, more = {}) {
  const look = theme();
  return {
    font: { family: "system-ui, sans-serif", size: 12, color: look.ink }, paper_bgcolor: look.ground,
    plot_bgcolor: look.ground, margin: { l: 48, r: 14, t: 12, b: 40 }, showlegend: false, hovermode: "closest",
    hoverlabel: { bgcolor: look.ground, bordercolor: look.faint, font: { color: look.ink, size: 12 }, align: "left" },
    dragmode: false, xaxis: x, yaxis: y, ...more,
  };
}

// the mean of each cell of one series with its confidence band
function curve(cells, series, value, hover) {
  const points = cells.filter((cell) => has(value(cell)[0]));
  const banded = points.filter((cell) => has(value(cell)[1]));
  const ink = colour(series);
  const back = [...banded].reverse();
  const traces = [];
  if (banded.length > 1) {
    traces.push({
      x: [...banded, ...back].map((cell) => cell.level),
      y: [...banded.map((cell) => value(cell)[1]), ...back.map((cell) => value(cell)[2])],
      mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faded(ink, 0.25), hoverinfo: "skip",
    });
  }
  const reach = (end) => points.map((cell) => (has(value(cell)[end]) ? Math.abs(value(cell)[end] - value(cell)[0]) : 0));
  traces.push({
    x: points.map((cell) => cell.level), y: points.map((cell) => value(cell)[0]), mode: "lines+markers",
    line: { color: ink, width: 1.8 }, marker: { color: ink, symbol: symbol(series)[0], size: 8 },
    error_y: { type: "data", array: reach(2), arrayminus: reach(1), color: ink, thickness: 1.2, width: 3 },
    hovertext: points.map(hover), hoverinfo: "text",
  });
  return traces;
}

// a bound drawn through many levels, or through the levels of its cells
function bound(levels, values, dash, name) {
  return {
    x: levels, y: values, mode: "lines", line: { color: theme().faint, width: 1.6, dash },
    hovertext: levels.map((level, at) => `${name}<br>${LEVEL} = ${number(level)}: ${number(values[at])}`),
    hoverinfo: "text",
  };
}

function span(cells) {
  const levels = cells.map((cell) => cell.level);
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const margin = high > low ? 0.06 * (high - low) : 0.2 * high;
  return [Math.max(low - margin, low / 2), high + margin];
}

const steps = ([low, high], count = 60) =>
  Array.from({ length: count + 1 }, (_, at) => low + ((high - low) * at) / count);

// kl(delta, 1 - delta) = (1 - 2 delta) (log(1 - delta) + log(1/delta))
function binaryDivergence(level) {
  const delta = Math.exp(-level);
  return (1 - 2 * delta) * (Math.log1p(-delta) + level);
}

function costChart(cells, scale) {
  const over = scale === "rate" ? (level) => level : () => 1;
  const hover = (cell) => `${heading(cell)}<br>mean cost ${number(cell.cost[0])}${between(cell.cost)}` +
    `<br>lower bound ${number(cell.lower)}, upper bound ${number(cell.upper)}` +
    `<br>over ${LEVEL}: ${number(cell.cost[0] === null ? null : cell.cost[0] / cell.level)}`;
  const levels = steps(span(cells));
  const time = report.models[report.series[cells[0].series].model].time;
  const thetas = [...new Set(cells.map((cell) => cell.theta))];
  const traces = [
    bound(levels, levels.map((l) => (time * binaryDivergence(l)) / over(l)), BOUNDS.lower, "lower bound T* kl(δ, 1 − δ)"),
    ...thetas.map((theta) => bound(levels, levels.map((l) => (theta * time * l) / over(l)), BOUNDS.upper,
      `upper bound θ T* ${LEVEL}, θ = ${number(theta)}`)),
  ];
  for (const [series, own] of groupBy(cells, "series")) {
    traces.push(...curve(own, series, (cell) => cell.cost.map((y) => (has(y) ? y / over(cell.level) : null)), hover));
  }
  const title = scale === "rate" ? `mean cost / ${LEVEL}` : "mean cost";
  return [traces, layout(axis(LEVEL, { range: span(cells) }), axis(title, { rangemode: "tozero" }))];
}

function ratioChart(cells) {
  const traces = [bound(span(cells), [1, 1], BOUNDS.lower, "lower bound")];
  for (const [series, own] of groupBy(cells, "series")) {
    const hover = (cell) => `${heading(cell)}<br>${number(cell.ratio[0])} times the lower bound${between(cell.ratio)}`;
    traces.push(...curve(own, series, (cell) => cell.ratio, hover));
  }
  return [traces, layout(axis(LEVEL, { range: span(cells) }), axis("mean cost / lower bound", { type: "log" }))];
}

// cells of one level stand beside each other, so that their intervals can be told apart
function aside(cells) {
  const series = [...new Set(cells.map((cell) => cell.series))];
  const levels = [...new Set(cells.map((cell) => cell.level))].sort((one, other) => one - other);
  const gaps = levels.slice(1).map((level, at) => level - levels[at]);
  const room = 0.6 * (gaps.length ? Math.min(...gaps) : levels[0]);
  return (cell) => cell.level + (series.length > 1 ? room * (series.indexOf(cell.series) / (series.length - 1) - 0.5) : 0);
}

function errorChart(cells) {
  const seen = cells.filter((cell) => has(cell.error[0]));
  const place = aside(seen.length ? seen : cells);
  const range = span(seen.map((cell) => ({ level: place(cell) })));
  const levels = steps(range);
  const floor = Math.min(...seen.map((cell) => (cell.error[0] > 0 ? cell.error[1] : cell.error[2])), 0.1) / 4;
  const traces = [bound(levels, levels.map((level) => Math.exp(-level)), "solid", "δ")];
  for (const [series, own] of groupBy(seen, "series")) {
    const height = own.map((cell) => (cell.error[0] > 0 ? cell.error[0] : cell.error[2]));
    const ink = colour(series);
    traces.push({
      x: own.map(place), y: height, mode: "markers",
      marker: {
        color: ink, size: 9, line: { color: ink, width: 1.6 },
        symbol: own.map((cell) => symbol(series)[0] + (cell.error[0] > 0 ? "" : "-open")),
      },
      error_y: {
        type: "data", color: ink, thickness: 1.4, width: 4,
        array: own.map((cell, at) => cell.error[2] - height[at]),
        arrayminus: own.map((cell, at) => height[at] - Math.max(cell.error[1], floor / 10)),
      },
      hovertext: own.map((cell) => `${heading(cell)}<br>errors ${number(cell.error[0])}${between(cell.error)}`),
      hoverinfo: "text",
    });
  }
  const y = axis("error rate", { type: "log", range: [Math.log10(floor), 0], dtick: 1, exponentformat: "power" });
  return [traces, layout(axis(`${LEVEL}; δ itself below`, deltaTicks(cells, range)), y)];
}

// ticks at the levels of the cells, as many as fit, each with its delta
function deltaTicks(cells, range) {
  const levels = [...new Set(cells.map((cell) => cell.level))].sort((one, other) => one - other);
  const every = Math.ceil(levels.length / 6);
  const chosen = levels.filter((_, at) => at % every === 0);
  return { range, tickvals: chosen, ticktext: chosen.map((l) => `${number(l, 3)}<br>${number(Math.exp(-l), 2)}`) };
}

function proportionsChart(cells) {
  const model = report.models[report.series[cells[0].series].model];
  const arms = model.arms.map((_, arm) => arm).filter((arm) => model.costly[arm]);
  const look = theme();
  const traces = [{
    type: "bar", x: arms.map((_, at) => at), y: arms.map((arm) => model.sampling[arm]), width: 0.85,
    marker: { color: look.bar, line: { color: look.faint, width: 1 } }, hoverinfo: "text", textposition: "none",
    hovertext: arms.map((arm) => `arm ${plain(model.arms[arm])}<br>u* = ${number(model.sampling[arm])}`),
  }];
  const measured = cells.filter((cell) => cell.proportions);
  measured.sort((one, other) => one.level - other.level || one.series - other.series);
  const shift = (at) => (measured.length > 1 ? 0.7 * (at / (measured.length - 1) - 0.5) : 0);
  for (const [series, own] of groupBy(measured, "series")) {
    const points = own.flatMap((cell) => arms.map((arm, at) => ({ cell, arm, at })));
    traces.push({
      x: points.map(({ cell, at }) => at + shift(measured.indexOf(cell))),
      y: points.map(({ cell, arm }) => cell.proportions[arm]), mode: "markers",
      marker: { color: colour(series), symbol: symbol(series)[0], size: 7 }, hoverinfo: "text",
      hovertext: points.map(({ cell, arm }) => `${heading(cell)}<br>arm ${plain(model.arms[arm])}: ` +
        `${number(cell.proportions[arm])}, u* = ${number(model.sampling[arm])}`),
    });
  }
  const ticks = arms.length > 12 ? {} : {
    tickvals: arms.map((_, at) => at), ticktext: arms.map((arm) => plain(short(model.arms[arm], 14))),
  };
  return [traces, layout(axis("arm", { ...ticks, showgrid: false, zeroline: false }), axis("proportion", { rangemode: "tozero" }))];
}

function stoppingChart(cells) {
  const seen = cells.filter((cell) => cell.rounds);
  const place = aside(seen.length ? seen : cells);
  const traces = [];
  for (const [series, own] of groupBy(seen, "series")) {
    const part = (at) => own.map((cell) => cell.rounds[at]);
    const ink = colour(series);
    traces.push({
      type: "box", x: own.map(place), lowerfence: part(0), q1: part(1), median: part(2), q3: part(3),
      upperfence: part(4), mean: own.map((cell) => cell.samples), boxmean: true, line: { color: ink, width: 1.4 },
      fillcolor: faded(ink, 0.25), hoverinfo: "skip", width: boxWidth(cells),
    });
    traces.push({
      x: own.map(place), y: part(2), mode: "markers", marker: { color: ink, symbol: symbol(series)[0], size: 7 },
      hoverinfo: "text", hovertext: own.map((cell) => `${heading(cell)}<br>median ${number(cell.rounds[2])} rounds, ` +
        `mean ${number(cell.samples)}<br>half in [${number(cell.rounds[1])}, ${number(cell.rounds[3])}], ` +
        `90 % in [${number(cell.rounds[0])}, ${number(cell.rounds[4])}]<br>unfinished: ${cell.unfinished}`),
    });
  }
  return [traces, layout(axis(LEVEL), axis("rounds", { rangemode: "tozero" }))];
}

function boxWidth(cells) {
  const levels = [...new Set(cells.map((cell) => cell.level))].sort((one, other) => one - other);
  const series = new Set(cells.map((cell) => cell.series)).size;
  const gaps = levels.slice(1).map((level, at) => level - levels[at]);
  return (0.5 * (gaps.length ? Math.min(...gaps) : levels[0])) / series;
}
