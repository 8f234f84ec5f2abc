// One evolution: its verdict, every block of its skill, and where the lines of a block came from.

import { get, pageOf } from "./api.js";
import { el } from "./dom.js";
import { changed, count, facts, grouped, interval, money, percent, plural, simulated } from "./figures.js";
import { rendered } from "./markdown.js";

export async function evolutionView(at, frame) {
  const found = await get("evolution", { evolution: at.evolution });
  const { result } = found;
  const name = (result.skill || "").split("/").at(-1) || at.evolution;
  frame.path([{ name: "Runs", to: {} }, { name: at.evolution === "." ? name : at.evolution, to: { evolution: at.evolution } }]);
  const side = el("aside", { id: "lineage", "aria-label": "Where the line came from", tabindex: -1, "aria-live": "polite" });
  const chosen = found.lines.find((one) => holds(one, at.line));
  side.replaceChildren(...(await lineageOf(chosen, found, at)));
  frame.after(() => document.querySelector(".line.chosen")?.scrollIntoView({ block: matchMedia("(max-width: 900px)").matches ? "start" : "center" }));
  return [
    el("h1", {}, name, simulated(result.simulated)),
    frame.copy ? null : el("p", {}, el("a", { href: pageOf("index.html", { evolution: at.evolution }) }, "Graph view")),
    verdict(result),
    el("h2", {}, "The skill, line by line"),
    el("div", { class: "split" }, el("div", { class: "skill" }, ...files(found, at)), side),
    ...leftOut(found),
  ].filter(Boolean);
}

const placeOf = (block) => `${block.file}:${block.first}`;
const numbers = (block) => (block.last > block.first ? `${block.first}–${block.last}` : `${block.first}`);

// An address may name any line of a block.
function holds(block, place = "") {
  const [file, line] = [place.slice(0, place.lastIndexOf(":")), Number(place.slice(place.lastIndexOf(":") + 1))];
  return file === block.file && block.first <= line && line <= block.last;
}

function verdict(result) {
  const gate = result.gate || {};
  return el("div", { class: "summary" },
    changed(gate) ? el("p", { class: "lead" }, changed(gate)) : null,
    el("p", {}, el("strong", { class: `verdict ${(gate.verdict || "").replaceAll(" ", "-")}` }, gate.verdict || "not gated"), gate.reason ? `: ${gate.reason}` : ""),
    facts([
      ["Pass rate", gate.before == null ? null : `${percent(gate.before)} before, ${percent(gate.after)} after, on ${plural(gate.tasks, "task")}${grouped(gate.groups, " in ")}${gate.ci95 ? `; difference ${interval(gate.ci95)}` : ""}`],
      ["Edits", result.edits == null ? null : `${count(result.edits)}, and ${count(result.discarded)} lessons left out`],
      ["Records", result.records == null ? null : `${count(result.records)}, and ${count(result.losses)} that gave none`],
      ["Cost", result.tokens == null ? null : `${plural(result.calls, "call")}, ${count(result.tokens)} tokens, ${money(result.cost_usd)}`],
    ]));
}

