// The list of runs and evolutions.

import { get } from "./api.js";
import { el } from "./dom.js";
import { count, day, percent, plural, rate, simulated } from "./figures.js";
import { matrixRow } from "./matrix.js";
import { SIZE, pageCount, pager, table } from "./paging.js";

export async function listView(at, frame) {
  const { root, rows } = await get("runs");
  frame.path([{ name: `Runs in ${root}`, to: {} }]);
  const search = el("input", { type: "search", value: at.find || "", placeholder: "Search name, suite, model, skill (/)", "aria-label": "Search runs" });
  const shown = el("div", {});
  const draw = () => {
    const wanted = (at.find || "").toLowerCase();
    const found = rows.filter((row) => textOf(row).includes(wanted));
    const evolutions = found.filter((row) => row.kind === "evolution");
    const runs = found.filter((row) => row.kind === "eval");
    const matrices = found.filter((row) => row.kind === "matrix");
    const page = Math.min(Number(at.page) || 1, pageCount(runs.length));
    shown.replaceChildren(...[
      evolutions.length ? el("h2", {}, "Evolutions") : null,
      evolutions.length ? table("Evolutions", ["Evolution", "Gate", { name: "Before → after", number: true }, { name: "Edits", number: true }, { name: "Records", number: true }, { name: "Tokens", number: true }, "Changed"], evolutions.map(evolutionRow)) : null,
      matrices.length ? el("h2", {}, "Matrices") : null,
      matrices.length ? table("Matrices", ["Matrix", "Name", { name: "Cells", number: true }, "Changed"], matrices.map(matrixRow)) : null,
      el("h2", {}, "Eval runs"),
      runs.length ? table("Eval runs", ["Run", "Suite", "Model", "Skill", "Pass rate", { name: "Samples", number: true }, "Invalid", { name: "Tokens", number: true }, "Changed"], runs.slice((page - 1) * SIZE, page * SIZE).map(runRow)) : el("p", { class: "note" }, rows.length ? "None that the search leaves." : `No runs in ${root} yet. “harness eval” writes some.`),
      pager(runs.length, page, (to) => frame.change({ page: to }, draw)),
    ].filter(Boolean));
  };
  search.addEventListener("input", () => frame.change({ find: search.value, page: "" }, draw));
  draw();
  return [el("h1", {}, "Runs"), el("div", { class: "tools" }, search), shown];
}

function textOf(row) {
  const { suite, model, skill } = row.report || {};
  return [row.name, suite, model, skill, row.result?.gate?.verdict, row.matrix?.title].join(" ").toLowerCase();
}

function linkTo(to, name) {
  return el("a", { class: "open", href: `#${new URLSearchParams(to)}` }, name);
}

function broken(row, columns) {
  return el("tr", {}, el("th", { scope: "row" }, row.name), el("td", { class: "bad", colspan: columns }, row.error));
}

function evolutionRow(row) {
  if (row.error) return broken(row, 6);
  const { gate, edits, records, tokens, simulated: fake } = row.result;
  const change = gate?.before == null ? "–" : `${percent(gate.before)} → ${percent(gate.after)}`;
  return el("tr", {},
    el("th", { scope: "row" }, linkTo({ evolution: row.name }, nameOf(row)), simulated(fake)),
    el("td", { class: `verdict ${(gate?.verdict || "").replaceAll(" ", "-")}` }, gate?.verdict || "–"),
    el("td", { class: "number" }, change),
    el("td", { class: "number" }, count(edits)), el("td", { class: "number" }, count(records)), el("td", { class: "number" }, count(tokens)),
    el("td", { class: "note" }, day(row.changed)));
}

function nameOf(row) {
  const skill = (row.result?.skill || "").split("/").at(-1);
  return row.name === "." ? skill || "this evolution" : skill ? `${row.name} · ${skill}` : row.name;
}

function runRow(row) {
  if (row.error) return broken(row, 8);
  const { report } = row;
  return el("tr", {},
    el("th", { scope: "row" }, linkTo({ run: row.name }, row.name === "." ? report.run : row.name), simulated(report.simulated)),
    el("td", {}, report.suite), el("td", {}, report.model),
    el("td", {}, [report.skill || "none", report.skill_mode && `(${report.skill_mode})`].filter(Boolean).join(" ")),
    el("td", {}, rate(report)),
    el("td", { class: "number" }, count(report.items)),
    el("td", {}, report.invalid ? el("span", { class: "outcome invalid" }, plural(report.invalid, "sample")) : "–"),
    el("td", { class: "number" }, count(report.tokens)),
    el("td", { class: "note" }, day(row.changed)));
}
