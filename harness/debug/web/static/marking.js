// Finds a quote in what a step shows, white space and case aside, and marks it.

import { el } from "./dom.js";

const ENDS = /^[\s"'`]+|[\s"'`]+$/g;

// Marks the first place of the quote in the parts of `card`; the first mark, or null.
export function mark(card, quote) {
  const wanted = quote.replace(ENDS, "").replace(/\s+/g, " ").toLowerCase();
  if (!wanted) return null;
  const { text, places } = flat(card);
  const start = text.indexOf(wanted);
  if (start < 0) return null;
  const pieces = new Map();
  for (const [node, at] of places.slice(start, start + wanted.length)) {
    const piece = pieces.get(node);
    if (piece) piece[1] = at + 1;
    else pieces.set(node, [at, at + 1]);
  }
  return [...pieces].map(([node, [from, to]]) => wrapped(node, from, to))[0];
}

// The text of a step with even white space, and where each of its characters stands.
function flat(card) {
  const places = [];
  let text = "";
  const put = (letter, place) => {
    if (letter === " " && (!text || text.endsWith(" "))) return;
    text += letter;
    places.push(place);
  };
  for (const block of card.querySelectorAll(".quoted")) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (let at = 0; at < node.data.length; at += 1) {
        const letter = node.data[at];
        if (/\s/.test(letter)) put(" ", [node, at]);
        else for (const one of letter.toLowerCase()) put(one, [node, at]);
      }
    }
    if (text && places.length) put(" ", places.at(-1));
  }
  return { text, places };
}

function wrapped(node, from, to) {
  const inner = node.splitText(from);
  inner.splitText(to - from);
  const made = el("mark", {});
  inner.replaceWith(made);
  made.append(inner);
  return made;
}
