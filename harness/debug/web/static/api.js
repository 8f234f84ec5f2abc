// Questions to the server. The token comes from the address and goes into a header; which item's
// graph is meant (`run`, `item`, `evolution`) comes from the address too.
// A static copy carries all answers in itself, deflated in parts, and asks nobody; its last part says
// which one holds the answer to a question.

const address = new URLSearchParams(location.search);
const token = address.get("token") || "";
const subject = Object.fromEntries(["run", "item", "evolution"].filter((name) => address.has(name)).map((name) => [name, address.get(name)]));
// Where this graph is found among the finished runs, if it is of one.
export const home = subject;
const kept = document.querySelectorAll("script.kept");
const parts = new Map();

async function asked(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { "x-harness-token": token, ...(options.headers || {}) } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || `status ${answer.status}`);
  return body;
}

function named(name, query) {
  const text = new URLSearchParams(query).toString();
  return `${name}${text ? `?${text}` : ""}`;
}

export async function get(name, query = {}) {
  if (!kept.length) return asked(`api/${named(name, { ...subject, ...query })}`);
  const question = [name, ...Object.values(query)].join("\u0000");
  const number = (await part(kept.length - 1))[question];
  if (number === undefined) throw new Error("This copy does not hold that.");
  return (await part(number))[question];
}

function part(number) {
  if (!parts.has(number)) parts.set(number, inflated(kept[number].textContent));
  return parts.get(number);
}

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

export function post(command, args = {}) {
  return asked(`api/${named("command", subject)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ command, arguments: args }),
  });
}

// The address of another page of this application.
export function pageOf(file, query = {}, hash = {}) {
  const mark = new URLSearchParams(hash).toString();
  return `${file}?${new URLSearchParams({ token, ...query })}${mark ? `#${mark}` : ""}`;
}
