// The page: what is shown, what is asked of the server, which keys do what.

import { get, home, pageOf, post } from "./api.js";
import { el } from "./dom.js";
import { drawGraph, markGraph, setUpGraph } from "./graph.js";
import { branchesPanel, breaksPanel, callsPanel, changesPanel, memoryPanel, startPanel, statePanel, stopPanel } from "./panels.js";
import { openSource, setUpSource } from "./source.js";
import { chooseStep, setUp, showLast, showSteps, showUsed } from "./steps.js";
import { usedByNode } from "./used.js";

const $ = (selector) => document.querySelector(selector);
const page = { session: null, graph: null, steps: [], visits: {}, taken: [], branch: null, checkpoint: null, tab: "state", look: null, comparison: null, used: {}, last: null, asked: false, calls: null };

async function attempt(work) {
  try {
    $("#toast").textContent = "";
    return await work();
  } catch (error) {
    $("#toast").textContent = error.message;
  }
}

function parsed(text, what) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${error.message}`);
  }
}

// An answer that is no JSON and does not try to be is text.
function spoken(text) {
  return /^\s*([[{"\d-]|(true|false|null)\s*$)/.test(text) ? parsed(text, "the answer") : text;
}

const command = (name, args) => attempt(() => post(name, args));

function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  page.branch = wanted.get("branch");
  page.checkpoint = wanted.get("checkpoint");
  page.tab = wanted.get("tab") || "state";
}

function writeAddress() {
  const parts = new URLSearchParams();
  for (const name of ["branch", "checkpoint", "tab"]) if (page[name]) parts.set(name, page[name]);
  history.replaceState(null, "", `${location.pathname}${location.search}#${parts}`);
}

// What waits for the user, as a text that tells one from the next; "" for nothing.
function wanting(session) {
  const stop = session?.busy ? null : session?.stop;
  if (!stop || !(stop.failure || asksSomebody(stop))) return "";
  return [session.branch, stop.task?.id, stop.failure?.message, ...Object.keys(stop.interrupts)].join(" ");
}

const asksSomebody = (stop) => Object.keys(stop.interrupts).length > 0;

async function refresh() {
  const before = page.session;
  page.session = await get("session");
  if (!page.graph || page.session.reloaded !== before?.reloaded) {
    page.graph = await get("graph");
    drawGraph(page.graph, { toggle });
  }
  const known = page.session.branches.map((one) => one.thread);
  const moved = before && before.branch !== page.session.branch;
  if (!known.includes(page.branch) || moved) {
    page.branch = page.session.branch || known.at(-1) || null;
    page.checkpoint = null;
  }
  if (before && !page.session.busy) page.checkpoint = before.busy ? null : page.checkpoint;
  if (page.session.error && page.session.error !== before?.error) {
    const { type, message } = page.session.error;
    $("#toast").textContent = type ? `${type}: ${message}` : message;
  }
  // A question and an exception want their box; a run that moves on wants its last step in sight.
  const asks = wanting(page.session);
  if (asks && asks !== wanting(before)) page.tab = "stop";
  else if (!asks && page.asked && !page.session.busy && page.tab === "stop") page.tab = "state";
  if (!page.session.busy) page.asked = Boolean(asks);
  await loadBranch();
  if (before && !page.checkpoint) showLast();
}

async function loadBranch() {
  if (page.branch) {
    const found = await get("timeline", { branch: page.branch });
    page.steps = found.steps;
    page.visits = found.visits;
    page.taken = found.taken;
  }
  showSteps(page.steps, $("#search").value, page.session.stop, page.session.busy);
  chooseStep(page.checkpoint, true);
  await loadState();
  if (document.body.dataset.ready) await loadLast();
  await loadMemory();
  render();
  if (page.branch) loadUsage(page.branch).catch(() => {});
}

// Behind the first view: it reads what the steps wrote.
async function loadUsage(branch) {
  const tasks = await get("usage", { branch });
  if (branch !== page.branch) return;
  page.used = usedByNode(page.steps, tasks);
  showUsed(tasks);
  mark();
}

async function loadMemory() {
  if (page.tab === "memory") page.memory = await get("memory").catch(() => ({}));
  if (page.tab === "calls") page.calls = { ...page.calls, list: await get("calls").catch(() => []) };
}

async function loadState() {
  page.look = null;
  if (!page.branch || !page.checkpoint) return;
  const step = page.steps.find((one) => one.checkpoint === page.checkpoint);
  if (!step) {
    page.checkpoint = null;
    return;
  }
  const found = await get("state", { branch: page.branch, ns: step.ns, checkpoint: step.checkpoint });
  page.look = { ...found, tasks: step.tasks, title: titleOf(step) };
}

// What the last finished step changed, for who steps along and chooses none.
async function loadLast() {
  const done = page.steps.filter((step) => step.on && step.seconds != null && step.tasks.some((task) => task.node !== "__start__"));
  const step = page.branch && !page.session.busy ? done.at(-1) : null;
  if (!step || page.look) return;
  if (page.last?.checkpoint === step.checkpoint && page.last.branch === page.branch) return;
  const found = await get("state", { branch: page.branch, ns: step.ns, checkpoint: step.checkpoint });
  const nodes = step.tasks.map((task) => task.where).join(", ");
  page.last = { ...found, branch: page.branch, title: `Changed by ${nodes}` };
}

