// What each chart draws: functions from cells to the traces and the layout of `plot`.

const LEVEL = "log(1/δ)";
const FONT = "system-ui, sans-serif";

const has = (value) => value !== null && value !== undefined;
const groupBy = (cells, property) => {
  const groups = new Map();
  for (const cell of cells) groups.set(cell[property], [...(groups.get(cell[property]) ?? []), cell]);
  return groups;
};
const heading = (cell) => {
  const series = report.series[cell.series];
  const note = series.note ? `<br>${plain(series.note)}` : "";
  return `<b>${plain(short(report.models[series.model].label, 60))}</b>${note}<br>${cell.typed}, ${cell.runs} runs`;
};

function axis(title, more = {}) {
  return { title: { text: title }, ...more };
}

function layout(x, y, more = {}) {
  return { paper_bgcolor: theme().ground, xaxis: x, yaxis: y, ...more };
}

// the mean of each cell of one series with its confidence band, fainter the more series there are
function curve(cells, series, value, hover, count) {
  const points = cells.filter((cell) => has(value(cell)[0]));
  const banded = points.filter((cell) => has(value(cell)[1]));
  const ink = colour(series);
  const back = [...banded].reverse();
  const traces = [];
  if (banded.length > 1) {
    traces.push({
      x: [...banded, ...back].map((cell) => cell.level),
      y: [...banded.map((cell) => value(cell)[1]), ...back.map((cell) => value(cell)[2])],
      mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faded(ink, Math.min(0.25, 1.5 / count)),
      hoverinfo: "skip",
    });
  }
  const single = points.filter((cell) => banded.length === 1 && cell === banded[0]);  // too few for a band
  const ends = (end) => points.map((cell) => (single.includes(cell) ? Math.abs(value(cell)[end] - value(cell)[0]) : 0));
  traces.push({
    x: points.map((cell) => cell.level), y: points.map((cell) => value(cell)[0]), mode: "lines+markers",
    line: { color: ink, width: 1.8, dash: dash(series) }, marker: { color: ink, symbol: symbol(series)[0], size: 8 },
    error_y: { array: ends(2), arrayminus: ends(1), color: ink, thickness: 1.2, width: 3 },
    hovertext: points.map(hover), hoverinfo: "text",
  });
  return traces;
}

// what theory says, in grey: a line, or the region below it, where no algorithm can be
function bound(levels, values, name, below = false) {
  return {
    x: levels, y: values, mode: "lines", line: { color: theme().faint, width: below ? 1 : 1.6 },
    ...(below ? { fill: "tozeroy", fillcolor: faded(theme().faint, 0.16) } : {}),
    hovertext: levels.map((level, at) => `${name}<br>${LEVEL} = ${number(level)}: ${rounded(values[at], !below)}`),
    hoverinfo: "text",
  };
}

// short bars in the colour of a series
function predictions(cells, series, over) {
  const told = cells.filter((cell) => has(cell.predicted));
  return {
    x: told.map((cell) => cell.level), y: told.map((cell) => cell.predicted / over(cell.level)), mode: "markers",
    marker: { color: colour(series), symbol: "line-ew", size: 12 }, hoverinfo: "text",
    hovertext: told.map((cell) => `${heading(cell)}<br>predicted cost T* β(τ): ${number(cell.predicted)}`),
  };
}

function span(cells) {
  const levels = cells.map((cell) => cell.level);
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const margin = high > low ? 0.06 * (high - low) : 0.2 * high;
  return [Math.max(low - margin, 0.8 * low), high + margin];
}

// 1, 2 and 5 of every decade, written out
const decimals = Array.from({ length: 60 }, (_, at) => [1, 2, 5][at % 3] * 10 ** (Math.floor(at / 3) - 6));
const decades = { tickvals: decimals, ticktext: decimals.map((tick) => number(tick, 2)) };

// the axis of the levels, logarithmic if told so, or where they span decades
function levelAxis(cells, logarithmic) {
  const [low, high] = span(cells);
  if (logarithmic ?? high > 20 * low) {
    return axis(LEVEL, { type: "log", range: [low, high].map(Math.log10), ...decades });
  }
  return axis(LEVEL, { range: [1.25 * low - 0.04 * high, high] });
}

// levels by a constant factor, close enough for a smooth curve on either kind of axis
const steps = ([low, high], count = 60) =>
  Array.from({ length: count + 1 }, (_, at) => low * (high / low) ** (at / count));

