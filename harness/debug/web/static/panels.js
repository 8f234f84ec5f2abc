// What stands beside the graph: state, changes, the stop, breakpoints, branches, a start.

import { el } from "./dom.js";
import { valueOf } from "./values.js";

export function statePanel(look, act) {
  const keys = Object.entries(look.values);
  const rows = keys.map(([key, value]) => keyRow(key, value, act));
  const fork = act.fork ? el("div", { class: "row" }, el("button", { on: { click: () => act.fork() } }, "Fork here")) : null;
  const tasks = (look.tasks || []).filter((task) => task.node !== "__start__").map((task) => taskRow(task, look, act));
  return [
    ...(look.last?.changes ? lastOf(look.last) : []),
    el("p", { class: "note" }, look.title),
    fork,
    ...rows,
    rows.length || look.title === "Running …" ? null : el("p", { class: "note" }, "No values yet."),
    tasks.length ? el("h3", {}, "What ran from here") : null,
    ...tasks,
  ];
}

// Values that JSON cannot hold; of others the server says so when they are to be edited.
const CODE_ONLY = new Set(["bytes", "object", "other"]);

function keyRow(key, value, act) {
  const row = el("div", { class: "key-row" });
  const open = (text) => row.append(editor(text, `New value of ${key}`, (json) => act.edit(key, json)));
  const edit = act.edit && !CODE_ONLY.has(value.kind) ? el("button", { "aria-label": `Edit ${key}`, on: { click: () => act.json(key, open) } }, "Edit") : null;
  row.append(el("div", { class: "head" }, el("span", { class: "name" }, key), edit), valueOf(value));
  return row;
}

function taskRow(task, look, act) {
  const writes = (look.writes || []).filter((one) => one.task === task.id);
  const row = el("div", { class: "key-row" });
  // What a function of the functional interface returned is no state.
  const values = writes.some((one) => one.channel === "returned") ? null : Object.fromEntries(writes.map((one) => [one.channel, null]));
  const edit = act.editOutput
    ? el("button", { on: { click: () => row.append(editor(JSON.stringify(values, null, 1), `Output of ${task.where} instead`, (json) => act.editOutput(task, json))) } }, "Edit output")
    : null;
  const again = act.rerun ? el("button", { on: { click: () => act.rerun(task) } }, "Run again") : null;
  row.append(
    el("div", { class: "head" }, el("span", { class: "name" }, task.where), edit, again),
    ...writes.map((one) => el("div", {}, el("span", { class: "key" }, `${one.channel}: `), valueOf(one.value))));
  return row;
}

// What was typed stays when the panel is drawn anew, after a refusal for one.
const drafts = new Map();

function editor(text, label, save, about = "", does = "Save and go on from here") {
  const area = el("textarea", { "aria-label": label, spellcheck: "false" });
  const key = [label, text, about].join("\n");
  area.value = drafts.get(key) ?? text;
  area.addEventListener("input", () => drafts.set(key, area.value));
  const made = el("form", {}, area, el("div", { class: "row" }, el("button", {}, does), el("button", { type: "button", on: { click: () => made.remove() } }, "Cancel")));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    document.activeElement.blur();
    save(area.value);
  });
  queueMicrotask(() => area.focus());
  return made;
}

export function changesPanel(look) {
  if (look.changes === undefined) return [el("p", { class: "note" }, "Choose a step to see what it changed.")];
  if (look.changes === null) return [el("p", { class: "note" }, `${look.title}: it has not finished.`)];
  const rows = changeRows(look.changes);
  return [el("p", { class: "note" }, look.title), ...(rows.length ? rows : [el("p", {}, "Nothing changed.")])];
}

function lastOf(last) {
  const rows = changeRows(last.changes);
  return [el("h3", {}, last.title), ...(rows.length ? rows : [el("p", { class: "note" }, "Nothing.")]), el("h3", {}, "State")];
}

function changeRows(changes) {
  return changes.map((one) => el("div", { class: `key-row ${one.kind}` },
    el("div", { class: "name" }, one.path.join(" › "), el("span", { class: "size" }, ` ${one.kind}`)),
    one.kind === "added" ? null : el("div", { class: "old" }, "− ", valueOf(one.before)),
    one.kind === "removed" ? null : el("div", { class: "new" }, "+ ", valueOf(one.after))));
}

