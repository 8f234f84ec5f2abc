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

// Rows in the order of one of `keys`, behind "-" the other way round; those without a value last.
export function sorted(rows, by, keys) {
  const key = keys[(by || "").replace("-", "")];
  if (!key) return rows;
  const way = by.startsWith("-") ? -1 : 1;
  const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  const [full, empty] = [rows.filter((row) => key(row) != null), rows.filter((row) => key(row) == null)];
  return [...full.sort((one, other) => way * compare(key(one), key(other))), ...empty];
}

// `sorting` is {by, choose}: heads with a `sort` are buttons; `by` is such a name, behind "-" the
// other way round.
export function table(label, heads, rows, sorting = null) {
  const head = heads.map((one) => el("th", { scope: "col", class: one.number ? "number" : one.arm ? "arm" : null, "aria-sort": orderOf(one, sorting) },
    sorting && one.sort ? sortButton(one, sorting) : one.name || one));
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 },
    el("table", { class: "rows", "aria-label": label }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
}

function orderOf(head, sorting) {
  if (!sorting || !head.sort) return null;
  return { [head.sort]: "ascending", [`-${head.sort}`]: "descending" }[sorting.by] || null;
}

function sortButton(head, { by, choose }) {
  const sign = { [head.sort]: " ↑", [`-${head.sort}`]: " ↓" }[by] || "";
  const next = by === `-${head.sort}` ? head.sort : by === head.sort ? "" : `-${head.sort}`;
  return el("button", { class: "sort", "data-sort": head.sort, title: `Sort by ${head.name.toLowerCase()}`, on: { click: () => choose(next) } }, head.name, el("span", { "aria-hidden": "true" }, sign));
}
