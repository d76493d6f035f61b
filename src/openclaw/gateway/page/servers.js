// MCP servers: how each is doing, what it offers, and what can be done about it.
import { html, useRef, useState } from "/page/preact.js";
import { call, get, post } from "/page/api.js";
import { refreshServers } from "/page/live.js";
import { diff } from "/page/markdown.js";
import { Blocks, Confirm, Dialog, Json, Long, Problem, SchemaForm, plural, trying, useRead, visible } from "/page/parts.js";
import { shared, tell, use } from "/page/store.js";

const path = (name) => `/v1/mcp/servers/${encodeURIComponent(name)}`;
const WORDS = { ready: "connected", "needs-auth": "needs you to sign in" };

export function Servers({ name, part }) {
  return name ? html`<${Server} key=${name} name=${name} part=${part || "about"} />` : html`<${All} />`;
}

function State({ server }) {
  return html`<span class=${`state ${server.state}`}>${WORDS[server.state] || server.state}</span>`;
}

function All() {
  const servers = use(shared, (value) => value.servers);
  const [adding, add] = useState(false);
  return html`<section class="view"><header class="bar"><h1>Servers</h1>
      <button type="button" class="main" onClick=${() => add(true)}>Connect a server</button></header>
    <${Long} items=${servers} empty="No server is configured yet." draw=${(one) => html`<a class="card" key=${one.name} href=${`#servers/${encodeURIComponent(one.name)}`}>
      <div class="row"><strong>${visible(one.name)}</strong><${State} server=${one} /><span class="dim grow">${plural(one.tools, "tool")}${one.inFlight ? ` · ${plural(one.inFlight, "call")} under way` : ""}${one.latencyP50Ms ? ` · ${one.latencyP50Ms.toFixed(1)} ms` : ""}</span></div>
      ${one.reason ? html`<p class="dim">${visible(one.reason)}</p>` : null}
      ${one.changes.length ? html`<p class="warn">${plural(one.changes.length, "tool")} changed since you trusted it.</p>` : null}
    </a>`} />
    ${adding ? html`<${Connect} onClose=${() => add(false)} />` : null}
  </section>`;
}

function Connect({ onClose }) {
  const form = useRef(null);
  const [problem, say] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const { address, name } = form.current.elements;
    setBusy(true);
    try {
      await post("/v1/mcp/servers", { url: address.value, name: name.value });
      refreshServers();
      onClose();
    } catch (error) {
      say(error.body.message || error.message);
    }
    setBusy(false);
  };
  return html`<${Dialog} title="Connect a server" onClose=${onClose}>
    <form ref=${form} onSubmit=${submit} class="fields">
      <label>Address<input name="address" type="url" required placeholder="https://example.com/mcp" autofocus /></label>
      <label>Name (left out: from the address)<input name="name" /></label>
      <${Problem} text=${problem} />
      <div class="row"><button type="button" onClick=${onClose}>Cancel</button><button class="main" disabled=${busy}>${busy ? "Trying…" : "Connect"}</button></div>
    </form>
    <p class="dim">A server that is a program on this machine is added in a terminal, never from a page:</p>
    <pre tabindex="0">openclaw mcp connect --stdio "npx -y @modelcontextprotocol/server-everything"</pre>
  <//>`;
}

