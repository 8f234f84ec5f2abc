// The graph: laid out by dagre, zoomed and moved; where the run stands, what it took, breakpoints.

import { Graph, layout } from "./dagre.js";
import { svg } from "./dom.js";
import { usedText } from "./used.js";

const canvas = document.querySelector("#graph svg");
const [LETTER, PADDING, LEAST, HEIGHT, MARGIN, BAR] = [7.6, 26, 84, 44, 16, 28];
let whole = { x: 0, y: 0, width: 1, height: 1 };
let seen = null;
let standing = null;
const READABLE = 0.5;

export function drawGraph(graph, handlers) {
  // Wide graphs run from left to right where that shows them much larger.
  const [down, across] = ["TB", "LR"].map((way) => place(graph, way));
  const placed = scaleOf(across.graph()) > 1.3 * scaleOf(down.graph()) ? across : down;
  standing = null;
  whole = { x: -MARGIN, y: -MARGIN, width: placed.graph().width + 2 * MARGIN, height: placed.graph().height + 2 * MARGIN };
  canvas.replaceChildren(arrowHead());
  for (const frame of graph.frames) canvas.append(frameOf(frame, placed.node(frame.id)));
  for (const edge of graph.edges) canvas.append(edgeOf(edge, placed.edge(inside(graph, edge.source), inside(graph, edge.target)) || {}));
  for (const node of graph.nodes) canvas.append(nodeOf(node, placed.node(node.id), handlers));
  frame();
}

const scaleOf = ({ width, height }) => Math.min(1.25, canvas.clientWidth / (width + 2 * MARGIN), (canvas.clientHeight - BAR) / (height + 2 * MARGIN)) || 1;

// An edge that leads to a sub-graph's frame leads to a node of it: dagre connects no frames.
function inside(graph, id) {
  if (graph.nodes.some((node) => node.id === id)) return id;
  return graph.nodes.find((node) => node.id.startsWith(`${id}:`))?.id ?? id;
}

function place(graph, rankdir) {
  const made = new Graph({ compound: true });
  made.setGraph({ rankdir, nodesep: 26, ranksep: 46, edgesep: 18 });
  for (const frame of graph.frames) made.setNode(frame.id, {});
  for (const node of graph.nodes) made.setNode(node.id, { width: node.kind === "node" ? Math.max(LEAST, node.label.length * LETTER + PADDING) : 64, height: node.kind === "node" ? HEIGHT : 28 });
  for (const one of [...graph.frames, ...graph.nodes]) if (one.frame) made.setParent(one.id, one.frame);
  for (const edge of graph.edges) made.setEdge(inside(graph, edge.source), inside(graph, edge.target), edge.label ? { label: edge.label, width: edge.label.length * 6.4, height: 16, labelpos: "c" } : {});
  layout(made);
  return made;
}

// What is in sight: all of it, without making small graphs large.
export function fit() {
  const { clientWidth, clientHeight } = canvas;
  const scale = scaleOf({ width: whole.width - 2 * MARGIN, height: whole.height - 2 * MARGIN });
  const [width, height] = [clientWidth / scale || whole.width, clientHeight / scale || whole.height];
  const bar = BAR / scale; // what the buttons of the zoom cover
  show({ x: whole.x - (width - whole.width) / 2, y: whole.y - Math.max(0, height - bar - whole.height) / 2, width, height });
}

// All of it where that can be read, else the part where the run stands.
function frame() {
  fit();
  if (canvas.clientWidth && canvas.clientWidth / seen.width < READABLE) centre(standing || canvas.querySelector(".node"));
}

function centre(node) {
  const box = node?.querySelector("rect").getBBox();
  if (!box) return;
  const [width, height] = [canvas.clientWidth / 0.85, canvas.clientHeight / 0.85];
  show({ x: box.x + box.width / 2 - width / 2, y: box.y + box.height / 2 - height / 2, width, height });
}

// A node that the run comes to is brought in sight; what one looks at else stays.
function follow(node) {
  if (!node || node === standing) return;
  standing = node;
  const box = node.querySelector("rect").getBBox();
  const inSight = box.x >= seen.x && box.y >= seen.y && box.x + box.width <= seen.x + seen.width && box.y + box.height <= seen.y + seen.height;
  const read = canvas.clientWidth / seen.width >= READABLE;
  if (!inSight || (!read && !canvas.dataset.held)) centre(node);
}

export function zoom(by, at = { x: seen.x + seen.width / 2, y: seen.y + seen.height / 2 }) {
  const scale = Math.min(Math.max(by, canvas.clientWidth / seen.width > 4 ? 1 : 0), 8);
  if (!scale || seen.width / scale > 8 * whole.width + 4000) return;
  show({ x: at.x - (at.x - seen.x) / scale, y: at.y - (at.y - seen.y) / scale, width: seen.width / scale, height: seen.height / scale });
}

function show(box) {
  seen = box;
  canvas.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
}

