// Charts of a page: drawn when they come near the window, drawn again for print and for the other colours; files to save.

const byId = (id) => document.getElementById(id);
const checked = (name) => new Set([...document.querySelectorAll(`input[name="${name}"]:checked`)].map((box) => box.value));
const PRINTED = { wide: 670, panel: 325 };
const charts = [];

// a chart has the node that it is drawn in, make(chart) for traces and layout, legend(chart) for the marks below it, and
// a label in words
function addChart(chart) {
  chart.node.setAttribute("role", "img");
  chart.node.setAttribute("aria-label", `${chart.label}. The table of numbers has the same values.`);
  chart.frame = chart.node.closest("figure");
  charts.push(chart);
}

function draw(chart) {
  const [traces, look] = chart.make(chart);
  if (printing) Object.assign(look, { width: PRINTED[chart.frame.classList.contains("wide") ? "wide" : "panel"] });
  plot(chart.node, traces, look);
  chart.stale = false;
  chart.frame.querySelector(".legend").replaceChildren(...chart.legend(chart));
}

// at once where it can be seen, or when it comes near
function refresh(chart) {
  chart.stale = true;
  if (!chart.frame.hidden && (chart.near || printing)) draw(chart);
}

// so that a page of many charts opens at once
function drawNearby() {
  const nearby = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const chart = charts.find(({ node }) => node === target);
      chart.near = isIntersecting;
      if (chart.near && chart.stale) draw(chart);
    }
  }, { rootMargin: "600px" });
  for (const { node } of charts) nearby.observe(node);
}

// update() when the colours or the width change, before printing and after it
function followLooks(update) {
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    update();
  });
  darkScreen.addEventListener("change", update);
  window.addEventListener("beforeprint", () => { printing = true; update(); });
  window.addEventListener("afterprint", () => { printing = false; update(); });
}

function save(name, lines) {
  const link = element("a", { href: URL.createObjectURL(new Blob([lines.join("")], { type: "text/csv" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
