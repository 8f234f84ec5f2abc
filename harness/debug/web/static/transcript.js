// One sample: how it was judged, and what the agent said, called and got, step by step.

import { get, pageOf } from "./api.js";
import { el } from "./dom.js";
import { badge, count, facts, money, plural, seconds } from "./figures.js";
import { mark } from "./marking.js";
import { IMAGE, withImages } from "./markdown.js";
import { plainOf, proseOf } from "./prose.js";
import { armName, filtered, itemLink, runOf } from "./samples.js";
import { valueOf } from "./values.js";

const MANY = 200;
// Characters of Markdown that a page lays out at once; behind them long texts are cut.
const ROOM = 30000;
let room = ROOM;
const SOURCES = { system: "System", user: "User", agent: "Agent" };

export async function itemView(at, frame) {
  const place = at.run ? { run: at.run } : { evolution: at.evolution };
  const found = await get("item", { ...place, item: at.item, ...(at.step && !frame.copy ? { whole: at.step } : {}) });
  const run = at.run ? await runOf(at.run) : null;
  const parent = at.run ? { name: at.run === "." ? run.arms[0].run : at.run, to: back(at) } : { name: at.evolution === "." ? "this evolution" : at.evolution, to: { evolution: at.evolution } };
  frame.path([{ name: "Runs", to: {} }, parent, { name: at.item, to: at }]);
  const steps = found.transcript?.steps || [];
  room = ROOM;
  const shown = steps.map((step) => stepOf(step, at, frame));
  // Of a long transcript only what is in sight is laid out.
  if (shown.length > MANY) for (const card of shown) card.classList.add("many");
  frame.after(() => arrive(at, shown, frame));
  return [
    el("h1", {}, `${at.item} `, found.record ? badge(found.record.outcome) : null),
    at.from ? el("p", {}, el("a", { href: `#${new URLSearchParams({ evolution: at.from, line: at.line || "" })}` }, "← Back to the line of the skill")) : null,
    links(run, at, frame, place),
    found.record ? judged(found.record, found.transcript?.expected) : null,
    el("h2", {}, found.transcript ? `Transcript, ${steps.length} steps` : "Transcript"),
    found.transcript ? null : el("p", { class: "note" }, "This attempt left no transcript."),
    ...shown,
  ].filter(Boolean);
}

const back = (at) => Object.fromEntries(["run", "arm", "outcome", "find", "sort", "page"].filter((name) => at[name]).map((name) => [name, at[name]]));

function links(run, at, frame, place) {
  const made = [];
  if (run) {
    const rows = filtered(run, at);
    const here = rows.findIndex((row) => row.id === at.item);
    const step = (move, name, label) => {
      const row = here < 0 ? null : rows[here + move];
      return el(row ? "a" : "span", row ? { href: itemLink(run, row.id, at), "data-move": name } : { class: "note" }, label);
    };
    made.push(step(-1, "previous", "← Previous"), step(1, "next", "Next →"));
    if (here >= 0) made.push(el("span", { class: "note" }, `${count(here + 1)} of ${count(rows.length)}`));
    const row = run.rows.find((one) => one.id === at.item);
    const others = run.arms.map((arm, number) => (number && row?.cells[number] ? el("a", { href: itemLink(run, at.item, {}, number) }, `${armName(arm.name)} `, badge(row.cells[number][0])) : null)).filter(Boolean);
    if (others.length) made.push(el("span", { class: "others" }, el("span", { class: "note" }, "Other arms: "), ...others));
  }
  if (!frame.copy) made.push(el("a", { href: pageOf("index.html", { ...place, item: at.item }) }, "Graph view"));
  return el("nav", { class: "links", "aria-label": "Samples" }, ...made);
}

function judged(record, expected) {
  const { usage } = record;
  return el("div", { class: "summary" }, facts([
    ["Reason", record.reason], ["Answer", record.answer == null ? null : folded(record.answer)],
    ["Expected", expected ? folded(expected) : null],
    ["Score", String(record.value)], ["Stratum", record.stratum],
    ["Used", `${count(usage.prompt_tokens + usage.completion_tokens)} tokens in ${plural(usage.calls, "call")}, ${money(usage.cost_usd)}, ${seconds(usage.seconds)}`],
    ["Detail", Object.keys(record.detail).length ? el("code", {}, JSON.stringify(record.detail)) : null],
  ]));
}

// A long text is cut and opens as a whole, so that what stands behind it is near.
const LONG = window.innerWidth < 600 ? 600 : 2000;

