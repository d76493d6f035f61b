// Why a tool is there or missing, what the doctor says, and how everything stands: the sentences of the commands.
import { html, useRef, useState } from "/page/preact.js";
import { get } from "/page/api.js";
import { Json, Long, Problem, trying, useRead, visible } from "/page/parts.js";

export function Why({ name }) {
  const field = useRef(null);
  const [tools, problem] = useRead(() => get("/v1/tools"), []);
  const [told, wrong] = useRead(async () => (name ? get(`/v1/tools/explain?tool=${encodeURIComponent(name)}`) : null), [name]);
  const submit = (event) => {
    event.preventDefault();
    location.hash = `#why/${encodeURIComponent(field.current.value)}`;
  };
  return html`<section class="view"><h1>Why</h1>
    <form class="row" onSubmit=${submit}><input ref=${field} list="tools" placeholder="Name of a tool" aria-label="Name of a tool" value=${name || ""} required /><button class="main">Explain</button></form>
    <datalist id="tools">${(tools?.tools || []).slice(0, 500).map((one) => html`<option value=${one.name}></option>`)}${(tools?.absent || []).slice(0, 500).map((one) => html`<option value=${one.name}></option>`)}</datalist>
    <${Problem} text=${wrong} />
    ${told ? html`<${Facts} value=${told} />` : null}
    <h2>Missing now</h2><${Problem} text=${problem} />
    ${tools ? html`<${Long} items=${tools.absent} empty="Nothing is missing." draw=${(one) => html`<p key=${one.name}><a class="tool" href=${`#why/${encodeURIComponent(one.name)}`}>${visible(one.name)}</a> ${visible(one.reason)} <span class="dim">${visible(one.where)}</span></p>`} />` : html`<p class="dim">Looking…</p>`}
    <${Doctor} />
  </section>`;
}

function Doctor() {
  const [got, set] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async (offline) => {
    setBusy(true);
    const found = await trying(() => get(`/v1/doctor${offline ? "?offline=1" : ""}`));
    if (found) set(found);
    setBusy(false);
  };
  const checks = got?.checks || got?.findings || (Array.isArray(got) ? got : []);
  return html`<h2>Doctor</h2><div class="row"><button type="button" disabled=${busy} onClick=${() => ask(false)}>${busy ? "Checking…" : "Check everything"}</button><button type="button" disabled=${busy} onClick=${() => ask(true)}>Without asking servers and models</button></div>
    ${checks.map((one) => html`<p class=${`finding ${visible(one.level || one.state || (one.ok ? "ok" : "bad"))}`}><strong>${visible(one.level || one.state || "")}</strong> ${visible(one.name || one.what || "")} ${visible(one.message || one.text || "")} <span class="dim">${visible(one.hint || one.fix || "")}</span></p>`)}
    ${got && !checks.length ? html`<${Json} value=${got} />` : null}`;
}

export function Status() {
  const [got, problem] = useRead(() => get("/v1/status"), []);
  return html`<section class="view"><h1>Status</h1><${Problem} text=${problem} />${got ? html`<${Facts} value=${got} />` : html`<p class="dim">Asking…</p>`}</section>`;
}

// A document of a command, as words and values; what is deeper is JSON.
function Facts({ value }) {
  const rows = Object.entries(value).filter(([, one]) => one !== null && one !== "");
  return html`<dl>${rows.map(([word, one]) => html`<dt>${visible(word.replace(/([A-Z])/g, " $1").toLowerCase())}</dt><dd>${typeof one === "object" ? html`<details><summary>${Array.isArray(one) ? one.length : "more"}</summary><${Json} value=${one} /></details>` : visible(one)}</dd>`)}</dl>`;
}
