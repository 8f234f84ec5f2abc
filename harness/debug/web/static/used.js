// Tokens and money, short enough for a badge. An unknown price is a question mark, not nothing.

export function usedText([tokens, cost]) {
  if (!tokens && !cost) return ""; // a person answered
  const count = tokens < 10000 ? String(tokens) : tokens < 1e6 ? `${(tokens / 1e3).toFixed(0)}k` : `${(tokens / 1e6).toFixed(1)}M`;
  const money = cost === null ? "$?" : cost === 0 ? "" : cost < 0.01 ? `$${cost.toFixed(4)}` : `$${cost.toFixed(2)}`;
  return [`${count} tok`, money].filter(Boolean).join(" ");
}

export function sum(pairs) {
  return pairs.reduce(([tokens, cost], [more, price]) => [tokens + more, cost === null || price === null ? null : cost + price], [0, 0]);
}

// By node, over the steps on the way to the latest state.
export function usedByNode(steps, tasks) {
  const found = {};
  for (const step of steps) {
    if (!step.on) continue;
    for (const task of step.tasks) if (tasks[task.id]) found[task.where] = sum([found[task.where] || [0, 0], tasks[task.id]]);
  }
  return found;
}