export function stopPanel(session, act) {
  const stop = session.stop;
  if (!stop) return [el("p", { class: "note" }, session.busy ? `Runs: ${session.busy}.` : "Nothing runs. Open “Start”.")];
  return [
    el("p", {}, el("strong", {}, stop.reason), stop.task ? ` at ${stop.task.where}, visit ${stop.task.visit}` : ""),
    ...Object.entries(stop.watches).map(([text, value]) => el("div", {}, el("span", { class: "key" }, `${text} = `), valueOf(value))),
    ...(stop.sent ? [el("h3", {}, "Sent to it"), valueOf(stop.sent)] : []),
    ...(stop.emitted.length ? [el("h3", {}, "Emitted since the last stop"), ...stop.emitted.map((value) => el("div", {}, valueOf(value)))] : []),
    ...(stop.waiting.length > 1 ? [el("h3", {}, "Waiting"), list(stop.waiting.map((task) => task.where))] : []),
    ...(stop.running.length ? [el("h3", {}, "Running meanwhile"), list(stop.running.map((task) => task.where))] : []),
    ...liveOf(stop, act),
    ...failureOf(stop, act),
    ...interruptsOf(stop, act),
    ...serveOf(stop, act),
    ...(stop.ended && stop.reason !== "interrupt" && stop.values.value !== null ? [el("h3", {}, "Result"), valueOf(stop.values)] : []),
  ];
}

function list(texts) {
  return el("ul", {}, ...texts.map((text) => el("li", {}, text)));
}

// Where a run left its recording nothing was called yet: that is for the user to say.
function liveOf(stop, act) {
  if (stop.reason !== "left recording") return [];
  return [el("div", { class: "row" }, el("button", { on: { click: () => act.command("live") } }, "Go on live: ask the model, run the tools"))];
}

function failureOf(stop, act) {
  if (!stop.failure) return [];
  const frames = stop.failure.frames.map((frame) => el("details", { open: frame === stop.failure.frames.at(-1) },
    el("summary", {}, `${frame.function} · ${frame.file}:${frame.line}`),
    el("pre", {}, frame.code),
    el("ul", { class: "tree" }, ...Object.entries(frame.locals).map(([name, text]) => el("li", {}, el("span", { class: "key" }, `${name} = `), text)))));
  const retry = stop.ended ? null : el("div", { class: "row" }, el("button", { on: { click: () => act.command("retry") } }, "Run the node again"));
  return [el("h3", {}, `${stop.failure.type}: ${stop.failure.message}`), retry, ...frames];
}

function interruptsOf(stop, act) {
  const asked = Object.entries(stop.interrupts);
  if (!asked.length) return [];
  return asked.map(([id, value]) => el("div", {}, el("h3", {}, stop.asked_by[id] ? `${stop.asked_by[id]} asks${stop.reason === "model call" ? " its model" : ""}` : "The graph asks"), valueOf(value),
    editor("", "Answer (JSON or text)", (json) => act.answer(asked.length > 1 ? id : null, json), id, "Answer")));
}

function serveOf(stop, act) {
  if (stop.ended || !stop.task || Object.keys(stop.interrupts).length) return [];
  const made = el("div", {});
  made.append(el("div", { class: "row" }, el("button", { on: { click: () => made.append(editor("{}", `What ${stop.task.where} is taken to return`, act.serve)) } }, "Skip the node, give its output")));
  return [made];
}

// What models were sent: one call, or what differs between two.
export function callsPanel(calls, nodes, branches, act) {
  const list = calls?.list || [];
  if (!list.length) return [el("p", { class: "note" }, "No model was called yet, or its client is not known here.")];
  const names = Object.fromEntries(branches.map((one) => [one.thread, one.name]));
  const option = (one, at) => el("option", { value: at }, `${at}: ${nodes[one.task] || names[one.branch] || "?"} · ${one.end.slice(0, 40)}`);
  const select = (label, value, ...more) => {
    const made = el("select", { "aria-label": label }, ...more, ...list.map(option));
    made.value = value;
    return made;
  };
  const first = select("Call", calls.first ?? list.length - 1);
  const second = select("Compared with", calls.second ?? "", el("option", { value: "" }, "nothing: the whole call"));
  const show = el("button", { on: { click: () => act.sent(first.value, second.value) } }, "Show");
  const kinds = { "-": "old", "+": "new", "@": "gap", "!": "cut" };
  const line = (text) => el("span", { class: calls.second ? kinds[text[0]] || null : null }, text.replace(/={9,}/g, "===="));
  const same = calls.lines && !calls.lines.length ? el("p", {}, "Both calls sent the same.") : null;
  return [el("div", { class: "row" }, first, second, show), same, calls.lines?.length ? el("pre", { class: "sent" }, ...calls.lines.map(line)) : null];
}

export function memoryPanel(items) {
  const rows = Object.entries(items || {}).map(([key, value]) => keyRow(key, value, {}));
  return [el("p", { class: "note" }, rows.length ? "Items of the graph's store, by namespace and key." : "The graph's store is empty, or it has none."), ...rows];
}

