// The one connection that tells what happens: servers, questions, runs. It comes back by itself, and always says how it is.
import { Refused, get, stream } from "/page/api.js";
import { shared, tell } from "/page/store.js";

const SILENCE = 35_000;
const LONGEST_PAUSE = 15;
const watchers = new Set();
let last = 0;
let stopped = new AbortController();

// A browser has six connections to one gateway, for all its tabs together: one of them watches, and tells the others.
const NAME = "openclaw.live";
let tabs = null;

// Somebody who wants every event: (kind, data).
export function onEvent(act) {
  watchers.add(act);
  return () => watchers.delete(act);
}

export function disconnect() {
  stopped.abort();
  tabs?.close();
  tabs = null;
}

export async function connect() {
  stopped = new AbortController();
  const ours = stopped;
  // Only where an address is as good as this machine's own; elsewhere each tab watches for itself.
  if (!navigator.locks) return lead(ours);
  tabs = new BroadcastChannel(NAME);
  let isLeader = false;
  tabs.onmessage = ({ data }) => {
    if (data.ask && isLeader) tabs.postMessage({ line: shared.get().line });
    else if (data.line && !isLeader) {
      // Whoever came late, or lost the line, reads how everything stands.
      if (data.line.state === "live" && shared.get().line.state !== "live") refreshAll();
      shared.set({ line: data.line });
    } else if (data.kind && !isLeader) heard(data.kind, data.data, data.id);
  };
  tabs.postMessage({ ask: true });
  try {
    return await navigator.locks.request(NAME, { signal: ours.signal }, () => {
      isLeader = true;
      return lead(ours);
    });
  } catch {
    // Signed out before it was this tab's turn.
    return undefined;
  }
}

// How the line is, for this tab and for all others.
function say(line) {
  shared.set({ line });
  tabs?.postMessage({ line });
}

async function lead(ours) {
  let failures = 0;
  while (!ours.signal.aborted) {
    say({ state: "connecting" });
    const attempt = new AbortController();
    ours.signal.addEventListener("abort", () => attempt.abort());
    let silence;
    const beat = () => {
      failures = 0;
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), SILENCE);
      if (shared.get().line.state !== "live") say({ state: "live" });
    };
    const act = (kind, data, id) => {
      tabs?.postMessage({ kind, data, id });
      heard(kind, data, id);
    };
    try {
      await stream("/v1/events?answers=approval,form,url", { signal: attempt.signal, after: last, act, beat });
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return;
    } finally {
      clearTimeout(silence);
    }
    failures += 1;
    const pause = Math.min(2 ** (failures - 1), LONGEST_PAUSE);
    for (let left = pause; left > 0 && !ours.signal.aborted; left -= 1) {
      say({ state: "lost", seconds: left });
      await new Promise((go) => setTimeout(go, 1000));
    }
  }
}

function heard(kind, data, id) {
  if (id) last = id;
  if (kind === "snapshot") {
    shared.set({ servers: data.servers, version: data.version });
    refreshQuestions();
    refreshRuns();
  } else if (kind === "server" || kind === "tools" || kind === "definition") {
    refreshServers();
  } else if (kind === "question") {
    refreshQuestions();
  } else if (kind === "run") {
    shared.set(({ runs }) => ({ runs: { ...runs, [data.run]: data } }));
  } else if (kind === "config") {
    tell(data.ok ? "The changed config is in use." : `The changed config cannot be used: ${data.problem}`);
  }
  for (const act of [...watchers]) act(kind, data);
}

// The conversation of this key, which is a part of the keys of others perhaps; undefined when the store has none.
export const withKey = async (key) =>
  (await get(`/v1/sessions?limit=20&search=${encodeURIComponent(key)}`)).sessions.find((one) => one.key === key);

// Several events in a row ask once.
const waiting = {};
function soon(name, act) {
  if (waiting[name]) return;
  waiting[name] = setTimeout(async () => {
    waiting[name] = undefined;
    try {
      await act();
    } catch {
      // The connection itself says when something is wrong.
    }
  }, 60);
}
export const refreshServers = () =>
  soon("servers", async () => shared.set({ servers: (await get("/v1/mcp/servers")).servers }));
export const refreshQuestions = () =>
  soon("questions", async () => shared.set({ questions: (await get("/v1/questions")).questions }));
const refreshRuns = () =>
  soon("runs", async () => {
    const { runs } = await get("/v1/runs");
    shared.set({ runs: Object.fromEntries(runs.map((run) => [run.run, run])) });
  });
function refreshAll() {
  refreshServers();
  refreshQuestions();
  refreshRuns();
}