function files(found, at) {
  const names = [...new Set(found.lines.map((one) => one.file))];
  if (!names.length) return [el("p", { class: "note" }, "This evolution wrote no skill.")];
  return names.map((file) => el("section", { "aria-label": file }, el("h3", {}, file), el("table", { class: "lines", "aria-label": `Lines of ${file}` }, el("thead", { class: "hidden" }, el("tr", {}, ...["Lines", "Text", "Learned from"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...found.lines.filter((one) => one.file === file).map((one) => lineOf(one, found, at))))));
}

function lineOf(line, found, at) {
  const edit = line.edit == null ? null : found.edits[line.edit];
  const to = `#${new URLSearchParams({ evolution: at.evolution, line: placeOf(line) })}`;
  const chosen = holds(line, at.line);
  const link = edit ? el("a", { class: "open", href: to, "aria-current": chosen ? "true" : null, "aria-label": `Where line ${numbers(line)} comes from: ${plural(edit.support, "task")}` }, plural(edit.support, "task")) : null;
  return el("tr", { class: `line${chosen ? " chosen" : ""}` }, el("td", { class: "no" }, numbers(line)), el("td", {}, line.html ? rendered(line.html) : el("div", { class: "text" }, line.text)), el("td", { class: "origin" }, link));
}

async function lineageOf(line, found, at) {
  if (!line) return [el("h3", {}, "Where a line came from"), el("p", { class: "note" }, "Choose a line that names tasks: the patch that wrote it, the runs it was learned from, and the steps that were quoted stand here.")];
  if (line.edit == null) return [el("h3", {}, placeOf(line)), el("p", { class: "note" }, "This line was in the skill before any patch, or belongs to its frame.")];
  const origin = await get("lineage", { evolution: at.evolution, edit: line.edit });
  return [
    el("h3", {}, placeOf(line)),
    el("h4", {}, `The patch: ${origin.op.replaceAll("_", " ")}${origin.section ? ` “${origin.section}”` : ""}`),
    el("pre", {}, origin.content),
    el("h4", {}, `Learned from ${plural(origin.records.length, "record")} of ${plural(origin.support, "task")}`),
    ...origin.records.map((record) => recordOf(record, at)),
  ];
}

function recordOf(record, at) {
  const home = record.run == null ? { evolution: at.evolution } : { run: record.run };
  const link = (more) => `#${new URLSearchParams({ ...home, item: record.trajectory, from: at.evolution, line: at.line, ...more })}`;
  const proven = { true: "fix proven", false: "fix not proven" }[record.proven];
  const quotes = record.quotes.map((quote) => el("li", {}, el("q", {}, quote.text), " ",
    quote.step == null
      ? el("a", { class: "note", href: link({ quote: quote.text }), title: "It stands so in no single step" }, "look in the run")
      : el("a", { class: "to-step", href: link({ quote: quote.text, step: quote.step }) }, `step ${quote.step}`)));
  return el("article", { class: "record" },
    el("h5", {}, el("a", { href: link({}) }, record.trajectory), el("span", { class: "note" }, [record.kind === "error" ? "from a failure" : record.kind === "success" ? "from a success" : "", proven].filter(Boolean).map((one) => ` · ${one}`).join(""))),
    el("p", {}, record.summary || el("span", { class: "note" }, "No analyst's record was kept.")),
    record.lessons.length ? el("p", { class: "note" }, "Lessons of the analyst") : null,
    record.lessons.length ? el("ul", { class: "lessons" }, ...record.lessons.map((one) => el("li", {}, one))) : null,
    quotes.length ? el("p", { class: "note" }, "What it quotes of the run") : null,
    quotes.length ? el("ul", { class: "quotes" }, ...quotes) : null);
}

function leftOut(found) {
  const conflicts = found.conflicts.map((one) => el("details", {}, el("summary", {}, one.about || "a contradiction"), one.kept ? el("p", {}, `Kept: ${one.kept}`) : null, el("ul", {}, ...(one.withheld || []).map((text) => el("li", {}, text))), el("p", { class: "note" }, (one.sources || []).join(", "))));
  const groups = Map.groupBy(found.discarded, (one) => one.reason);
  const discarded = [...groups].map(([reason, ones]) => el("details", {}, el("summary", {}, `${count(ones.length)} × ${reason}`), el("ul", {}, ...ones.map((one) => el("li", {}, one.content, el("span", { class: "note" }, ` (${(one.sources || []).join(", ")})`))))));
  return [
    el("h2", {}, `Contradictions that were withheld (${conflicts.length})`), ...(conflicts.length ? conflicts : [el("p", { class: "note" }, "None.")]),
    el("h2", {}, `Left out (${found.discarded.length})`), ...(discarded.length ? discarded : [el("p", { class: "note" }, "Nothing.")]),
  ];
}