export function setUpGraph() {
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => {
    canvas.dataset.held = "true"; // somebody has chosen what to see
    if (button.dataset.zoom === "fit") fit();
    else zoom(Number(button.dataset.zoom));
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x, y] = [event.offsetX / canvas.clientWidth, event.offsetY / canvas.clientHeight];
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, { x: seen.x + x * seen.width, y: seen.y + y * seen.height });
  }, { passive: false });
  let from = null;
  canvas.addEventListener("pointerdown", (event) => { from = event.target.closest(".node") ? null : { x: event.clientX, y: event.clientY, seen }; });
  window.addEventListener("pointerup", () => { from = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const scale = from.seen.width / canvas.clientWidth;
    show({ ...from.seen, x: from.seen.x - (event.clientX - from.x) * scale, y: from.seen.y - (event.clientY - from.y) * scale });
  });
  new ResizeObserver(frame).observe(canvas);
}

function arrowHead() {
  const shape = svg("path", { d: "M0,0 L8,4 L0,8 z", fill: "context-stroke" });
  return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, shape));
}

function frameOf(frame, { x, y, width, height }) {
  return svg("g", { class: "frame" },
    svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 8 }),
    svg("text", { x: x - width / 2 + 6, y: y - height / 2 + 14 }, frame.label));
}

function edgeOf(edge, { points = [], x, y }) {
  const d = points.map((point, at) => `${at ? "L" : "M"}${point.x},${point.y}`).join(" ");
  return svg("g", { class: `edge${edge.conditional ? " conditional" : ""}`, "data-source": edge.source, "data-target": edge.target },
    svg("path", { d, "marker-end": "url(#arrow)" }),
    edge.label && x != null ? svg("text", { x, y: y + 4, "text-anchor": "middle" }, edge.label) : null);
}

function nodeOf(node, { x, y, width, height }, handlers) {
  const real = node.kind === "node";
  const made = svg("g", { class: `node ${node.kind}`, "data-where": node.where, tabindex: real ? 0 : null, role: real ? "button" : "img", "aria-label": node.label },
    svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: real ? 6 : height / 2 }),
    svg("text", { class: "name", x, y: y + (real ? -2 : 4.5), "text-anchor": "middle" }, node.label),
    svg("circle", { class: "dot", cx: x - width / 2, cy: y - height / 2, r: 0 }),
    svg("title", {}, node.label),
    svg("text", { class: "count", "aria-hidden": "true", x, y: y + 14, "text-anchor": "middle" }));
  if (real) {
    made.addEventListener("click", () => handlers.toggle(node.where));
    made.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " " || event.key === "b") {
        event.preventDefault();
        event.stopPropagation();
        handlers.toggle(node.where);
      }
    });
  }
  return made;
}

export function markGraph({ session, visits, taken, chosen, used = {} }) {
  const stop = session.stop;
  const points = new Map(session.breakpoints.map((one) => [one.node, one]));
  const running = new Set((stop?.waiting || []).map((task) => task.where));
  for (const made of canvas.querySelectorAll(".node")) {
    const where = made.dataset.where;
    const name = where.split("/").at(-1);
    const point = points.get(where) || points.get(name) || points.get("*");
    const count = visits[where] || 0;
    const now = stop && !stop.ended && stop.task && stop.task.where === where;
    made.classList.toggle("ran", count > 0);
    made.classList.toggle("now", Boolean(now) || running.has(where));
    const runs = (session.running || []).includes(where);
    made.classList.toggle("runs", runs);
    made.classList.toggle("failed", Boolean(now) && Boolean(stop.failure));
    made.classList.toggle("chosen", chosen.has(where));
    made.querySelector(".dot").setAttribute("r", point && made.classList.contains("start") === false && made.classList.contains("end") === false ? 5 : 0);
    const asks = (stop?.asked || []).some((asked) => asked === where);
    made.classList.toggle("asks", asks);
    const line = [asks ? "asks" : runs ? "runs" : "", count ? `×${count}` : "", used[where] ? usedText(used[where]) : ""].filter(Boolean).join(" · ");
    const text = made.querySelector(".count");
    const room = made.querySelector("rect").width.baseVal.value - 10;
    text.textContent = line;
    // A long line is narrowed to its box; the label tells it whole.
    if (line.length * 5.8 > room) { text.setAttribute("textLength", room); text.setAttribute("lengthAdjust", "spacingAndGlyphs"); } else text.removeAttribute("textLength");
    const facts = [name, count ? `ran ${count === 1 ? "once" : `${count} times`}` : null, used[where] ? usedText(used[where]) : null, now ? "the run stands here" : null, runs ? "runs" : null, asks ? "waits for an answer" : null, point ? "breakpoint" : null];
    made.setAttribute("aria-label", facts.filter(Boolean).join(", "));
    made.querySelector("title").textContent = facts.filter(Boolean).join(", ");
    if (made.getAttribute("role") === "button") made.setAttribute("aria-pressed", point ? "true" : "false");
  }
  follow(canvas.querySelector(".node.now, .node.asks"));
  // A sub-graph's node stands for the sub-graph where an edge leads into or out of it.
  const within = (id, where) => id === where || id.startsWith(`${where}/`);
  for (const made of canvas.querySelectorAll(".edge")) {
    const [source, target] = [made.dataset.source, made.dataset.target].map((id) => id.replaceAll(":", "/"));
    made.classList.toggle("taken", taken.some(([from, to]) => within(source, from) && within(target, to)));
  }
}
