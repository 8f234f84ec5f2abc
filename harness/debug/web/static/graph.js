// The graph: boxes, routes, where the run stands, what it took, breakpoints.

import { svg } from "./dom.js";
import { usedText } from "./used.js";

const canvas = document.querySelector("#graph svg");

export function drawGraph(graph, handlers) {
  canvas.replaceChildren();
  canvas.setAttribute("viewBox", `0 0 ${graph.width} ${graph.height}`);
  canvas.setAttribute("width", graph.width);
  canvas.setAttribute("height", graph.height);
  canvas.append(arrowHead());
  for (const frame of graph.frames) canvas.append(frameOf(frame));
  for (const edge of graph.edges) canvas.append(edgeOf(edge));
  for (const node of graph.nodes) canvas.append(nodeOf(node, handlers));
}

function arrowHead() {
  const shape = svg("path", { d: "M0,0 L8,4 L0,8 z", fill: "context-stroke" });
  return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, shape));
}

function frameOf(frame) {
  const { x, y, width, height } = frame;
  return svg("g", { class: "frame" },
    svg("rect", { x, y, width, height, rx: 8 }),
    svg("text", { x: x + 6, y: y - 4 }, frame.label));
}

function edgeOf(edge) {
  const d = edge.points.map(([x, y], at) => `${at ? "L" : "M"}${x},${y}`).join(" ");
  const [x, y] = edge.points[Math.floor(edge.points.length / 2)];
  return svg("g", { class: `edge${edge.conditional ? " conditional" : ""}`, "data-source": edge.source, "data-target": edge.target },
    svg("path", { d, "marker-end": "url(#arrow)" }),
    edge.label ? svg("text", { x: x + 6, y: y - 8 }, edge.label) : null);
}

function nodeOf(node, handlers) {
  const real = node.kind === "node";
  const { x, y, width, height } = node;
  const made = svg("g", { class: `node ${node.kind}`, "data-where": node.where, tabindex: real ? 0 : null, role: real ? "button" : "img", "aria-label": node.label },
    svg("rect", { x, y, width, height, rx: real ? 6 : height / 2 }),
    svg("text", { x: x + width / 2, y: y + height / 2 + 4.5, "text-anchor": "middle" }, node.label),
    svg("circle", { class: "dot", cx: x, cy: y, r: 0 }),
    svg("title", {}, node.label),
    svg("text", { class: "count", "aria-hidden": "true", x: x + width + 3, y: y + 10 }),
    svg("text", { class: "used", x: x + width + 3, y: y + 24 }));
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
    made.classList.toggle("failed", Boolean(now) && Boolean(stop.failure));
    made.classList.toggle("chosen", chosen.has(where));
    made.querySelector(".dot").setAttribute("r", point && made.classList.contains("start") === false && made.classList.contains("end") === false ? 5 : 0);
    made.querySelector(".count").textContent = count ? `×${count}` : "";
    made.querySelector(".used").textContent = used[where] ? usedText(used[where]) : "";
    const facts = [name, count ? `ran ${count === 1 ? "once" : `${count} times`}` : null, used[where] ? usedText(used[where]) : null, now ? "the run stands here" : null, point ? "breakpoint" : null];
    made.setAttribute("aria-label", facts.filter(Boolean).join(", "));
    made.querySelector("title").textContent = facts.filter(Boolean).join(", ");
    if (made.getAttribute("role") === "button") made.setAttribute("aria-pressed", point ? "true" : "false");
  }
  // A sub-graph's node stands for the sub-graph where an edge leads into or out of it.
  const within = (id, where) => id === where || id.startsWith(`${where}/`);
  for (const made of canvas.querySelectorAll(".edge")) {
    const [source, target] = [made.dataset.source, made.dataset.target].map((id) => id.replaceAll(":", "/"));
    made.classList.toggle("taken", taken.some(([from, to]) => within(source, from) && within(target, to)));
  }
}
