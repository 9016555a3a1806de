"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);

// Figures take ink and paper from the page, so that they follow its light or dark colours.
function dressed(layout) {
  const { color, fontFamily } = getComputedStyle(document.body);
  const paper = getComputedStyle(document.querySelector("section")).backgroundColor;
  const veil = paper.replace("rgb(", "rgba(").replace(")", ", 0.75)");
  return {
    ...layout,
    font: { color, family: fontFamily, size: 12 },
    hoverlabel: { align: "left", font: { family: fontFamily } },
    annotations: (layout.annotations || []).map((text) => ({ ...text, bgcolor: veil })),
  };
}

function draw(element) {
  const { data, layout } = figures[element.id];
  const options = { responsive: true, displayModeBar: false };
  return Plotly.newPlot(element, data, dressed(layout), options);
}

// A phone need not draw what nobody scrolls to.
const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting) {
      watcher.unobserve(target);
      draw(target);
    }
  }
}, { rootMargin: "600px" });

for (const element of document.querySelectorAll(".figure")) watcher.observe(element);

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const element of document.querySelectorAll(".figure.js-plotly-plot")) draw(element);
});

for (const button of document.querySelectorAll("button[data-change]")) {
  button.addEventListener("click", () => {
    const element = document.getElementById(button.dataset.figure);
    const change = JSON.parse(button.dataset.change);
    if (change.visible) Plotly.restyle(element, change);
    else Plotly.relayout(element, change);
    for (const other of button.parentElement.children) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  });
}
