// Which cells are shown, the charts and tables that follow, and the files that can be saved.

const KINDS = { ratio: ratioChart, cost: costChart, errors: errorChart, proportions: proportionsChart, stopping: stoppingChart };

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
  if (byId("ratio-chart")) {
    const label = `Mean cost as a multiple of the lower bound against ${LEVEL}, a curve per model and setting`;
    addChart({ node: byId("ratio-chart"), make: withScale(ratioChart), label, legend, model: null });
  }
  for (const panels of document.querySelectorAll(".panels")) {
    report.models.forEach((model, at) => {
      const node = element("div", { class: "chart" });
      const caption = element("figcaption", {}, model.label, element("span", { class: "detail" }, model.detail));
      panels.append(element("figure", {}, caption, node, element("ul", { class: "legend" })));
      const label = `${panels.dataset.panel} of ${model.label}`;
      addChart({ node, make: withScale(KINDS[panels.dataset.panel]), label, legend, model: at });
    });
  }
}

const withScale = (make) => (chart) => make(chart.cells, [...checked("scale")][0]);

// the marks of the series; those of a single model differ in their settings, if at all
function legend({ cells, model }) {
  const shown = [...new Set(cells.filter((cell) => cell.runs > 0).map((cell) => cell.series))];
  const words = (series) => report.series[series][model === null ? "label" : "note"];
  return shown.filter(words).map((series) => element("li", {}, key(series), element("span", {}, words(series))));
}

function update() {
  const cells = shownCells();
  const rows = new Set(cells.map((cell) => cell.id));
  const models = new Set(cells.map((cell) => report.series[cell.series].model));
  for (const chart of charts) {
    chart.cells = chart.model === null ? cells : cells.filter((c) => report.series[c.series].model === chart.model);
    chart.frame.hidden = chart.cells.length === 0;
    refresh(chart);
  }
  for (const row of document.querySelectorAll("[data-cell]")) row.hidden = !rows.has(row.dataset.cell);
  for (const part of document.querySelectorAll("[data-model]")) part.hidden = !models.has(Number(part.dataset.model));
  for (const item of byId("filter").querySelectorAll("li[data-search]")) item.hidden = !matches(item);
  for (const spot of document.querySelectorAll("[data-look]")) {
    spot.replaceChildren(keyOf(spot.dataset.look, Number(spot.dataset.number)));
  }
  byId("shown").textContent = `${models.size} of ${report.models.length}`;
}

function matches(item) {
  return byId("search").value.toLowerCase().split(/\s+/).every((word) => item.dataset.search.includes(word));
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
  followLooks(update);
}

if (window.innerWidth < 1024) byId("filter").open = false;
makeCharts();
listen();
update();
drawNearby();
