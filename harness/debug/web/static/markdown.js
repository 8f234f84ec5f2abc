// Markdown that the server turned into HTML, as elements: these tags alone, of their attributes
// only where a link leads (to the web) and where a list begins. All other tags are their text.

import { el } from "./dom.js";

const TAGS = new Set(["p", "ul", "ol", "li", "h4", "h5", "h6", "pre", "code", "strong", "em", "blockquote", "hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td"]);

export function rendered(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return el("div", { class: "markdown" }, ...[...parsed.body.childNodes].map(copied));
}

function copied(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  const tag = node.localName;
  const href = tag === "a" && /^https?:/.test(node.getAttribute("href") || "") ? node.getAttribute("href") : null;
  const start = tag === "ol" ? node.getAttribute("start") : null;
  const safe = TAGS.has(tag) && (tag !== "a" || href);
  return el(safe ? tag : "span", { href, rel: href && "noreferrer", start }, ...[...node.childNodes].map(copied));
}
