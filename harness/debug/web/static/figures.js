// Numbers and outcomes for people.

import { el } from "./dom.js";

export const OUTCOMES = { pass: "passed", fail: "failed", invalid: "invalid" };
const SIGNS = { pass: "✓", fail: "✗", invalid: "–" };

export const percent = (share) => (share == null ? "–" : `${(100 * share).toFixed(1)} %`);
export const count = (number) => (number == null ? "–" : number.toLocaleString("en"));
export const seconds = (number) => (number == null ? "–" : number < 60 ? `${number.toFixed(1)} s` : `${Math.round(number / 60)} min`);
export const money = (dollars) => (dollars == null ? "cost unknown" : `$${dollars.toFixed(4)}`);
// A number of groups, where the report has one, for behind its interval.
export const grouped = (groups, before) => (groups == null ? "" : before + plural(groups, "group"));
export const interval = (pair) => (pair ? `${(100 * pair[0]).toFixed(1)} to ${(100 * pair[1]).toFixed(1)} %` : "");
export const plural = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;

export function day(stamp) {
  const made = new Date(stamp * 1000);
  const two = (number) => String(number).padStart(2, "0");
  return `${made.getFullYear()}-${two(made.getMonth() + 1)}-${two(made.getDate())} ${two(made.getHours())}:${two(made.getMinutes())}`;
}

export function badge(outcome, short = false) {
  const sign = el("span", { "aria-hidden": "true" }, `${SIGNS[outcome] || ""} `);
  return el("span", { class: `outcome ${outcome}` }, sign, short ? null : OUTCOMES[outcome] || outcome);
}

// A pass rate as a bar with its interval; the numbers stand beside it.
export function rate(report) {
  if (report.score == null) return el("span", { class: "note" }, "no valid attempt");
  const [low, high] = report.ci95 || [report.score, report.score];
  const bar = el("meter", { min: 0, max: 1, value: report.score, "aria-label": `${percent(report.score)} passed` });
  return el("span", { class: "rate", title: `95 % interval ${interval([low, high])}` }, bar, el("span", {}, percent(report.score)));
}

export const simulated = (flag) => (flag ? el("span", { class: "tag", title: "A simulated model answered: this says nothing about a real one." }, "simulated") : null);

export function facts(rows, kind = "") {
  return el("dl", { class: `facts ${kind}` }, ...rows.filter((row) => row && row[1] != null && row[1] !== "").flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