// kl(delta, 1 - delta) = (1 - 2 delta) (log(1 - delta) + log(1/delta))
function binaryDivergence(level) {
  const delta = Math.exp(-level);
  return (1 - 2 * delta) * (Math.log1p(-delta) + level);
}

function costChart(cells, scale) {
  const over = scale === "rate" ? (level) => level : () => 1;
  const hover = (cell) => `${heading(cell)}<br>mean cost ${number(cell.cost[0])}${between(cell.texts.cost)}` +
    `<br>${has(cell.lower) ? `lower bound ${cell.texts.lower}` : "no lower bound at this δ"}` +
    `${has(cell.upper) ? `, upper bound as δ → 0 ${cell.texts.upper}` : ""}` +
    `, predicted ${number(cell.predicted)}` +
    `<br>over ${LEVEL}: ${number(cell.cost[0] === null ? null : cell.cost[0] / cell.level)}`;
  const levels = steps(span(cells));
  const { time, lower } = report.models[report.series[cells[0].series].model];
  const thetas = [...new Set(cells.filter((cell) => has(cell.upper)).map((cell) => cell.theta))];
  const traces = [
    ...(has(lower) ? [bound(levels, levels.map((l) => (lower * binaryDivergence(l)) / over(l)),
      "lower bound T* kl(δ, 1 − δ)", true)] : []),
    ...thetas.map((theta) => bound(levels, levels.map((l) => (theta * time * l) / over(l)),
      `upper bound as δ → 0, θ T* ${LEVEL}, θ = ${number(theta)}`)),
  ];
  const groups = groupBy(cells, "series");
  for (const [series, own] of groups) {
    const scaled = (cell) => cell.cost.map((y) => (has(y) ? y / over(cell.level) : null));
    traces.push(predictions(own, series, over), ...curve(own, series, scaled, hover, groups.size));
  }
  const title = scale === "rate" ? `mean cost / ${LEVEL}` : "mean cost";
  const x = levelAxis(cells, { cost: false, log: true }[scale]);
  return [traces, layout(x, axis(title, scale === "log" ? { type: "log", ...decades } : { rangemode: "tozero" }))];
}

function ratioChart(cells) {
  const traces = [bound(span(cells), [1, 1], "lower bound", true)];
  const groups = groupBy(cells, "series");
  for (const [series, own] of groups) {
    const hover = (cell) => `${heading(cell)}<br>${number(cell.ratio[0])} times the lower bound${between(cell.texts.ratio)}`;
    traces.push(...curve(own, series, (cell) => cell.ratio, hover, groups.size));
  }
  const ratios = cells.map((cell) => cell.ratio[0]).filter((ratio) => ratio > 0);
  const wide = Math.max(1, ...ratios) > 8 * Math.min(1, ...ratios);
  return [traces, layout(levelAxis(cells), axis("cost / lower bound", wide ? { type: "log", ...decades } : { rangemode: "tozero" }))];
}

// levels at equal distances, and the cells of a level beside each other, so that none hides another
function slots(cells) {
  const series = [...new Set(cells.map((cell) => cell.series))];
  const levels = [...new Set(cells.map((cell) => cell.level))].sort((one, other) => one - other);
  const step = Math.min(0.3, 0.7 / series.length);
  const shift = (at) => step * (at - (series.length - 1) / 2);
  const every = Math.ceil(levels.length / 7);
  const ticks = levels.map((_, at) => at).filter((at) => at % every === 0);
  const typed = cells.every((cell) => cell.typed.startsWith("δ = "));
  const typedOf = (level) => cells.find((cell) => cell.level === level).typed.slice("δ = ".length);
  return {
    step, levels, range: [-0.6, levels.length - 0.4], ticks, title: typed ? "δ" : LEVEL,
    labels: ticks.map((at) => (typed ? typedOf(levels[at]) : number(levels[at], 3))),
    place: (cell) => levels.indexOf(cell.level) + shift(series.indexOf(cell.series)),
  };
}

function errorChart(cells) {
  const seen = cells.filter((cell) => has(cell.error[0]));
  const { place, levels, range, ticks, labels, title } = slots(cells);
  const floor = Math.min(...seen.map((cell) => (cell.error[0] > 0 ? cell.error[1] : cell.error[2])), 0.1) / 4;
  const traces = [{
    ...bound(levels, levels.map((level) => Math.exp(-level)), "δ"), x: levels.map((_, at) => at),
    hovertext: levels.map((level) => cells.find((cell) => cell.level === level).typed),
    mode: levels.length > 1 ? "lines" : "markers", marker: { symbol: "line-ew", size: 40, color: theme().faint },
  }];
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
        type: "data", color: ink, thickness: 1.4, width: 0, array: own.map((cell, at) => cell.error[2] - height[at]),
        arrayminus: own.map((cell, at) => height[at] - Math.max(cell.error[1], floor / 10)),
      },
      hovertext: own.map((cell) => `${heading(cell)}<br>errors ${number(cell.error[0])}${between(cell.texts.error)}`),
      hoverinfo: "text",
    });
  }
  const x = axis(title, { range, tickvals: ticks, ticktext: labels });
  const y = { type: "log", range: [Math.log10(floor), 0.15] };
  return [traces, layout(x, axis("error rate", y))];
}

