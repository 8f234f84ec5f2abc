// The list of steps: only the rows in sight are elements, so thousands are no matter.

import { el } from "./dom.js";
import { sum, usedText } from "./used.js";

const HEIGHT = 24;
const list = document.querySelector("#list");
const spacer = document.querySelector("#spacer");
let rows = [];
let chosen = -1;
let standing = null;
let running = false;
let onChoose = () => {};
let used = {};

export function setUp(choose) {
  onChoose = choose;
  list.addEventListener("scroll", () => requestAnimationFrame(render));
  list.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -rows.length, End: rows.length }[event.key];
    if (!move) return;
    event.preventDefault();
    choose_(Math.min(rows.length - 1, Math.max(0, chosen + move)));
  });
  new ResizeObserver(render).observe(list);
}

// Tokens and cost by task id.
export function showUsed(tasks) {
  used = tasks;
  render();
}

export function showSteps(steps, search, stop, busy) {
  running = Boolean(busy);
  standing = stop && !stop.ended ? stop.task : null;
  const kept = rows[chosen]?.checkpoint;
  const words = search.trim().toLowerCase();
  rows = steps.filter((step) => !words || textOf(step).includes(words));
  chosen = rows.findIndex((step) => step.checkpoint === kept);
  spacer.style.height = `${rows.length * HEIGHT}px`;
  render();
}

export function chooseStep(checkpoint, quiet = false) {
  const at = rows.findIndex((step) => step.checkpoint === checkpoint);
  if (at >= 0) return choose_(at, quiet);
  chosen = -1; // a branch that was forked has steps of the same address
  render();
}

export function showLast() {
  list.scrollTop = rows.length * HEIGHT;
  render();
}

function choose_(at, quiet = false) {
  chosen = at;
  const top = at * HEIGHT;
  if (top < list.scrollTop || top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
  render();
  if (rows[at] && !quiet) onChoose(rows[at]);
}

function render() {
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 5);
  const last = Math.min(rows.length, first + Math.ceil(list.clientHeight / HEIGHT) + 10);
  spacer.replaceChildren(...rows.slice(first, last).map((step, at) => rowOf(step, first + at)));
  list.setAttribute("aria-activedescendant", chosen >= 0 ? `step-${chosen}` : "");
}

function rowOf(step, at) {
  const here = standing && standing.checkpoint === step.checkpoint && standing.ns === step.ns;
  const ran = step.tasks.filter((task) => !here || task.id !== standing.id).map((task) => `${task.where}${task.failed ? " ✗" : task.asks ? " ?" : ""}`);
  const nodes = [...ran, ...(here ? [`▶ ${standing.where}`] : [])].join(", ") || (running && step.on ? "▶ …" : step.names.length ? `end of ${step.names.join("/")}` : "end");
  const keys = [...new Set(step.tasks.flatMap((task) => task.keys))].join(" ");
  const time = step.seconds == null ? "" : step.seconds < 1 ? `${Math.round(step.seconds * 1000)} ms` : `${step.seconds.toFixed(1)} s`;
  const spent = step.tasks.map((task) => used[task.id]).filter(Boolean);
  const row = el("div", { class: `step${step.on ? "" : " off"}`, role: "option", id: `step-${at}`, "aria-selected": at === chosen ? "true" : "false", "aria-setsize": rows.length, "aria-posinset": at + 1, "data-checkpoint": step.checkpoint, on: { click: () => choose_(at) } },
    el("span", { class: "no" }, `${step.names.length ? "· ".repeat(step.names.length) : ""}${step.step}`),
    el("span", { class: `nodes${step.tasks.some((task) => task.failed) ? " failed" : ""}` }, nodes),
    el("span", { class: "keys" }, keys),
    spent.length ? el("span", { class: "time" }, usedText(sum(spent))) : null,
    el("span", { class: "time" }, time));
  row.style.top = `${at * HEIGHT}px`;
  return row;
}

function textOf(step) {
  return [step.checkpoint, ...step.tasks.flatMap((task) => [task.where, ...task.keys])].join(" ").toLowerCase();
}
