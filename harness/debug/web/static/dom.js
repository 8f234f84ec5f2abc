// Elements made by hand: text is always text, never markup.

const DIRECTED = new Set(["p", "pre", "td", "li", "textarea", "summary", "blockquote"]);

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (DIRECTED.has(tag)) made.setAttribute("dir", "auto"); // text of any script runs its own way
  fill(made, attributes, children);
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(made, attributes, children);
  return made;
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [kind, handler] of Object.entries(value)) made.addEventListener(kind, handler);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
}