// of a costly arm its share of the pulls of costly arms, beside u*; of a free arm its share of all pulls
function proportionsChart(cells) {
  const model = report.models[report.series[cells[0].series].model];
  const look = theme();
  const costly = model.arms.map((_, arm) => arm).filter((arm) => model.costly[arm]);
  const traces = [{
    type: "bar", x: costly, y: costly.map((arm) => model.sampling[arm]), width: 0.85,
    marker: { color: look.bar, line: { color: look.faint, width: 1 } },
    hovertext: costly.map((arm) => `arm ${plain(model.arms[arm])}<br>u* = ${number(model.sampling[arm], 4)}`),
  }];
  const measured = cells.filter((cell) => cell.proportions);
  measured.sort((one, other) => one.level - other.level || one.series - other.series);
  const shift = (at) => (measured.length > 1 ? 0.7 * (at / (measured.length - 1) - 0.5) : 0);
  const share = (cell, arm) => (model.costly[arm] ? cell.proportions[arm] : cell.pulls[arm]);
  const told = (cell, arm) => (model.costly[arm] ? `${number(share(cell, arm), 4)}, u* = ${number(model.sampling[arm], 4)}`
    : `${number(share(cell, arm), 4)} of all pulls, free of cost`);
  for (const [series, own] of groupBy(measured, "series")) {
    const points = own.flatMap((cell) => model.arms.map((_, arm) => ({ cell, arm })));
    traces.push({
      x: points.map(({ cell, arm }) => arm + shift(measured.indexOf(cell))),
      y: points.map(({ cell, arm }) => share(cell, arm)), mode: "markers",
      marker: {
        color: colour(series), size: 7,
        symbol: points.map(({ arm }) => symbol(series)[0] + (model.costly[arm] ? "" : "-open")),
      },
      hoverinfo: "text", hovertext: points.map(({ cell, arm }) => `${heading(cell)}<br>arm ${plain(model.arms[arm])}: ${told(cell, arm)}`),
    });
  }
  const name = (arm) => plain(short(model.arms[arm], 12)) + (model.costly[arm] ? "" : "<br>free");
  const every = Math.ceil(model.arms.length / 12);
  const shown = model.arms.map((_, arm) => arm).filter((arm) => arm % every === 0);
  const x = axis("arm", { range: [-0.6, model.arms.length - 0.4], showgrid: false, tickvals: shown, ticktext: shown.map(name) });
  return [traces, layout(x, axis("share of the pulls", { rangemode: "tozero" }))];
}

function stoppingChart(cells) {
  const { place, step, range, ticks, labels, title } = slots(cells);
  const traces = [];
  for (const [series, own] of groupBy(cells.filter((cell) => cell.rounds), "series")) {
    const part = (at) => own.map((cell) => cell.rounds[at]);
    const ink = colour(series);
    traces.push({
      type: "box", x: own.map(place), lowerfence: part(0), q1: part(1), median: part(2), q3: part(3),
      upperfence: part(4), mean: own.map((cell) => cell.samples), line: { color: ink, width: 1.4 },
      fillcolor: faded(ink, 0.25), hoverinfo: "skip", width: 0.85 * step,
    });
    traces.push({
      x: own.map(place), y: part(2), mode: "markers", marker: { color: ink, symbol: symbol(series)[0], size: 7 },
      hoverinfo: "text", hovertext: own.map((cell) => `${heading(cell)}<br>median ${number(cell.rounds[2])} rounds, ` +
        `mean ${number(cell.samples)}<br>half in [${number(cell.rounds[1])}, ${number(cell.rounds[3])}], ` +
        `90 % in [${number(cell.rounds[0])}, ${number(cell.rounds[4])}]<br>unfinished: ${cell.unfinished}`),
    });
  }
  const x = axis(title, { range, tickvals: ticks, ticktext: labels });
  return [traces, layout(x, axis("rounds", { rangemode: "tozero" }))];
}
