// The audit trail, live, and small charts of the gateway's numbers.
import { html, useEffect, useMemo, useState } from "/page/preact.js";
import { get, token } from "/page/api.js";
import { onEvent } from "/page/live.js";
import { Problem, useRead, visible } from "/page/parts.js";

const ROWS = 200;
const MOST = 10_000;
const PAUSE = 200;

export function Activity() {
  const [words, search] = useState("");
  const [filter, setFilter] = useState("");
  const [typed, setTyped] = useState("");
  const wanted = `${filter} ${typed}`.trim();
  const [count, setCount] = useState(ROWS);
  const [got, problem] = useRead(() => get(`/v1/audit?limit=${count}&search=${encodeURIComponent(wanted)}`), [wanted, count]);
  const [more, add] = useState([]);
  useEffect(() => onEvent((kind, data) => kind === "call" && add((before) => [data, ...before].slice(0, MOST))), []);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(words), PAUSE);
    return () => clearTimeout(timer);
  }, [words]);
  const folded = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  // What was heard of while the trail was read may be in both.
  const read = useMemo(() => new Set((got?.records || []).map(name)), [got]);
  const fits = (text) => folded.every((word) => (word.startsWith("-") ? !text.includes(word.slice(1)) : text.includes(word)));
  const fresh = more.filter((one) => !read.has(name(one)) && fits(JSON.stringify(one).toLowerCase()));
  const rows = [...fresh, ...(got?.records || [])];
  return html`<section class="view"><h1>Activity</h1>
    <${Charts} />
    <div class="row"><input id="search" class="grow" type="search" placeholder="Filter: a tool, a server, an agent, a time, an outcome" aria-label="Filter" value=${words} onInput=${(event) => search(event.target.value)} />
      ${FILTERS.map(([label, word]) => html`<button type="button" aria-pressed=${filter === word} onClick=${() => setFilter(filter === word ? "" : word)}>${label}</button>`)}</div>
    <${Problem} text=${problem} />
    <div class="wide trail" tabindex="0" role="region" aria-label="The audit trail"><table><thead><tr><th>Time</th><th>What</th><th>Tool</th><th>Agent</th><th>How</th></tr></thead><tbody>
      ${rows.map((one) => html`<tr>
        <td title=${one.time}>${when(one.time)}</td><td>${visible(one.event || "")}</td><td class="tool">${visible(one.tool || "")}</td><td>${visible(one.agent || "")}</td>
        <td class=${one.outcome === "ok" ? "" : "dim"}>${visible(how(one))}${one.durationMs === undefined ? "" : ` in ${one.durationMs.toFixed(1)} ms`}</td></tr>`)}
    </tbody></table></div>
    ${got && got.total > got.records.length ? html`<button type="button" class="quiet" onClick=${() => setCount(Math.min(count * 5, MOST))}>Show more of ${got.total.toLocaleString()}</button>` : null}
    ${!got || rows.length ? null : html`<p class="dim">${wanted ? "No line is like that." : "No tool was called yet."}</p>`}
  </section>`;
}

// Words of lines that people look for most.
const FILTERS = [["went wrong", '"event":"outcome" -"outcome":"ok"'], ["refused", '"outcome":"refused"'], ["approvals", '"event":"approval"']];
const name = (one) => [one.time, one.event, one.tool, one.agent, one.call].join(" ");
// The time alone for what happened today.
function when(time) {
  const at = new Date(time);
  const clock = at.toLocaleTimeString();
  return at.toDateString() === new Date().toDateString() ? clock : `${at.toLocaleDateString()} ${clock}`;
}
const how = (one) =>
  one.event === "question" ? "asked" : one.option || one.answer || one.outcome || (one.allowed ? "allowed" : "refused");

const EVERY = 5_000;
const KEPT = 60;
// The name of a number, what it is called here, whether it only grows, and how much of it is one.
const CHARTS = [
  ["openclaw_tool_calls_total", "Tool calls", true],
  ["openclaw_tokens_total", "Tokens", true],
  ["openclaw_mcp_server_calls_running", "Running calls"],
  ["openclaw_http_requests_total", "Requests", true],
  ["openclaw_event_streams", "Watchers"],
  ["process_resident_memory_bytes", "Memory, MB", false, 1_048_576],
];

function sums(text) {
  const found = {};
  for (const line of text.split("\n")) {
    const match = /^([a-z0-9_]+)(?:\{[^}]*\})? ([0-9.e+-]+)$/.exec(line);
    if (match) found[match[1]] = (found[match[1]] || 0) + Number(match[2]);
  }
  return found;
}

function Charts() {
  const [history, add] = useState([]);
  useEffect(() => {
    let gone = false;
    const look = async () => {
      try {
        const response = await fetch("/metrics", { headers: { Authorization: `Bearer ${token()}` }, cache: "no-store", credentials: "omit" });
        if (response.ok && !gone) {
          const found = sums(await response.text());
          add((before) => [...before, found].slice(-KEPT));
        }
      } catch {
        // The connection line says when the gateway is away.
      }
    };
    look();
    const timer = setInterval(look, EVERY);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, []);
  if (!history.length) return null;
  return html`<div class="charts">${CHARTS.map(([name, word, grows, unit = 1]) => {
    const raw = history.map((one) => (one[name] || 0) / unit);
    const values = grows ? raw.map((value, at) => (at ? Math.max(value - raw[at - 1], 0) : 0)) : raw;
    const now = values[values.length - 1];
    return html`<${Chart} word=${word} values=${values} now=${grows ? `${raw[raw.length - 1].toLocaleString()} in all` : now.toLocaleString(undefined, { maximumFractionDigits: 0 })} />`;
  })}</div>`;
}

function Chart({ word, values: seen, now }) {
  // One look is a line too.
  const values = seen.length > 1 ? seen : [...seen, ...seen];
  const top = Math.max(...values, 1);
  const points = values.map((value, at) => `${((at / Math.max(values.length - 1, 1)) * 118 + 1).toFixed(1)},${(31 - (value / top) * 30).toFixed(1)}`);
  return html`<figure><figcaption>${word}<span class="dim">${now}</span></figcaption>
    <svg viewBox="0 0 120 32" preserveAspectRatio="none" role="img" aria-label=${`${word}: ${now}`}><polyline points=${points.join(" ")} fill="none" /></svg></figure>`;
}
