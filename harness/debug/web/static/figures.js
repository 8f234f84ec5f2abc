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

// A run in plain words.
export function sentence({ passed, failed, invalid, score, ci95 }) {
  const whole = (share) => Math.round(100 * share);
  const range = ci95 ? ` (${whole(ci95[0])} to ${whole(ci95[1])})` : "";
  return `${count(passed)} of ${count(passed + failed)} right${score == null ? "" : `, ${whole(score)} %${range}`}. ${count(failed)} wrong, ${count(invalid)} could not be judged.`;
}

// The two runs of a gate in plain words, as `harness compare` has them; null where it compared none.
export function changed({ before, after, tasks, fixed, broken, ci95 }) {
  if (before == null || !fixed || !broken) return null;
  const words = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
  const named = (ids) => words[ids.length] || String(ids.length);
  const sides = [before * tasks, after * tasks];
  const digits = sides.every((side) => Math.abs(side - Math.round(side)) < 1e-6) ? 0 : 1;
  const [first, then] = sides.map((side) => side.toFixed(digits));
  const points = (ci95 || []).map((end) => Math.abs(100 * end).toFixed(0));
  const likely = !ci95 ? "" : ci95[0] > 0 ? ` Likely ${points[0]} to ${points[1]} points better.` : ci95[1] < 0 ? ` Likely ${points[1]} to ${points[0]} points worse.` : ` Likely between ${points[0]} points worse and ${points[1]} points better: no difference is shown.`;
  const fixes = named(fixed);
  return `Before: ${first} of ${tasks} right. Now: ${then}. ${fixes[0].toUpperCase()}${fixes.slice(1)} fixed, ${named(broken)} broken.${likely}`;
}

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
