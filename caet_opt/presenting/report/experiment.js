// The charts of a live experiment: a line per pair or per arm over its outcomes, or over the money spent.

const arms = report.series.map((_, at) => at).filter((at) => at < report.arms);
const pairs = report.series.map((_, at) => at).filter((at) => at >= report.arms);
const against = () => [...checked("against")][0];
const AXES = { outcome: "outcomes", cost: "money spent" };

// of each moment that has a value: where it is, and the value
function points(value) {
  return report.moments.map((moment) => [moment[against()], value(moment)]).filter(([, found]) => has(found));
}

function line(series, found, name, more = {}) {
  return {
    x: found.map(([x]) => x), y: found.map(([, y]) => y), mode: found.length > 1 ? "lines" : "markers",
    line: { color: colour(series), width: 1.8 }, marker: { color: colour(series), symbol: symbol(series)[0], size: 8 },
    hovertext: found.map(([x, y]) => `<b>${plain(report.series[series].note)}</b><br>${AXES[against()]} ${number(x)}<br>${name} ${number(y)}`),
    hoverinfo: "text", ...more,
  };
}

// a mark at the end of each line tells lines apart without colour
function end(series, found) {
  const last = found.slice(-1);
  return { ...line(series, last, ""), mode: "markers", hoverinfo: "skip" };
}

function frame(title, more = {}) {
  const stop = report.stop && report.stop[against()];
  const shapes = !has(stop) ? [] : [{
    type: "line", x0: stop, x1: stop, yref: "paper", y0: 0, y1: 1, line: { color: theme().faint, width: 1.2, dash: "dot" },
  }];
  return layout(axis(AXES[against()], { zeroline: false }), axis(title, more), { shapes });
}

function evidenceChart() {
  const traces = pairs.flatMap((series, at) => {
    const evidence = points((moment) => moment.evidence && moment.evidence[at]);
    const needed = points((moment) => moment.needed && moment.needed[at]);
    const dashed = { line: { color: colour(series), width: 1.4, dash: "dash" } };
    return [line(series, evidence, "evidence"), end(series, evidence), line(series, needed, "must exceed", dashed)];
  });
  return [traces, frame("evidence", { rangemode: "tozero" })];
}

function estimatesChart() {
  const traces = arms.flatMap((series) => {
    const mean = points((moment) => moment.means[series]);
    const low = points((moment) => (has(moment.intervals[series].high) ? moment.intervals[series].low : null));
    const high = points((moment) => (has(moment.intervals[series].low) ? moment.intervals[series].high : null));
    const back = [...high].reverse();
    const band = {
      x: [...low, ...back].map(([x]) => x), y: [...low, ...back].map(([, y]) => y), mode: "lines", line: { width: 0 },
      fill: "toself", fillcolor: faded(colour(series), Math.min(0.22, 0.8 / arms.length)), hoverinfo: "skip",
    };
    return [band, line(series, mean, "mean"), end(series, mean)];
  });
  return [traces, frame("mean", seenRange())];
}

// the first intervals are so wide that the rest would be a line: what is shown is twice as wide as the last ones
function seenRange() {
  const last = report.moments.at(-1);
  const seen = last ? arms.flatMap((arm) => [last.intervals[arm].low, last.intervals[arm].high, last.means[arm]]).filter(has) : [];
  if (seen.length < 2) return {};
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  const margin = 0.5 * (high - low) || 1;
  const bound = report.moments.flatMap(({ means, intervals }) => [...means, ...intervals.flatMap((one) => [one.low, one.high])]).filter(has);
  return { range: [Math.max(low - margin, Math.min(...bound)), Math.min(high + margin, Math.max(...bound))] };
}

function spendingChart() {
  const traces = arms.flatMap((series) => {
    const spent = points((moment) => moment.spent[series]);
    return [line(series, spent, "spent"), end(series, spent)];
  });
  return [traces, frame("spent", { rangemode: "tozero" })];
}

const marks = (shown) => () => shown.map((series) => element("li", {}, key(series), element("span", {}, report.series[series].note)));

for (const [id, make, shown, label] of [
  ["evidence-chart", evidenceChart, pairs, "Evidence of each pair, and what it must exceed"],
  ["estimates-chart", estimatesChart, arms, "Mean of each arm with its confidence sequence"],
  ["spending-chart", spendingChart, arms, "Money spent on each arm"],
]) addChart({ node: byId(id), make, legend: marks(shown), label });

function update() {
  for (const chart of charts) refresh(chart);
}

byId("against").addEventListener("change", update);
followLooks(update);
update();
drawNearby();
