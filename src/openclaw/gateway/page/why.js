// Why a tool is there or missing, what the doctor says, and how everything stands: the sentences of the commands.
import { html, useRef, useState } from "/page/preact.js";
import { get } from "/page/api.js";
import { Long, Problem, trying, useRead, visible } from "/page/parts.js";

export function Why({ name }) {
  const field = useRef(null);
  const [tools, problem] = useRead(() => get("/v1/tools"), []);
  const [told, wrong] = useRead(async () => (name ? get(`/v1/tools/explain?format=text&tool=${encodeURIComponent(name)}`) : null), [name]);
  const submit = (event) => {
    event.preventDefault();
    location.hash = `#why/${encodeURIComponent(field.current.value)}`;
  };
  return html`<section class="view"><h1>Why a tool is there, or is missing</h1>
    <form class="row" onSubmit=${submit}><input ref=${field} class="grow" list="tools" placeholder="Name of a tool" aria-label="Name of a tool" value=${name || ""} required /><button class="main">Explain</button></form>
    <datalist id="tools">${(tools?.tools || []).slice(0, 500).map((one) => html`<option value=${one.name}></option>`)}${(tools?.absent || []).slice(0, 500).map((one) => html`<option value=${one.name}></option>`)}</datalist>
    <${Problem} text=${wrong} />
    ${told ? html`<pre id="told" tabindex="0">${visible(told.text)}</pre>` : null}
    <h2>Missing now</h2><${Problem} text=${problem} />
    ${tools ? html`<${Long} items=${tools.absent} empty="Nothing is missing." draw=${(one) => html`<p key=${one.name}><a class="tool" href=${`#why/${encodeURIComponent(one.name)}`}>${visible(one.name)}</a> ${visible(one.reason)} <span class="dim">${visible(one.where)}</span></p>`} />` : html`<p class="dim">Looking…</p>`}
    <${Doctor} />
  </section>`;
}

const MARKS = { ok: "ok", warning: "!!", failed: "✗", "not asked": "--" };
function Doctor() {
  const [got, set] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async (offline) => {
    setBusy(true);
    const found = await trying(() => get(`/v1/doctor${offline ? "?offline=1" : ""}`));
    if (found) set(found);
    setBusy(false);
  };
  return html`<h2>Doctor</h2><div class="row"><button type="button" disabled=${busy} onClick=${() => ask(false)}>${busy ? "Checking…" : "Check everything"}</button><button type="button" disabled=${busy} onClick=${() => ask(true)}>Without asking servers and models</button></div>
    ${got ? html`<ul class="checks">${got.checks.map((one) => html`<li class=${one.state.replace(" ", "-")}><span class="tool">${MARKS[one.state]}</span><span>${visible(one.what)}: ${visible(one.message)}${one.fix ? html`<small>${visible(one.fix)}</small>` : null}</span></li>`)}</ul>` : null}`;
}

export function Status() {
  const [got, problem, again] = useRead(() => get("/v1/status?format=text"), []);
  return html`<section class="view"><header class="bar"><h1>Status</h1><button type="button" onClick=${again}>Look again</button></header><${Problem} text=${problem} />
    ${got ? html`<pre class="whole" tabindex="0">${visible(got.text)}</pre>` : html`<p class="dim">Asking…</p>`}</section>`;
}