function titleOf(step) {
  const nodes = step.tasks.map((task) => task.where).join(", ");
  return nodes ? `${page.tab === "changes" ? "By" : "Before"} ${nodes}` : `After step ${step.step}${step.names.length ? ` of ${step.names.join("/")}` : ""}`;
}

function render() {
  const { session } = page;
  $("#title").textContent = session.title;
  document.title = `${session.title} · harness debug`;
  $("#branch").replaceChildren(...session.branches.map((one) => el("option", { value: one.thread, selected: one.thread === page.branch }, one.name)));
  document.body.classList.toggle("looking", session.read_only);
  renderControls();
  renderWhere();
  mark();
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.dataset.tab === page.tab;
    tab.setAttribute("aria-selected", on ? "true" : "false");
    tab.tabIndex = on ? 0 : -1;
  }
  $("#panel").setAttribute("aria-labelledby", `tab-${page.tab}`);
  // What is being typed is not taken away by news of the run.
  if (!$("#panel").contains(document.activeElement?.closest("textarea, input"))) $("#panel").replaceChildren(...panel().filter(Boolean));
  writeAddress();
}

function mark() {
  const chosen = new Set((here()?.tasks || []).map((task) => task.where));
  markGraph({ session: page.session, visits: page.visits, taken: page.taken, chosen, used: page.used });
}

function panel() {
  const { session } = page;
  const atStep = page.look !== null;
  if (page.look) page.look.title = titleOf(here());
  if (page.tab === "changes") return changesPanel(page.look || lastChange() || {});
  if (page.tab === "stop") return stopPanel(session, acts);
  if (page.tab === "breaks") return breaksPanel(session, acts);
  if (page.tab === "branches") return branchesPanel(session, page.branch, page.comparison, acts);
  if (page.tab === "calls") return callsPanel(page.calls, nodesOfTasks(), session.branches, acts);
  if (page.tab === "memory") return memoryPanel(page.memory);
  if (page.tab === "start") return startPanel(session, acts);
  if (atStep) return statePanel(page.look, session.read_only ? {} : { json: acts.json, edit: acts.editThere, fork: acts.forkThere, editOutput: acts.editOutput, rerun: acts.rerun });
  const standing = session.stop && !session.stop.ended;
  const place = standing && asksSomebody(session.stop) ? "in" : "in front of";
  const title = session.busy ? "Running …" : standing ? `Now, ${place} ${session.stop.task.where}` : "Latest state";
  return statePanel({ values: session.state, title, last: lastChange() }, { json: acts.json, edit: standing ? acts.editHere : null });
}

const nodesOfTasks = () => Object.fromEntries([...page.steps.flatMap((step) => step.tasks), ...(page.session.stop?.task ? [page.session.stop.task] : [])].map((task) => [task.id, task.where]));

const lastChange = () => (page.session.busy || page.last?.branch !== page.branch ? null : page.last);

function renderControls() {
  const { session } = page;
  const standing = Boolean(session.stop && !session.stop.ended && !session.busy && !asksSomebody(session.stop));
  const resumable = Boolean(session.stop && ["failed", "suspended"].includes(session.stop.reason) && !session.busy);
  const able = { continue: standing || resumable, step: standing || resumable, pause: Boolean(session.busy), replay: Boolean(session.branch) && !session.busy, reload: session.can_reload && !session.busy, rewind: Boolean(session.branch) && !session.busy };
  $("#edit-source").disabled = !session.can_edit || Boolean(session.busy);
  for (const button of document.querySelectorAll("[data-command]")) button.disabled = session.read_only || !(able[button.dataset.command] ?? standing);
}

function renderWhere() {
  const { session } = page;
  const stop = session.stop;
  const made = [];
  if (session.busy) made.push("Running …");
  else if (!stop) made.push("Nothing has run yet: open “Start”.");
  else {
    const bad = ["exception", "failed"].includes(stop.reason);
    made.push(el(bad ? "span" : "strong", { class: bad ? "bad" : null }, stop.reason));
    if (stop.task && !stop.ended) made.push(stop.failure || asksSomebody(stop) ? " in " : " in front of ", el("strong", {}, stop.task.where), `, step ${stop.task.step}, visit ${stop.task.visit}`);
    if (stop.asked.length) made.push(`: ${stop.asked.join(", ")} asks`);
    if (stop.held.length) made.push(` (held in memory, not stored: ${stop.held.join(", ")})`);
    if (stop.failure) made.push(`: ${stop.failure.type}: ${stop.failure.message}`);
  }
  $("#where").replaceChildren(...made);
  $("#notes").textContent = session.notes.join(" · ");
}

function toggle(where) {
  if (page.session.read_only) return null;
  const known = page.session.breakpoints.find((one) => one.node === where && !one.condition && !one.visit);
  return known ? command("unbreak", { number: known.number }) : command("break", { node: where });
}

