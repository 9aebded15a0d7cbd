// Which cells are shown, the charts and tables that follow, and the files that can be saved.

const byId = (id) => document.getElementById(id);
const checked = (name) => new Set([...document.querySelectorAll(`input[name="${name}"]:checked`)].map((box) => box.value));
const KINDS = { cost: costChart, proportions: proportionsChart, stopping: stoppingChart };
const PRINTED = { wide: 670, panel: 325 };
const charts = [];

function shownModels() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = checked("model");
  return new Set(report.models.map((_, at) => at).filter((at) => {
    const text = report.models[at].search;
    return chosen.has(String(at)) && words.every((word) => text.includes(word));
  }));
}

function shownCells() {
  const models = shownModels();
  const settings = report.parameters.map(({ name }) => [name, checked(`parameter-${name}`)]);
  return report.cells.filter((cell) => {
    const series = report.series[cell.series];
    return models.has(series.model) && settings.every(([name, values]) => series.settings[name] === report.missing || values.has(series.settings[name]));
  });
}

function makeCharts() {
  for (const [id, make, label] of [
    ["ratio-chart", ratioChart, `Mean cost as a multiple of the lower bound against ${LEVEL}, a curve per model and setting`],
    ["error-chart", errorChart, `Error rate against ${LEVEL}, a marker with its interval per cell`],
  ]) charts.push({ node: byId(id), make, label, model: null });
  for (const panels of document.querySelectorAll(".panels")) {
    report.models.forEach((model, at) => {
      const node = element("div", { class: "chart" });
      const caption = element("figcaption", {}, model.label, element("span", { class: "detail" }, model.detail));
      panels.append(element("figure", {}, caption, node, element("ul", { class: "legend" })));
      const label = `${panels.dataset.panel} of ${model.label}`;
      charts.push({ node, make: KINDS[panels.dataset.panel], label, model: at });
    });
  }
  for (const chart of charts) {
    chart.node.setAttribute("role", "img");
    chart.node.setAttribute("aria-label", `${chart.label}. The table of numbers has the same values.`);
    chart.frame = chart.node.closest("figure");
  }
}

function draw(chart) {
  const scale = [...checked("scale")][0];
  const [traces, look] = chart.make(chart.cells, scale);
  if (printing) Object.assign(look, { width: chart.model === null ? PRINTED.wide : PRINTED.panel });
  Plotly.react(chart.node, traces, look, { displayModeBar: false, responsive: true, scrollZoom: false });
  chart.stale = false;
  chart.frame.querySelector(".legend").replaceChildren(...legend(chart));
}

// the marks of the series; those of a single model differ in their settings, if at all
function legend({ cells, model }) {
  const shown = [...new Set(cells.filter((cell) => cell.runs > 0).map((cell) => cell.series))];
  const words = (series) => report.series[series][model === null ? "label" : "note"];
  return shown.filter(words).map((series) => element("li", {}, key(series), element("span", {}, words(series))));
}

// charts are drawn when they come near the window, so that a page of many models opens at once
const nearby = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const chart = charts.find(({ node }) => node === target);
    chart.near = isIntersecting;
    if (chart.near && chart.stale) draw(chart);
  }
}, { rootMargin: "600px" });

function update() {
  const cells = shownCells();
  const rows = new Set(cells.map((cell) => cell.id));
  const models = new Set(cells.map((cell) => report.series[cell.series].model));
  for (const chart of charts) {
    chart.cells = chart.model === null ? cells : cells.filter((c) => report.series[c.series].model === chart.model);
    chart.frame.hidden = chart.cells.length === 0;
    chart.stale = true;
    if (!chart.frame.hidden && (chart.near || printing)) draw(chart);
  }
  for (const row of document.querySelectorAll("[data-cell]")) row.hidden = !rows.has(row.dataset.cell);
  for (const part of document.querySelectorAll("[data-model]")) part.hidden = !models.has(Number(part.dataset.model));
  for (const item of byId("filter").querySelectorAll("li[data-search]")) item.hidden = !matches(item);
  for (const spot of document.querySelectorAll("[data-keys]")) {
    const own = report.series.map((series, at) => at).filter((at) => report.series[at].model === Number(spot.dataset.keys));
    spot.replaceChildren(...own.slice(0, 3).map((series) => key(series)));
  }
  byId("shown").textContent = `${models.size} of ${report.models.length}`;
}

function matches(item) {
  return byId("search").value.toLowerCase().split(/\s+/).every((word) => item.dataset.search.includes(word));
}

function save(name, lines) {
  const link = element("a", { href: URL.createObjectURL(new Blob([lines.join("")], { type: "text/csv" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function listen() {
  byId("filter").addEventListener("input", update);
  byId("scale").addEventListener("change", update);
  for (const [id, state] of [["all", true], ["none", false]]) {
    byId(id).addEventListener("click", () => {
      for (const box of document.querySelectorAll('input[name="model"]')) box.checked = state;
      update();
    });
  }
  byId("download-cells").addEventListener("click", () =>
    save("cells.csv", [report.files.cells, ...shownCells().map((cell) => cell.csv)]));
  byId("download-models").addEventListener("click", () => {
    const models = new Set(shownCells().map((cell) => report.series[cell.series].model));
    save("models.csv", [report.files.models, ...[...models].map((at) => report.models[at].csv)]);
  });
  darkScreen.addEventListener("change", update);
  window.addEventListener("beforeprint", () => { printing = true; update(); });
  window.addEventListener("afterprint", () => { printing = false; update(); });
}

if (window.innerWidth < 1024) byId("filter").open = false;
makeCharts();
listen();
update();
for (const { node } of charts) nearby.observe(node);