const PARTS = ["about", "tools", "resources", "prompts", "logs"];
function Server({ name, part }) {
  const server = use(shared, (value) => value.servers.find((one) => one.name === name));
  const [asked, ask] = useState("");
  if (!server) return html`<section class="view"><h1>${visible(name)}</h1><p class="dim">There is no such server now. <a href="#servers">All servers</a></p></section>`;
  const act = (word, told) => trying(async () => {
    await post(`${path(name)}/${word}`);
    refreshServers();
    tell(told);
  });
  const base = `#servers/${encodeURIComponent(name)}`;
  return html`<section class="view"><header class="bar"><a class="quiet" href="#servers" aria-label="All servers">‹</a><h1>${visible(name)}</h1><${State} server=${server} /></header>
    <div class="row">
      ${server.state === "needs-auth" || server.auth === "oauth" ? html`<button type="button" class="main" onClick=${() => ask("sign-in")}>Sign in</button>` : null}
      ${server.auth === "oauth" ? html`<button type="button" onClick=${() => trying(async () => (await post(`${path(name)}/auth`, { logout: true }), refreshServers(), tell("Signed out.")))}>Sign out</button>` : null}
      <button type="button" onClick=${() => act("restart", "Restarted.")}>Restart</button>
      <button type="button" onClick=${() => act("refresh", "Asked for its lists anew.")}>Refresh</button>
      ${server.state === "disabled" ? html`<button type="button" onClick=${() => act("enable", "Enabled.")}>Enable</button>` : html`<button type="button" onClick=${() => act("disable", "Disabled.")}>Disable</button>`}
      <button type="button" class="danger" onClick=${() => ask("remove")}>Remove</button>
    </div>
    <nav class="tabs" aria-label="Parts">${PARTS.map((one) => html`<a href=${`${base}/${one}`} aria-current=${one === part ? "page" : undefined}>${one}</a>`)}</nav>
    ${part === "about" ? html`<${About} server=${server} />` : part === "logs" ? html`<${Logs} name=${name} />` : html`<${Offered} key=${part} name=${name} what=${part} />`}
    ${asked === "sign-in" ? html`<${SignIn} name=${name} onClose=${() => (ask(""), refreshServers())} />` : null}
    ${asked === "remove" ? html`<${Confirm} title=${`Remove ${name}?`} text="It is taken out of the config." word="Remove" onClose=${() => ask("")}
      act=${() => trying(async () => (await call("DELETE", path(name)), refreshServers(), (location.hash = "#servers")))} />` : null}
  </section>`;
}

function About({ server }) {
  const facts = [
    ["Why", server.reason],
    ["Next attempt", server.nextAttemptSeconds ? `in ${Math.ceil(server.nextAttemptSeconds)} s` : ""],
    ["Last error", server.lastError],
    ["Is", `${server.transport} · ${server.target}`],
    ["Says it is", [server.serverName, server.serverVersion].filter(Boolean).join(" ")],
    ["Protocol", server.revision],
    ["Process", server.pid],
    ["Tools", server.tools],
    ["Calls", `${server.inFlight} under way, ${server.queued} waiting`],
    ["Latency", server.latencyP50Ms ? `${server.latencyP50Ms.toFixed(1)} ms, the slowest ${server.latencyP95Ms.toFixed(1)} ms` : ""],
    ["Restarts", server.restarts || ""],
    ["Configured", server.where],
  ];
  const trust = () => trying(async () => {
    await post(`${path(server.name)}/trust`, { digest: server.changesDigest });
    refreshServers();
    tell("Trusted as it was shown.");
  });
  return html`<dl>${facts.filter(([, value]) => value !== "" && value !== null && value !== undefined).map(([word, value]) => html`<dt>${word}</dt><dd>${visible(value)}</dd>`)}</dl>
    ${server.changes.length ? html`<h2>Changed since you trusted it</h2>
      ${server.changes.map((one) => html`<details open><summary>${visible(one.tool)}${one.held ? " (held back)" : ""}</summary><pre tabindex="0">${diff(visible(one.diff))}</pre></details>`)}
      <button type="button" class="main" onClick=${trust}>Trust what is shown here</button>` : null}`;
}

function Logs({ name }) {
  const [got, problem, again] = useRead(() => get(`${path(name)}/logs?lines=500`), [name]);
  const lines = (Array.isArray(got) ? got : got?.lines) || [];
  return html`<button type="button" onClick=${again}>Read again</button><${Problem} text=${problem} />
    <pre class="foreign log" tabindex="0">${visible(lines.map((one) => (typeof one === "string" ? one : one.text || JSON.stringify(one))).join("\n")) || "It wrote nothing."}</pre>`;
}

function Offered({ name, what }) {
  const [got, problem] = useRead(() => get(`${path(name)}/${what}`), [name, what]);
  const [words, search] = useState("");
  const all = (Array.isArray(got) ? got : got?.[what]) || [];
  const items = all.filter((one) => JSON.stringify([one.name, one.uri, one.title, one.description]).toLowerCase().includes(words.toLowerCase()));
  const Draw = { tools: Tool, resources: Resource, prompts: Prompt }[what];
  return html`<input type="search" placeholder="Search" aria-label=${`Search ${what}`} value=${words} onInput=${(event) => search(event.target.value)} />
    <${Problem} text=${problem} />
    ${got ? html`<${Long} items=${items} empty=${`No ${what}.`} draw=${(one) => html`<${Draw} key=${one.name || one.uri} server=${name} one=${one} />`} />` : html`<p class="dim">Asking…</p>`}`;
}