const here = () => page.steps.find((one) => one.checkpoint === page.checkpoint);

const acts = {
  command,
  shown: () => page.branch,
  open: (thread) => attempt(async () => {
    page.branch = thread;
    page.checkpoint = null;
    await loadBranch();
  }),
  show: (thread, checkpoint) => attempt(async () => {
    page.branch = thread;
    page.checkpoint = checkpoint;
    page.tab = "changes";
    await loadBranch();
  }),
  start: (input, thread) => attempt(async () => {
    await post("start", { input: parsed(input, "the input"), thread });
    page.tab = "state";
  }),
  answer: (id, text) => attempt(() => post("answer", { value: id ? { [id]: spoken(text) } : spoken(text) })),
  serve: (text) => attempt(() => post("serve", { values: parsed(text, "the output") })),
  json: (key, open) => attempt(async () => open(await get("value", { key, ...(page.checkpoint ? { branch: page.branch, ns: here().ns, checkpoint: page.checkpoint } : {}) }))),
  editHere: (key, text) => attempt(() => post("edit", { values: { [key]: parsed(text, key) } })),
  editThere: (key, text) => attempt(() => post("fork", { of: page.branch, ns: here().ns, checkpoint: page.checkpoint, values: { [key]: parsed(text, key) } })),
  forkThere: () => command("fork", { of: page.branch, ns: here().ns, checkpoint: page.checkpoint }),
  rerun: (task) => command("fork", { of: page.branch, ns: here().ns, checkpoint: page.checkpoint, task: task.id }),
  editOutput: (task, text) => attempt(() => post("edit_output", { of: page.branch, ns: here().ns, checkpoint: page.checkpoint, task: task.id, values: parsed(text, "the output") })),
  compare: (first, second) => attempt(async () => {
    page.comparison = { ...(await get("compare", { a: first, b: second })), first, second };
    render();
  }),
  sent: (first, second) => attempt(async () => {
    page.calls = { ...page.calls, first, second, lines: await get("sent", second ? { first, second } : { first }) };
    render();
  }),
};

// The focused node, else where the run stands, else what ran at the chosen step.
function editedNode() {
  const focused = document.activeElement?.closest?.(".node")?.dataset.where;
  return focused || page.session.stop?.task?.where || here()?.tasks[0]?.where;
}

function showTab(tab) {
  page.tab = tab;
  if (document.activeElement?.matches("textarea, input")) document.activeElement.blur();
  render();
  return attempt(async () => {
    await loadMemory();
    render();
  });
}

function onKey(event) {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const known = { c: "continue", s: "step", i: "into", o: "out", p: "pause", u: "rewind", r: "reload" }[event.key];
  const button = known && document.querySelector(`[data-command=${known}]`);
  if (button && !button.disabled) button.click();
  else if (event.key === "e") $("#edit-source").click();
  else if (event.key === "/") $("#search").focus();
  else if (event.key === "?") $("#help").showModal();
  else return;
  event.preventDefault();
}

function onTabKey(event) {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!move) return;
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const next = tabs[(tabs.indexOf(event.target) + move + tabs.length) % tabs.length];
  showTab(next.dataset.tab);
  next.focus();
}

async function follow() {
  let heard = 0;
  for (;;) {
    try {
      const { version, streamed, running } = await get("news", { version: page.session.version, heard });
      if (version !== page.session.version) await refresh();
      else {
        page.session.running = running;
        mark();
        await new Promise((done) => setTimeout(done, 80)); // tokens come one by one
      }
      heard = streamed.length;
      $("#streamed").textContent = page.session.busy ? streamed : "";
      $("#streamed").scrollTop = $("#streamed").scrollHeight;
    } catch (error) {
      $("#toast").textContent = `The debugger does not answer: ${error.message}`;
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

readAddress();
$("#runs").href = pageOf("runs.html", {}, home);
setUpSource();
setUpGraph();
$("#edit-source").addEventListener("click", () => attempt(() => openSource(page.graph, editedNode())));
setUp((step) => attempt(async () => {
  page.checkpoint = step.checkpoint;
  if (!["state", "changes"].includes(page.tab)) page.tab = "state";
  await loadState();
  render();
}));
for (const button of document.querySelectorAll("[data-command]")) button.addEventListener("click", () => command(button.dataset.command, button.dataset.command === "replay" ? { of: page.branch } : {}));
for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => showTab(tab.dataset.tab));
$("#tabs").addEventListener("keydown", onTabKey);
$("#branch").addEventListener("change", (event) => acts.open(event.target.value));
$("#search").addEventListener("input", () => showSteps(page.steps, $("#search").value, page.session.stop, page.session.busy));
window.addEventListener("hashchange", () => attempt(async () => {
  readAddress();
  await loadBranch();
}));
document.addEventListener("keydown", onKey);
attempt(refresh).then(() => {
  document.body.dataset.ready = "true";
  loadLast().then(render).catch(() => {}); // behind the first view: it reads two states
  if (page.session) follow();
});
