// Questions to the server. The token comes from the address and goes into a header.

const token = new URLSearchParams(location.search).get("token") || "";

async function asked(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { "x-harness-token": token, ...(options.headers || {}) } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || `status ${answer.status}`);
  return body;
}

export function get(name, query = {}) {
  const text = new URLSearchParams(query).toString();
  return asked(`api/${name}${text ? `?${text}` : ""}`);
}

export function post(command, args = {}) {
  return asked("api/command", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ command, arguments: args }),
  });
}
