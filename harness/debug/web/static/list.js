// The list of runs and evolutions.

import { get } from "./api.js";
import { el } from "./dom.js";
import { count, day, percent, plural, rate, simulated } from "./figures.js";
import { matrixRow } from "./matrix.js";
import { SIZE, pageCount, pager, sorted, table } from "./paging.js";

export async function listView(at, frame) {
  const { root, rows } = await get("runs");
  frame.path([{ name: `Runs in ${root}`, to: {} }]);
  const search = el("input", { type: "search", value: at.find || "", placeholder: "Search name, suite, model, skill (/)", "aria-label": "Search runs" });
  const shown = el("div", {});
  const makers = rows.filter((row) => row.kind === "evolution");
  const draw = () => {
    const wanted = (at.find || "").toLowerCase();
    const found = rows.filter((row) => textOf(row).includes(wanted));
    const matrices = found.filter((row) => row.kind === "matrix");
    // Runs that an evolution made are folded under it.
    const parts = Map.groupBy(found.filter((row) => row.kind === "eval"), (row) => makerOf(row, makers));
    const runs = sorted(parts.get(null) || [], at.sort, SORTS);
    const evolutions = makers.filter((row) => found.includes(row) || parts.has(row));
    const page = Math.min(Number(at.page) || 1, pageCount(runs.length));
    shown.replaceChildren(...[
      evolutions.length ? el("h2", {}, "Evolutions") : null,
      evolutions.length ? table("Evolutions", ["Evolution", "Gate", { name: "Before → after", number: true }, { name: "Edits", number: true }, { name: "Records", number: true }, { name: "Tokens", number: true }, "Changed"], evolutions.flatMap((row) => [evolutionRow(row), partsRow(row, parts.get(row), wanted)].filter(Boolean))) : null,
      matrices.length ? el("h2", {}, "Matrices") : null,
      matrices.length ? table("Matrices", ["Matrix", "Name", { name: "Cells", number: true }, "Changed"], matrices.map(matrixRow)) : null,
      el("h2", {}, "Eval runs"),
      runs.length ? runTable("Eval runs", runs.slice((page - 1) * SIZE, page * SIZE), { by: at.sort || "", choose: (sort) => frame.change({ sort, page: "" }, draw) }) : el("p", { class: "note" }, rows.length ? "None that the search leaves." : `No runs in ${root} yet. “harness eval” writes some.`),
      pager(runs.length, page, (to) => frame.change({ page: to }, draw)),
    ].filter(Boolean));
  };
  search.addEventListener("input", () => frame.change({ find: search.value, page: "" }, draw));
  draw();
  return [el("h1", {}, "Runs"), el("div", { class: "tools" }, search), shown];
}

// The innermost evolution whose folder holds a run.
function makerOf(run, makers) {
  const around = makers.filter((one) => one.name === "." || run.name.startsWith(`${one.name}/`));
  return around.sort((a, b) => b.name.length - a.name.length)[0] || null;
}

const SORTS = { run: (row) => row.name, rate: (row) => row.report?.score, suite: (row) => row.report?.suite, model: (row) => row.report?.model, skill: (row) => row.report?.skill, samples: (row) => row.report?.items, invalid: (row) => row.report?.invalid, tokens: (row) => row.report?.tokens, changed: (row) => row.changed };

function runTable(label, runs, sorting = null) {
  const head = (name, sort, number = false) => ({ name, sort, number });
  return table(label, [head("Run", "run"), head("Pass rate", "rate"), head("Suite", "suite"), head("Model", "model"), head("Skill", "skill"), head("Samples", "samples", true), head("Invalid", "invalid"), head("Tokens", "tokens", true), head("Changed", "changed")], runs.map(runRow), sorting);
}

function partsRow(evolution, runs, wanted) {
  if (!runs) return null;
  return el("tr", { class: "parts" }, el("td", { colspan: 7 }, el("details", { open: Boolean(wanted) && !textOf(evolution).includes(wanted) },
    el("summary", {}, `${plural(runs.length, "run")} of this evolution`),
    runTable(`Runs of ${nameOf(evolution)}`, runs))));
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
    el("td", {}, rate(report)),
    el("td", {}, report.suite), el("td", {}, report.model),
    el("td", {}, [report.skill || "none", report.skill_mode && `(${report.skill_mode})`].filter(Boolean).join(" ")),
    el("td", { class: "number" }, count(report.items)),
    el("td", {}, report.invalid ? el("span", { class: "outcome invalid" }, plural(report.invalid, "sample")) : "–"),
    el("td", { class: "number" }, count(report.tokens)),
    el("td", { class: "note" }, day(row.changed)));
}