function Tool({ one }) {
  const [open, show] = useState(false);
  const [result, setResult] = useState(null);
  const run = (given) => trying(async () => {
    setResult({ busy: true });
    try {
      setResult(await post("/v1/tools/invoke", { tool: one.name, arguments: given }));
    } catch (error) {
      setResult(null);
      throw error;
    }
  });
  const schema = one.inputSchema || one.parameters || {};
  return html`<details class="card" onToggle=${(event) => show(event.target.open)}>
    <summary><span class="tool">${visible(one.name)}</span> <span class="dim">${visible((one.description || "").split("\n")[0]).slice(0, 160)}</span></summary>
    ${open ? html`<p class="foreign plain">${visible(one.description || "")}</p>
      <p><a href=${`#why/${encodeURIComponent(one.name)}`}>Why an agent has it, or has it not</a></p>
      <${SchemaForm} schema=${schema} word="Call it" act=${run} />
      <details><summary>Schema</summary><${Json} value=${schema} /></details>
      ${result?.busy ? html`<p role="status" class="dim">Calling… a question about it may be shown above.</p>` : null}
      ${result?.content ? html`<h3>${result.isError ? "It failed" : "Result"}</h3><${Blocks} content=${result.content} />` : null}` : null}
  </details>`;
}

function Resource({ server, one }) {
  const [got, set] = useState(null);
  const read = () => trying(async () => set(await post(`${path(server)}/read`, { uri: one.uri })));
  return html`<details class="card" onToggle=${(event) => event.target.open && !got && one.uri && read()}>
    <summary><span class="tool">${visible(one.name || one.uri)}</span> <span class="dim">${visible(one.uri || one.uriTemplate || "")}</span></summary>
    <p class="foreign">${visible(one.description || "")}</p>${got ? html`<${Json} value=${got} />` : null}</details>`;
}

function Prompt({ server, one }) {
  const [got, set] = useState(null);
  const fields = Object.fromEntries((one.arguments || []).map((field) => [field.name, { type: "string", description: field.description }]));
  const schema = { properties: fields, required: (one.arguments || []).filter((field) => field.required).map((field) => field.name) };
  const fill = (given) => trying(async () => set(await post(`${path(server)}/prompt`, { name: one.name, arguments: given })));
  return html`<details class="card"><summary><span class="tool">${visible(one.name)}</span> <span class="dim">${visible(one.description || "")}</span></summary>
    <${SchemaForm} schema=${schema} word="Fill in" act=${fill} />${got ? html`<${Json} value=${got} />` : null}</details>`;
}

function SignIn({ name, onClose }) {
  const [begun, problem] = useRead(() => post(`${path(name)}/auth`), [name]);
  const field = useRef(null);
  const address = begun?.url || begun?.authorizationUrl || "";
  let host = "";
  try {
    host = new URL(address).host;
  } catch {
    host = "";
  }
  const finish = async (event) => {
    event.preventDefault();
    if (await trying(() => post(`${path(name)}/auth`, { code: field.current.value }))) {
      tell("Signed in.");
      onClose();
    }
  };
  return html`<${Dialog} title=${`Sign in to ${name}`} onClose=${onClose}>
    <${Problem} text=${problem} />
    ${host ? html`<p>1. <a href=${address} target="_blank" rel="noreferrer noopener">Open the sign-in page of ${visible(host)}</a></p>
      <p>2. When it has sent you back, this is done. If your browser is on another machine, paste the address it ended at:</p>
      <form onSubmit=${finish} class="fields"><label>Address<input ref=${field} type="url" required /></label>
        <div class="row"><button type="button" onClick=${onClose}>Close</button><button class="main">Finish</button></div></form>`
      : begun ? html`<p>${visible(begun.message || "Nothing to do: it is signed in.")}</p><button type="button" onClick=${onClose}>Close</button>` : html`<p class="dim">Asking…</p>`}
  <//>`;
}