function folded(text, drawn = withImages) {
  const start = beginning(text);
  const shown = drawn === withImages ? el("span", { class: "text", dir: "auto" }, ...drawn(start)) : el("div", {}, ...drawn(start));
  if (start === text) return shown;
  shown.append(" …");
  const closed = `Show all ${count(text.length)} characters`;
  const more = el("button", { "aria-expanded": "false" }, closed);
  more.addEventListener("click", () => {
    const open = more.getAttribute("aria-expanded") === "true";
    shown.replaceChildren(...drawn(open ? start : text), open ? " …" : "");
    more.setAttribute("aria-expanded", open ? "false" : "true");
    more.textContent = open ? closed : "Show less";
  });
  return el(drawn === withImages ? "span" : "div", {}, shown, " ", more);
}

// The first characters; an image that begins among them is not cut.
function beginning(text) {
  let end = LONG;
  for (const match of text.matchAll(new RegExp(IMAGE, "g"))) if (match.index < end) end += match[0].length;
  return text.slice(0, end);
}

function stepOf(step, at, frame) {
  const chosen = Number(at.step) === step.step;
  const here = `#${new URLSearchParams({ ...at, step: step.step, quote: "" })}`;
  const tokens = step.tokens ? `${count(step.tokens)} tokens` : "";
  const head = el("header", {}, el("a", { href: here, class: "no", "aria-label": `Address of step ${step.step}` }, `${step.step}`), el("h3", {}, SOURCES[step.source] || step.source), el("span", { class: "note" }, [step.model, tokens, step.time].filter(Boolean).join(" · ")));
  const parts = [
    step.reasoning.size ? part("Reasoning", step.reasoning, at, step, frame, "thought") : null,
    step.message.size ? part(null, step.message, at, step, frame, "said") : null,
    ...step.calls.map((call) => callOf(call, at, step, frame)),
    ...step.results.map((result) => part("Result", result, at, step, frame, "result")),
  ];
  return el("article", { class: `step-card ${step.source}${chosen ? " chosen" : ""}`, id: `step-${step.step}`, "data-step": step.step, tabindex: -1, "aria-label": `Step ${step.step}, ${SOURCES[step.source] || step.source}` }, head, ...parts);
}

function part(name, text, at, step, frame, kind) {
  const cut = text.size > text.value.length
    ? el("p", { class: "note" }, `${count(text.size - text.value.length)} characters more. `, frame.copy ? null : el("a", { href: `#${new URLSearchParams({ ...at, step: step.step })}` }, "Show the whole step"))
    : null;
  return el("div", { class: `part ${kind}` }, name ? el("h4", {}, name) : null, el("div", { class: "quoted" }, ...textOf(text.value, kind, at, step)), cut);
}

// A quote is looked for in the text as it was written, and all of it.
function textOf(text, kind, at, step) {
  const searched = at.quote || Number(at.step) === step.step;
  if (kind === "said") {
    if (at.quote) return plainOf(text);
    room -= text.length;
    return room < 0 && !searched ? [folded(text, proseOf)] : proseOf(text);
  }
  return [el("pre", {}, ...(searched ? withImages(text || " ") : [folded(text || " ")]))];
}

function callOf(call, at, step, frame) {
  const given = call.arguments.map(([name, value]) => (value.kind === "text" && value.value.includes("\n")
    ? part(name, value, at, step, frame, "argument")
    : el("div", { class: "argument" }, el("span", { class: "key" }, `${name}: `), el("span", { class: "quoted" }, valueOf(value)))));
  return el("div", { class: "part call" }, el("h4", {}, "Calls ", el("code", {}, call.name)), ...given);
}

// Go to the step of the address and mark its quote.
function arrive(at, shown, frame) {
  if (!at.step && !at.quote) return;
  const steps = at.step ? shown.filter((one) => one.dataset.step === at.step) : shown;
  if (at.step && !steps.length) return frame.tell(new Error(`There is no step ${at.step}.`));
  const found = at.quote ? steps.map((one) => mark(one, at.quote)).find(Boolean) : null;
  if (at.quote && !found) frame.tell(new Error(at.step ? "The quote does not stand in one piece in this step." : "The quote stands in no single step: the analyst put it in its own words."));
  const target = found || (at.step ? steps[0] : null);
  // Once more when the cards above have their real heights.
  const go = () => target?.scrollIntoView({ block: found ? "center" : "start" });
  go();
  requestAnimationFrame(go);
  (found?.closest(".step-card") || target)?.focus({ preventScroll: true });
}
