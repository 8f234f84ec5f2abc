// One eval run: its figures beside its arms', and the grid of its samples behind filters.

import { get } from "./api.js";
import { el } from "./dom.js";
import { OUTCOMES, badge, count, facts, grouped, interval, money, percent, rate, seconds, sentence, simulated } from "./figures.js";
import { SIZE, pageCount, pager, sorted, table } from "./paging.js";

const known = new Map();

// Report, arms and rows of a run; asked once. Texts of tasks come behind them, and tell when.
export async function runOf(name) {
  if (!known.has(name)) known.set(name, loaded(name).catch((error) => { known.delete(name); throw error; }));
  return known.get(name);
}

async function loaded(name) {
  const found = { ...(await get("run", { run: name })), rows: [], texts: {}, most: 0 };
  for (let from = 0; from != null;) {
    const part = await get("samples", { run: name, from });
    found.rows.push(...part.rows);
    from = part.next;
  }
  found.asked = get("tasks", { run: name }).then((tasks) => Object.assign(found, tasks));
  return found;
}

// Rows that the filters of an address leave, in its order.
export function filtered(run, at) {
  const cell = (row, column) => (row.cells[Number(at.arm) || 0] || row.cells.find(Boolean))[column];
  return sorted(left(run, at), at.sort, {
    sample: (row) => row.id,
    task: (row) => run.texts[row.id],
    outcome: (row) => cell(row, 0),
    reason: (row) => cell(row, 2) || null,
    tokens: (row) => cell(row, 3),
    time: (row) => cell(row, 4),
  });
}

function left(run, at) {
  const arm = at.arm === "any" ? null : Number(at.arm) || 0;
  const wanted = (at.find || "").toLowerCase();
  return run.rows.filter((row) => {
    const cells = (arm === null ? row.cells : [row.cells[arm]]).filter(Boolean);
    if (!cells.length) return false;
    if (at.outcome === "differ") {
      if (new Set(row.cells.filter(Boolean).map(([outcome]) => outcome)).size < 2) return false;
    } else if (at.outcome && !cells.some(([outcome]) => outcome === at.outcome)) return false;
    return !wanted || [row.id, run.texts[row.id], ...cells.map((cell) => cell[2])].join("\n").toLowerCase().includes(wanted);
  });
}

export const armName = (name) => name.split("/").at(-1);

export async function runView(at, frame) {
  const run = await runOf(at.run);
  const [mine] = run.arms;
  frame.path([{ name: "Runs", to: {} }, { name: at.run === "." ? mine.run : at.run, to: { run: at.run } }]);
  const search = el("input", { type: "search", value: at.find || "", placeholder: "Search task, id, reason (/)", "aria-label": "Search samples" });
  const shown = el("div", {});
  const buttons = el("div", { class: "choice", role: "group", "aria-label": "Outcome" });
  const arms = armChoice(run, at);
  const glance = el("div", {});
  const draw = () => {
    const rows = filtered(run, at);
    const page = Math.min(Number(at.page) || 1, pageCount(rows.length));
    buttons.replaceChildren(...outcomeButtons(run, at, (outcome) => frame.change({ outcome, page: "" }, draw)));
    shown.replaceChildren(...[
      el("p", { class: "note", role: "status" }, `${count(rows.length)} of ${count(run.rows.length)} samples`),
      grid(run, rows.slice((page - 1) * SIZE, page * SIZE), at, (sort) => frame.change({ sort, page: "" }, draw)),
      pager(rows.length, page, (to) => frame.change({ page: to }, draw)),
    ].filter(Boolean));
  };
  search.addEventListener("input", () => frame.change({ find: search.value, page: "" }, draw));
  arms?.addEventListener("change", () => frame.change({ arm: arms.value, page: "" }, draw));
  draw();
  run.asked.then(() => frame.still(at) && frame.redraw(draw)).then(() => atAGlance(run)).then((parts) => glance.replaceChildren(...parts)).catch(frame.tell);
  const tools = el("div", { class: "tools" }, buttons, arms && el("label", {}, "Arm ", arms), search);
  return [el("h1", {}, at.run === "." ? mine.run : armName(at.run), simulated(mine.simulated)), summary(run), armTable(run), glance, el("h2", {}, "Samples"), tools, shown].filter(Boolean);
}

function summary(run) {
  const [mine] = run.arms;
  return el("div", { class: "summary" },
    el("p", { class: "lead" }, sentence(mine)),
    facts([
      ["95 % interval", mine.ci95 ? `${interval(mine.ci95)}${grouped(mine.groups, " by group, ")}` : "no valid attempt"],
      ["Attempts", el("span", { class: "outcomes" }, ...["pass", "fail", "invalid"].map((one) => el("span", { class: `outcome ${one}` }, `${count(mine[OUTCOMES[one]])} ${OUTCOMES[one]} `)))],
      ["Suite", `${mine.suite}${run.lock.split ? `, split ${run.lock.split}` : ""}`],
      ["Model", mine.model], ["Agent", run.lock.agent], ["Skill", mine.skill || "none"],
      ["Tokens", `${count(mine.tokens)}, ${money(mine.cost_usd)}`], ["Time of all attempts, added up", seconds(mine.seconds)],
    ], "wide"));
}

// The failures to read first; of this run, not of its arms.
async function atAGlance(run) {
  const read = await Promise.all(instructive(run).map(async ({ id }) => ({ id, ...await get("item", { run: run.name, item: id }) })));
  return read.length ? [el("h2", {}, "Failures to read first"), el("p", { class: "note" }, "One of every reason and wrong answer, the frequent ones first."), failures(run, read)] : [];
}

