// What was said: Markdown as elements, or as it was written. Nothing of it becomes markup of the page.

import { el } from "./dom.js";
import { rendered, withImages } from "./markdown.js";
import { Marked } from "./marked.js";

// Tags stay text: a message shows what its model wrote.
const markdown = new Marked({ breaks: true, tokenizer: { html: () => undefined, tag: () => undefined } });

export function proseOf(text) {
  return [rendered(markdown.parse(text))];
}

export function plainOf(text) {
  return [el("p", { class: "prose" }, ...withImages(text))];
}
