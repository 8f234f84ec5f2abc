// A matrix of eval runs: every cell with its interval and its paired difference, and what it costs.

import { get } from "./api.js";
import { el } from "./dom.js";
import { count, interval, percent, plural, rate, seconds, simulated } from "./figures.js";
import { table } from "./paging.js";

const AXES = ["suite", "model", "skill", "context"];
const points = (share) => `${share > 0 ? "+" : share < 0 ? "−" : ""}${(100 * Math.abs(share)).toFixed(1)}`;

export async function matrixView(at, frame) {
  const matrix = await get("matrix", { matrix: at.matrix });
  frame.path([{ name: "Runs", to: {} }, { name: matrix.name, to: { matrix: at.matrix } }]);
  const axes = AXES.filter((axis) => new Set(matrix.cells.map((one) => one.cell[axis])).size > 1);
  const shown = axes.length ? axes : ["model"];
  const same = AXES.filter((axis) => !shown.includes(axis)).map((axis) => `${axis} ${matrix.cells[0].cell[axis]}`);
  const heads = [...shown.map((axis) => axis[0].toUpperCase() + axis.slice(1)), "Pass rate", { name: "95 % interval", number: true }, { name: "Invalid", number: true }, { name: "Against base, points", number: true }, { name: "95 % interval", number: true }, { name: "p (Holm)", number: true }, { name: `${matrix.unit} per attempt`, number: true }, { name: "Time", number: true }];
  const suites = new Map(matrix.cells.filter((one) => one.report?.groups).map((one) => [one.cell.suite, one.report.groups]));
  const fake = matrix.cells.some((one) => one.report?.simulated);
  return [
    el("h1", {}, matrix.name, simulated(fake)),
    el("p", { class: "note" }, [`${plural(matrix.cells.length, "cell")}`, ...same].join(" · ")),
    ...matrix.plots.map(([suite, image]) => el("figure", { class: "plot" }, el("img", { src: image, alt: `Pass rate against ${matrix.unit} per attempt, ${suite}; the table has the figures.` }), el("figcaption", { class: "note" }, "Bars: 95 % intervals. Filled and joined: the Pareto front, no cell is as cheap and better."))),
    table("Cells", heads, matrix.cells.map((one) => row(one, shown))),
    el("p", { class: "note" }, `Differences are paired by task, against the base cell of the same suite. Intervals are for one comparison each; p-values are corrected for ${plural(matrix.comparisons, "comparison")} (Holm).${[...suites].map(([suite, groups]) => ` ${suite}: intervals are by group, ${plural(groups, "group")}.`).join("")}`),
  ];
}

function row(one, axes) {
  const { report, versus_base: paired } = one;
  const names = axes.map((axis, number) => number === 0 && report
    ? el("th", { scope: "row" }, el("a", { class: "open", href: `#${new URLSearchParams({ run: one.run })}`, "aria-label": axes.map((name) => one.cell[name]).join(", ") }, one.cell[axis]))
    : number === 0 ? el("th", { scope: "row" }, one.cell[axis]) : el("td", {}, one.cell[axis]));
  if (!report) return el("tr", {}, ...names, el("td", { class: "note", colspan: 8 }, "not run yet"));
  const cell = (text) => el("td", { class: "number" }, text);
  const range = (pair) => (pair ? `${points(pair[0])} to ${points(pair[1])}` : "");
  return el("tr", {}, ...names,
    el("td", {}, rate(report)), cell(interval(report.ci95)),
    cell(report.invalid ? el("span", { class: "outcome invalid" }, count(report.invalid)) : "–"),
    cell(one.base ? el("span", { class: "note" }, "base") : paired?.difference == null ? "–" : points(paired.difference)),
    cell(range(paired?.ci95)), cell(one.p_holm == null ? "" : one.p_holm < 0.001 ? "< 0.001" : one.p_holm.toFixed(3)),
    cell(one.cost == null ? "unknown" : el("span", {}, one.front ? el("span", { class: "pass", title: "On the Pareto front" }, "◆ ") : null, Number(one.cost.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }))),
    cell(seconds(one.seconds)));
}

export function matrixRow(one) {
  if (one.error) return el("tr", {}, el("th", { scope: "row" }, one.name), el("td", { class: "bad", colspan: 3 }, one.error));
  const { title, cells, begun } = one.matrix;
  return el("tr", {},
    el("th", { scope: "row" }, el("a", { class: "open", href: `#${new URLSearchParams({ matrix: one.name })}` }, one.name === "." ? title : one.name)),
    el("td", {}, title), el("td", { class: "number" }, begun < cells ? `${begun} of ${cells}` : count(cells)), el("td", { class: "note" }, new Date(one.changed * 1000).toISOString().slice(0, 16).replace("T", " ")));
}
