// One small observable for what several views share. A view that uses a part of it is drawn again when that part changes.
import { useEffect, useReducer } from "/page/preact.js";

export function store(initial) {
  let value = initial;
  const watchers = new Set();
  return {
    get: () => value,
    set(change) {
      const next = { ...value, ...(typeof change === "function" ? change(value) : change) };
      const before = value;
      value = next;
      for (const watcher of [...watchers]) watcher(next, before);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

export function use(from, pick = (value) => value) {
  const [, draw] = useReducer((count) => count + 1, 0);
  useEffect(
    () => from.watch((next, before) => {
      if (pick(next) !== pick(before)) draw();
    }),
    [from],
  );
  return pick(from.get());
}

// What everybody needs: how the connection is, servers and open questions as last heard, and runs that go on.
export const shared = store({
  line: { state: "connecting" },
  servers: [],
  questions: [],
  runs: {},
  version: "",
  told: [],
  draft: "",
});

// Something to be read in passing; it stays for a while beside what was told just before.
const TOLD = 6_000;
export function tell(text) {
  const one = { text };
  shared.set(({ told }) => ({ told: [...told.slice(-2), one] }));
  setTimeout(() => shared.set(({ told }) => ({ told: told.filter((other) => other !== one) })), TOLD);
}