export function breaksPanel(session, act) {
  const node = el("input", { placeholder: "node, outer/inner or *", "aria-label": "Node" });
  const visit = el("input", { placeholder: "visit", "aria-label": "Visit", inputmode: "numeric" });
  const condition = el("input", { placeholder: "condition, e.g. n > 3", "aria-label": "Condition" });
  const watch = el("input", { placeholder: "expression, e.g. len(messages)", "aria-label": "Watch" });
  const form = el("form", { class: "row" }, node, visit, condition, el("button", {}, "Add breakpoint"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.activeElement.blur();
    act.command("break", { node: node.value, visit: visit.value ? Number(visit.value) : null, condition: condition.value || null });
  });
  const watching = el("form", { class: "row" }, watch, el("button", {}, "Watch"));
  watching.addEventListener("submit", (event) => {
    event.preventDefault();
    document.activeElement.blur();
    act.command("watch", { expression: watch.value });
  });
  const point = (one) => el("li", { class: "row" },
    `${one.number}: ${one.node}${one.visit ? `, visit ${one.visit}` : ""}${one.condition ? `, if ${one.condition}` : ""}`,
    el("button", { "aria-label": `Remove breakpoint ${one.number}`, on: { click: () => act.command("unbreak", { number: one.number }) } }, "Remove"));
  const watched = (text) => el("li", { class: "row" }, text, el("button", { "aria-label": `Remove watch ${text}`, on: { click: () => act.command("unwatch", { expression: text }) } }, "Remove"));
  return [
    el("p", { class: "note" }, "Click a node of the graph, or add one here."),
    form, el("ul", { class: "plain" }, ...session.breakpoints.map(point)),
    el("h3", {}, "Watches"), watching, el("ul", { class: "plain" }, ...session.watches.map(watched)),
  ];
}

export function branchesPanel(session, shown, comparison, act) {
  const select = (label, value) => el("select", { "aria-label": label }, ...session.branches.map((one) => el("option", { value: one.thread, selected: one.thread === value }, one.name)));
  const first = select("First branch", session.branches[0]?.thread);
  const second = select("Second branch", shown);
  const compare = el("div", { class: "row" }, first, second, el("button", { on: { click: () => act.compare(first.value, second.value) } }, "Compare"));
  return [branchTree(session.branches, null, shown, act), el("h3", {}, "Compare"), compare, ...comparisonOf(comparison, act)];
}

function branchTree(branches, parent, shown, act) {
  const known = new Set(branches.map((one) => one.thread));
  const here = branches.filter((one) => (known.has(one.parent) ? one.parent : null) === parent);
  return el("ul", { class: "plain" }, ...here.map((one) => el("li", {},
    el("button", { "aria-current": one.thread === shown ? "true" : null, on: { click: () => act.open(one.thread) } }, one.name),
    el("span", { class: "note" }, ` ${one.kind}${one.left ? `, left its recording at ${one.left}` : ""}`),
    branches.some((other) => other.parent === one.thread) ? branchTree(branches, one.thread, shown, act) : null)));
}

function comparisonOf(comparison, act) {
  if (!comparison) return [];
  if (comparison.parted === null) return [el("p", {}, `Equal in all ${comparison.pairs.length} steps.`)];
  const pair = comparison.pairs[comparison.parted];
  const lead = el("p", {}, el("strong", {}, `They part at step ${pair.step}${pair.names.length ? ` of ${pair.names.join("/")}` : ""}`), ` (${comparison.parted} of ${comparison.pairs.length} steps are equal).`);
  const rows = comparison.pairs.slice(comparison.parted).filter((one) => !one.same).map((one) => el("details", { open: one === pair },
    el("summary", {}, `step ${[...one.names, one.step].join("/")}`, one.first ? null : " · only in the second", one.second ? null : " · only in the first"),
    one.second ? el("button", { on: { click: () => act.show(comparison.second, one.second.id) } }, "Show in second") : null,
    ...changeRows(one.changes)));
  return [lead, ...rows];
}

export function startPanel(session, act) {
  const input = el("textarea", { "aria-label": "Input (JSON)", spellcheck: "false" });
  input.value = session.input || "{}";
  const thread = el("input", { value: "main", "aria-label": "Branch" });
  const form = el("form", {}, el("h3", {}, "Input"), input, el("div", { class: "row" }, thread, el("button", {}, "Start")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.activeElement.blur();
    act.start(input.value, thread.value);
  });
  const unfinished = session.branch ? el("div", { class: "row" }, el("button", { on: { click: () => act.command("resume", { thread: act.shown() }) } }, "Resume the shown branch")) : null;
  return [form, unfinished];
}
