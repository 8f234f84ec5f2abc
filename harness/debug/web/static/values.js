// Values as trees that open; texts, messages and tables are readable.

import { get } from "./api.js";
import { el } from "./dom.js";
import { pictureOf, withImages } from "./markdown.js";
import { proseOf } from "./prose.js";

const ITEMS = 50;
const WORKBOOK = /^[^\n]{1,300}\.xlsx$/i;

export function valueOf(tree, open = 1) {
  const shown = { text: textOf, number: numberOf, map: entriesOf, object: entriesOf, list: listOf, message: messageOf, bytes: bytesOf, image: imageOf, cells: cellsOf }[tree.kind];
  return shown ? shown(tree, open) : el("span", { class: "note" }, tree.value ?? "");
}

function textOf(tree) {
  if (WORKBOOK.test(tree.value)) return workbookOf(tree.value);
  const cut = tree.size > tree.value.length ? el("span", { class: "size" }, ` … ${tree.size} characters`) : null;
  return el("span", { class: "text", dir: "auto" }, ...withImages(tree.value), cut);
}

function numberOf(tree) {
  return el("span", {}, tree.value === null ? "null" : String(tree.value));
}

function bytesOf(tree) {
  return el("span", { class: "size" }, `${tree.size} bytes`);
}

// The address is of data that the server has looked at; the content policy lets no other load.
function imageOf(tree) {
  const facts = `${tree.format || "image"}, ${tree.size} bytes`;
  if (!tree.src?.startsWith("data:image/")) return el("span", { class: "size" }, `${facts}: too large to show`);
  return pictureOf(tree.src, facts);
}

function cellsOf(tree) {
  const head = el("tr", {}, el("td", {}), ...tree.columns.map((name) => el("th", { scope: "col" }, name)));
  const rows = tree.rows.map(([number, ...values]) => el("tr", {}, el("th", { scope: "row" }, String(number)), ...values.map((value) => el("td", {}, value))));
  return el("div", { class: "cells" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)), tree.cut ? el("span", { class: "size" }, "…") : null);
}

function workbookOf(path) {
  const made = el("span", { class: "text" }, path, " ");
  const show = el("button", { "aria-label": `Cells of ${path}` }, "Cells");
  show.addEventListener("click", async () => {
    try {
      const sheets = await get("sheets", { path });
      show.replaceWith(...sheets.map((one) => el("div", {}, el("span", { class: "size" }, one.sheet), cellsOf(one))));
    } catch (error) {
      show.replaceWith(el("span", { class: "note" }, error.message));
    }
  });
  made.append(show);
  return made;
}

function entriesOf(tree, open) {
  if (!tree.size) return el("span", { class: "size" }, "{}");
  const items = tree.items.map(([key, value]) => () => el("li", {}, el("span", { class: "key" }, `${key}: `), valueOf(value, open - 1)));
  return folded(`${tree.type || ""} {${tree.size}}`, items, tree, open);
}

function listOf(tree, open) {
  if (!tree.size) return el("span", { class: "size" }, "[]");
  const table = tableOf(tree);
  if (table) return folded(`table of ${tree.size} rows`, [() => table], tree, open);
  const items = tree.items.map((value, at) => () => el("li", {}, el("span", { class: "key" }, `${at}: `), valueOf(value, value.kind === "message" ? 2 : open - 1)));
  return folded(`[${tree.size}]`, items, tree, open + (tree.items[0]?.kind === "message" ? 1 : 0));
}

// Items are made when they are seen, so that long lists are no matter; each maker is called once.
function folded(summary, makers, tree, open) {
  const list = el("ul", { class: "tree" });
  const draw = (from) => {
    const left = makers.length - from - ITEMS;
    const next = el("button", { on: { click: () => { next.parentElement.remove(); draw(from + ITEMS); } } }, `Show ${Math.min(left, ITEMS)} more of ${tree.size}`);
    const unsent = tree.size - tree.items.length;
    list.append(...makers.slice(from, from + ITEMS).map((make) => make()), ...(left > 0 ? [el("li", {}, next)] : unsent > 0 ? [el("li", { class: "size" }, `… ${unsent} more`)] : []));
  };
  const fold = el("details", { open: open > 0 }, el("summary", { class: "size" }, summary), list);
  if (open > 0) draw(0);
  fold.addEventListener("toggle", () => { if (fold.open && !list.hasChildNodes()) draw(0); });
  return fold;
}

function tableOf(tree) {
  const keys = (one) => (one.kind === "map" ? one.items.map(([key]) => key).join("\u0000") : null);
  const first = tree.items[0] && keys(tree.items[0]);
  if (!first || tree.items.length < 2 || tree.items.some((one) => keys(one) !== first)) return null;
  if (tree.items.some((one) => one.items.some(([, value]) => !["text", "number"].includes(value.kind)))) return null;
  const head = el("tr", {}, ...first.split("\u0000").map((key) => el("th", { scope: "col" }, key)));
  const rows = tree.items.map((one) => el("tr", {}, ...one.items.map(([, value]) => el("td", {}, valueOf(value, 0)))));
  return el("li", {}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

function messageOf(tree, open) {
  const calls = tree.calls.map((call) => el("div", { class: "call" }, el("strong", {}, call.name), valueOf(call.arguments, open)));
  const tokens = tree.tokens ? ` · ${tree.tokens} tokens` : "";
  return el("div", { class: "message" }, el("div", { class: "role" }, `${tree.role}${tokens}`), contentOf(tree.content, open), ...calls);
}

// Texts and images of a message, each as it is; other parts as values.
function contentOf(tree, open) {
  if (tree.kind === "text") {
    const cut = tree.size > tree.value.length ? el("span", { class: "size" }, ` … ${tree.size} characters`) : null;
    return el("div", { class: "text" }, ...proseOf(tree.value), cut);
  }
  if (tree.kind !== "list") return valueOf(tree, open);
  return el("div", {}, ...tree.items.map((part) => {
    const text = part.kind === "map" ? part.items.find(([key]) => key === "text")?.[1] : part;
    return text?.kind === "text" ? contentOf(text, open) : valueOf(part, open);
  }));
}