// One failure of every reason and wrong answer, the frequent ones first, then others: ten at most.
function instructive(run) {
  const failed = run.rows.filter(({ cells: [mine] }) => mine && mine[0] === "fail");
  const kinds = [...Map.groupBy(failed, ({ cells: [mine] }) => JSON.stringify([mine[2].replace(/\d+/g, "#"), mine[5]])).values()].sort((a, b) => b.length - a.length);
  return [...kinds.map(([first]) => first), ...kinds.flatMap(([, ...others]) => others)].slice(0, 10);
}

function failures(run, read) {
  const cell = (text, name) => el("td", { class: `clamp ${name}` }, text);
  return table("Failures to read first", ["Sample", "Task", "Expected", "Got", "Reason"], read.map(({ id, record, transcript }) => el("tr", {},
    el("th", { scope: "row" }, el("a", { href: itemLink(run, id, { outcome: "fail" }) }, id)),
    cell(distinct(run, read, id), "ask"), cell(transcript?.expected || "", "answer"), cell((record.answer || "no answer").slice(0, 300), "answer"), cell(record.reason.slice(0, 300), "why"))));
}

// A task without the beginning that all shown tasks share.
function distinct(run, read, id) {
  const texts = read.map((one) => run.texts[one.id] || "");
  const [first] = texts;
  const differs = new Set(texts).size > 1 ? [...first].findIndex((sign, place) => texts.some((text) => text[place] !== sign)) : 0;
  const alike = differs < 0 ? first.length : differs;
  const text = run.texts[id] || "";
  return (alike > 20 ? `…${text.slice(alike)}` : text).slice(0, 300);
}

function armTable(run) {
  if (run.arms.length < 2) return null;
  const rows = run.arms.map((arm, at) => el("tr", {},
    el("th", { scope: "row" }, at ? el("a", { href: `#${new URLSearchParams({ run: arm.name })}` }, armName(arm.name)) : el("strong", {}, `${armName(arm.name)} (this run)`)),
    el("td", {}, arm.skill || "none"), el("td", {}, arm.model), el("td", {}, rate(arm)), el("td", {}, interval(arm.ci95)),
    el("td", { class: "number" }, count(arm.invalid)), el("td", { class: "number" }, count(arm.tokens))));
  return el("details", { class: "arms", open: run.arms.length < 9 }, el("summary", {}, `${run.arms.length} arms: runs of the same tasks in the same folder`),
    table("Arms", ["Arm", "Skill", "Model", "Pass rate", "95 % interval", { name: "Invalid", number: true }, { name: "Tokens", number: true }], rows));
}

function armChoice(run, at) {
  if (run.arms.length < 2) return null;
  const options = run.arms.map((arm, number) => el("option", { value: number, selected: String(number) === (at.arm || "0") }, armName(arm.name)));
  return el("select", { "aria-label": "Arm" }, ...options, el("option", { value: "any", selected: at.arm === "any" }, "any arm"));
}

function outcomeButtons(run, at, choose) {
  const choices = [["", "All"], ["pass", "Passed"], ["fail", "Failed"], ["invalid", "Invalid"], ...(run.arms.length > 1 ? [["differ", "Arms differ"]] : [])];
  return choices.map(([outcome, label]) => el("button", { "data-outcome": outcome || "all", "aria-pressed": (at.outcome || "") === outcome ? "true" : "false", on: { click: () => choose(outcome) } },
    `${label} `, el("span", { class: "note" }, count(left(run, { arm: at.arm, outcome }).length))));
}

// What leads to a sample, with the filters that it was found by.
export function itemLink(run, id, at, arm = 0) {
  const kept = Object.fromEntries(["arm", "outcome", "find", "sort", "page"].filter((name) => at[name]).map((name) => [name, at[name]]));
  return `#${new URLSearchParams(arm ? { run: run.arms[arm].name, item: id } : { run: run.name, item: id, ...kept })}`;
}

function grid(run, rows, at, choose) {
  if (!rows.length) return el("p", {}, "No sample is left by these filters.");
  const arm = at.arm === "any" ? 0 : Number(at.arm) || 0;
  const heads = [{ name: "Sample", sort: "sample" }, { name: "Task", sort: "task" }, ...run.arms.map((one, number) => ({ name: run.arms.length > 1 ? armName(one.name) : "Outcome", arm: true, sort: number === arm ? "outcome" : null })), { name: "Reason", sort: "reason" }, { name: "Tokens", number: true, sort: "tokens" }, { name: "Time", number: true, sort: "time" }];
  return table("Samples", heads, rows.map((row) => {
    const [, , reason, tokens, time] = row.cells[arm] || row.cells.find(Boolean);
    const link = (cell, number) => el("td", {}, cell ? el("a", { class: "cell", href: itemLink(run, row.id, at, number), "aria-label": `${row.id}, ${armName(run.arms[number].name)}: ${OUTCOMES[cell[0]]}` }, badge(cell[0], run.arms.length > 2)) : "");
    return el("tr", {},
      el("th", { scope: "row" }, el("a", { class: "open", href: itemLink(run, row.id, at, row.cells[arm] ? arm : row.cells.findIndex(Boolean)) }, row.id)),
      el("td", { class: "task" }, run.texts[row.id] || ""),
      ...row.cells.map(link),
      el("td", { class: "reason" }, reason),
      el("td", { class: "number" }, count(tokens)), el("td", { class: "number" }, seconds(time)));
  }), { by: at.sort || "", choose });
}
