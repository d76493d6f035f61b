// The audit trail, live, and small charts of the gateway's numbers.
import { html, useEffect, useState } from "/page/preact.js";
import { get, token } from "/page/api.js";
import { onEvent } from "/page/live.js";
import { Long, Problem, useRead, visible } from "/page/parts.js";

const MOST = 10_000;

export function Activity() {
  const [got, problem] = useRead(() => get("/v1/audit?limit=2000"), []);
  const [more, add] = useState([]);
  const [words, search] = useState("");
  useEffect(() => onEvent((kind, data) => kind === "call" && add((before) => [data, ...before].slice(0, MOST))), []);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...more, ...(got?.records || [])].filter((one) => {
    const text = JSON.stringify(one).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return html`<section class="view"><h1>Activity</h1>
    <${Charts} />
    <input id="search" type="search" placeholder="Filter: a tool, a server, an outcome" aria-label="Filter" value=${words} onInput=${(event) => search(event.target.value)} />
    <${Problem} text=${problem} />
    <div class="wide"><table><thead><tr><th>Time</th><th>What</th><th>Tool</th><th>Agent</th><th>How</th></tr></thead><tbody>
      <${Long} items=${rows} empty="" draw=${(one) => html`<tr key=${one.id || one.time + one.tool}>
        <td>${visible(one.time || "").slice(0, 19).replace("T", " ")}</td><td>${visible(one.event || "")}</td><td class="tool">${visible(one.tool || "")}</td><td>${visible(one.agent || "")}</td>
        <td class=${one.outcome === "ok" ? "" : "dim"}>${visible(one.outcome || one.answer || (one.allowed === false ? "refused" : "allowed"))}</td></tr>`} />
    </tbody></table></div>
    ${rows.length ? null : html`<p class="dim">No tool was called yet.</p>`}
  </section>`;
}

const EVERY = 5_000;
const KEPT = 60;
const CHARTS = [
  ["openclaw_tool_calls_total", "Calls", true],
  ["openclaw_http_requests_total", "Requests", true],
  ["process_resident_memory_bytes", "Memory, MB", false, 1_048_576],
  ["openclaw_mcp_servers", "Servers", false],
];

function sums(text) {
  const found = {};
  for (const line of text.split("\n")) {
    const match = /^([a-z_]+)(?:\{[^}]*\})? ([0-9.e+-]+)$/.exec(line);
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
  return html`<div class="charts">${CHARTS.filter(([name]) => name in history[history.length - 1]).map(([name, word, grows, unit = 1]) => {
    const raw = history.map((one) => (one[name] || 0) / unit);
    const values = grows ? raw.map((value, at) => (at ? Math.max(value - raw[at - 1], 0) : 0)) : raw;
    const now = values[values.length - 1];
    return html`<${Chart} word=${word} values=${values} now=${grows ? `${raw[raw.length - 1].toLocaleString()} in all` : now.toLocaleString(undefined, { maximumFractionDigits: 0 })} />`;
  })}</div>`;
}

function Chart({ word, values, now }) {
  const top = Math.max(...values, 1);
  const points = values.map((value, at) => `${((at / Math.max(values.length - 1, 1)) * 118 + 1).toFixed(1)},${(31 - (value / top) * 30).toFixed(1)}`);
  return html`<figure><figcaption>${word} <span class="dim">${now}</span></figcaption>
    <svg viewBox="0 0 120 32" role="img" aria-label=${`${word}: ${now}`}><polyline points=${points.join(" ")} fill="none" /></svg></figure>`;
}
