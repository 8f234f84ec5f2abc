// A table shown a page at a time, so that thousands of rows are no matter.

import { el } from "./dom.js";
import { count } from "./figures.js";

export const SIZE = 100;

export function pageCount(total) {
  return Math.max(1, Math.ceil(total / SIZE));
}

export function pager(total, page, go) {
  const pages = pageCount(total);
  if (pages === 1) return null;
  const button = (name, label, to) => el("button", { "data-page": name, disabled: to < 1 || to > pages, on: { click: () => go(to) } }, label);
  const shown = `${count((page - 1) * SIZE + 1)} to ${count(Math.min(total, page * SIZE))} of ${count(total)}`;
  return el("nav", { class: "pager", "aria-label": "Pages" }, button("previous", "Previous", page - 1), el("span", {}, shown), button("next", "Next", page + 1));
}

export function table(label, heads, rows) {
  const head = heads.map((one) => el("th", { scope: "col", class: one.number ? "number" : one.arm ? "arm" : null }, one.name || one));
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 },
    el("table", { class: "rows", "aria-label": label }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
}
