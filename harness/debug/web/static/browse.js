// Runs, matrices, samples, transcripts and evolutions: the address says what is shown.

import { get, pageOf } from "./api.js";
import { el } from "./dom.js";
import { evolutionView } from "./lineage.js";
import { listView } from "./list.js";
import { matrixView } from "./matrix.js";
import { runView } from "./samples.js";
import { itemView } from "./transcript.js";

const $ = (selector) => document.querySelector(selector);
const place = ({ run, item, evolution, matrix }) => JSON.stringify([run, item, evolution, matrix]);
let shown = null;
let turn = 0;
let about = {};

const address = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function tell(error) {
  $("#toast").textContent = error.message;
}

// Draw anew; what had the focus keeps it, though it stands there as another element.
function redraw(draw) {
  const held = document.activeElement;
  const marks = ["data-page", "data-outcome", "data-sort", "href"].filter((mark) => held.hasAttribute(mark));
  const same = marks.map((mark) => `[${mark}="${CSS.escape(held.getAttribute(mark))}"]`).join("");
  draw();
  if (same && !held.isConnected) $(`#view ${same}`)?.focus();
}

function frameFor(at) {
  const later = [];
  return {
    copy: about.copy,
    tell,
    later,
    after: (work) => later.push(work),
    still: (other) => shown === place(other),
    path: (parts) => {
      $("#path").replaceChildren(...parts.map((part, number) => el("li", {}, number === parts.length - 1 ? el("span", { "aria-current": "page" }, part.name) : el("a", { href: `#${new URLSearchParams(part.to)}` }, part.name))));
      document.title = `${parts.at(-1).name} · harness view`;
    },
    redraw,
    // Change filters in the address and draw anew.
    change: (values, draw) => {
      Object.assign(at, values);
      for (const [name, value] of Object.entries(values)) if (value === "") delete at[name];
      history.replaceState(null, "", `${location.pathname}${location.search}#${new URLSearchParams(at)}`);
      redraw(draw);
    },
  };
}

async function show() {
  const at = address();
  const mine = (turn += 1);
  const before = shown;
  const frame = frameFor(at);
  const view = at.item ? itemView : at.run ? runView : at.evolution ? evolutionView : at.matrix ? matrixView : listView;
  $("#toast").textContent = "";
  try {
    shown = place(at);
    const made = await view(at, frame);
    if (mine !== turn) return;
    $("#view").replaceChildren(...made);
    if (before !== shown) arrived(before);
    for (const work of frame.later) work();
  } catch (error) {
    tell(error);
  }
  document.body.dataset.ready = "true";
}

// A new place begins at its top; one who listens hears its heading.
function arrived(before) {
  $("#view").scrollTop = 0;
  const heading = $("#view h1");
  if (!heading) return;
  heading.tabIndex = -1;
  if (before) heading.focus({ preventScroll: true });
}

function move(step) {
  const cards = [...document.querySelectorAll(".step-card")];
  const stops = cards.length ? cards : [...document.querySelectorAll("a.open")];
  const now = stops.indexOf(document.activeElement.closest?.(".step-card, a.open"));
  const next = stops[now < 0 ? (step > 0 ? 0 : stops.length - 1) : now + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => $("#view input[type=search]")?.focus(),
  "?": () => $("#help").showModal(),
  j: () => move(1),
  k: () => move(-1),
  n: () => $("[data-move=next]")?.click(),
  p: () => $("[data-move=previous]")?.click(),
  "]": () => $("[data-page=next]")?.click(),
  "[": () => $("[data-page=previous]")?.click(),
  u: () => [...document.querySelectorAll("#path a")].at(-1)?.click(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("#help").open) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const work = KEYS[event.key];
  if (!work) return;
  event.preventDefault();
  work();
}

async function begin() {
  try {
    about = await get("about");
  } catch (error) {
    tell(error);
  }
  if (about.debugger) {
    $("#debugger").href = pageOf("index.html");
    $("#debugger").hidden = false;
  }
  if (about.at && !location.hash) history.replaceState(null, "", `#${about.at}`);
  await show();
}

window.addEventListener("hashchange", show);
document.addEventListener("keydown", onKey);
$("#keys").addEventListener("click", () => $("#help").showModal());
begin();
