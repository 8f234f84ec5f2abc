// The source of a node: shown, changed, and the graph loaded again from there on.

import { get, post } from "./api.js";
import { el } from "./dom.js";

const dialog = document.querySelector("#source");
const area = dialog.querySelector("textarea");
const nodes = dialog.querySelector("select");
const told = dialog.querySelector("[role=alert]");
let shown = null;

export function setUpSource() {
  nodes.addEventListener("change", () => show(nodes.value));
  dialog.querySelector("form").addEventListener("submit", save);
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
}

// Open the editor for one of the graph's nodes.
export async function openSource(graph, node) {
  const known = graph.nodes.filter((one) => one.kind === "node").map((one) => one.where);
  nodes.replaceChildren(...known.map((where) => el("option", { value: where, selected: where === node }, where)));
  dialog.showModal();
  await show(nodes.value);
  area.focus();
}

async function show(node) {
  shown = null;
  told.textContent = "";
  area.value = "";
  try {
    shown = await get("source", { node });
    area.value = shown.text;
    dialog.querySelector("#source-place").textContent = `${shown.file}, line ${shown.line}`;
  } catch (error) {
    dialog.querySelector("#source-place").textContent = "";
    told.textContent = error.message;
  }
}

async function save(event) {
  event.preventDefault();
  if (!shown) return;
  try {
    await post("edit_source", { node: shown.node, digest: shown.digest, text: area.value });
    dialog.close();
  } catch (error) {
    told.textContent = error.message;
  }
}
