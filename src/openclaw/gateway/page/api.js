// Requests to the gateway. The token lives in this tab alone, and goes out in a header: never in an address.
const KEY = "openclaw.token";

export const token = () => sessionStorage.getItem(KEY) || "";
const keep = (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY));

export class Refused extends Error {
  constructor(status, code, message, body) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

let onSignedOut = () => {};
export const whenSignedOut = (act) => (onSignedOut = act);

async function refused(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // Something in between answered.
  }
  const error = body.error || {};
  if (response.status === 401) {
    keep("");
    onSignedOut();
  }
  return new Refused(response.status, error.code || "", error.message || `The gateway answered ${response.status}.`, body);
}

async function sent(method, path, body, more = {}) {
  const headers = { ...(token() ? { Authorization: `Bearer ${token()}` } : {}), ...more.headers };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: more.signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "unreachable", "The gateway does not answer.", {});
  }
  if (!response.ok) throw await refused(response);
  return response;
}

export const call = async (method, path, body, more) => (await sent(method, path, body, more)).json();
export const get = (path, more) => call("GET", path, undefined, more);
export const post = (path, body = {}) => call("POST", path, body);
export const blob = async (path) => (await sent("GET", path)).blob();

// A ticket is taken out of the address before anything else happens, so that no history keeps it.
export async function signIn() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket !== null) {
    history.replaceState(null, "", "/");
    keep((await post("/v1/page/session", { ticket })).token);
  }
  return Boolean(token());
}
export async function signInWith(gatewayToken) {
  keep((await post("/v1/page/session", { token: gatewayToken.trim() })).token);
}
export async function signOut() {
  try {
    await call("DELETE", "/v1/page/session");
  } finally {
    keep("");
    onSignedOut();
  }
}

// Server-sent events by fetch, which can carry a header. `act` gets (kind, data, id) and `beat` hears every sign of life.
export async function stream(path, { signal, after, act, beat = () => {} }) {
  const headers = after ? { "Last-Event-ID": String(after) } : {};
  const response = await sent("GET", path, undefined, { headers, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    beat();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      let kind = "message";
      let data = "";
      let id;
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) kind = line.slice(7);
        else if (line.startsWith("data: ")) data += line.slice(6);
        else if (line.startsWith("id: ")) id = Number(line.slice(4));
      }
      if (data) act(kind, JSON.parse(data), id);
    }
  }
}
