// What was said, as text: fenced code and tables stand apart. Nothing of it becomes markup.

import { el } from "./dom.js";

const SET_APART = /^```[\w-]*\n([\s\S]*?)^```[ \t]*$|^((?:[ \t]*\|.*\n?){2,})/m;

export function proseOf(text) {
  return piecesOf(text, (rows) => el("pre", {}, rows));
}

// The same with the rows of tables as tables.
export function messageText(text) {
  return piecesOf(text, tableOf);
}

function piecesOf(text, rowsOf) {
  const pieces = text.split(SET_APART);
  const made = [];
  for (let at = 0; at < pieces.length; at += 3) {
    const [said, code, rows] = pieces.slice(at, at + 3);
    if (said.trim()) made.push(el("p", { class: "prose" }, said.replace(/^\n+|\s+$/g, "")));
    if (code) made.push(el("pre", {}, code));
    if (rows) made.push(rowsOf(rows));
  }
  return made;
}

const cellsOf = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
const isRule = (line) => /^[\s|:-]+$/.test(line) && line.includes("-");

function tableOf(rows) {
  const lines = rows.split("\n").filter((line) => line.trim());
  const head = lines.length > 1 && isRule(lines[1]) ? cellsOf(lines[0]) : null;
  const body = lines.slice(head ? 2 : 0).filter((line) => !isRule(line)).map(cellsOf);
  return el("table", {},
    head ? el("thead", {}, el("tr", {}, ...head.map((cell) => el("th", { scope: "col" }, cell)))) : null,
    el("tbody", {}, ...body.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, cell))))));
}
