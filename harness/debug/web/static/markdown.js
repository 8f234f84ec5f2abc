// HTML that was made of Markdown, as elements: these tags alone, of their attributes only where a
// link leads (to the web) and where a list begins. Of all other tags the text stays.

import { el } from "./dom.js";

const TAGS = new Set(["p", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "code", "strong", "em", "del", "blockquote", "hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td"]);
// Headings of a text stand below those of the page.
const LOWER = { h1: "h4", h2: "h5", h3: "h6" };
export const IMAGE = /(data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=]{16,})/;

export function rendered(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return el("div", { class: "markdown" }, ...[...parsed.body.childNodes].flatMap(copied));
}

function copied(node) {
  if (node.nodeType === Node.TEXT_NODE) return withImages(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE) return [];
  const tag = node.localName;
  // A picture elsewhere is not fetched.
  if (tag === "img") return withImages(IMAGE.test(node.getAttribute("src")) ? node.getAttribute("src") : `![${node.getAttribute("alt")}](${node.getAttribute("src")})`);
  const href = tag === "a" && /^https?:/.test(node.getAttribute("href") || "") ? node.getAttribute("href") : null;
  const start = tag === "ol" ? node.getAttribute("start") : null;
  const safe = TAGS.has(tag) && (tag !== "a" || href);
  return [el(safe ? LOWER[tag] || tag : "span", { href, rel: href && "noreferrer", start }, ...[...node.childNodes].flatMap(copied))];
}

// A text; images that stand in it as data are shown.
export function withImages(text) {
  return text.split(IMAGE).flatMap((part, at) => (at % 2 ? [pictureOf(part, `image, ${Math.round(part.length * 0.75)} bytes`)] : part ? [part] : []));
}

export function pictureOf(src, facts) {
  const picture = el("img", { class: "thumb", src, alt: facts, title: facts, tabindex: 0 });
  picture.addEventListener("click", () => picture.classList.toggle("whole"));
  picture.addEventListener("keydown", (event) => event.key === "Enter" && picture.classList.toggle("whole"));
  return picture;
}
