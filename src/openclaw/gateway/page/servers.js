// MCP servers: how each is doing, what it offers, and what can be done about it.
import { html, useEffect, useRef, useState } from "/page/preact.js";
import { call, get, post } from "/page/api.js";
import { onEvent, refreshServers } from "/page/live.js";
import { Code, diff } from "/page/markdown.js";
import { Blocks, Confirm, Dialog, Json, Long, Problem, SchemaForm, plural, trying, useRead, visible } from "/page/parts.js";
import { shared, tell, use } from "/page/store.js";

const path = (name) => `/v1/mcp/servers/${encodeURIComponent(name)}`;
// One word of a shell, whatever is in it.
const quoted = (text) => `'${visible(text).replaceAll("'", "'\\''")}'`;
const WORDS = { ready: "connected", "needs-auth": "needs you to sign in" };

export function Servers({ name, part }) {
  // A call that begins or ends changes how many are under way, and how long they take.
  useEffect(() => onEvent((kind) => kind === "call" && refreshServers()), []);
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
    <${Long} items=${servers} empty="No server is configured yet. Connect one that has an address, or see there how a program is added." draw=${(one) => html`<a class="card" key=${one.name} href=${`#servers/${encodeURIComponent(one.name)}`}>
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
  const [program, setProgram] = useState("npx -y @modelcontextprotocol/server-everything");
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
      <label>Name<input name="name" placeholder="taken from the address" /></label>
      <${Problem} text=${problem} />
      <div class="row"><button type="button" onClick=${onClose}>Cancel</button><button class="main" disabled=${busy}>${busy ? "Trying…" : "Connect"}</button></div>
    </form>
    <p class="dim">A server that is a program on this machine is added in a terminal, never from a page. What starts it?</p>
    <input aria-label="The command of a program" value=${program} onInput=${(event) => setProgram(event.target.value)} />
    <${Code} text=${`openclaw mcp connect --stdio ${quoted(program)}`} kind="sh" />
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
    ["Next attempt", server.nextAttemptSeconds ? html`<${Soon} seconds=${server.nextAttemptSeconds} />` : ""],
    ["Last error", server.lastError === server.reason ? "" : server.lastError],
    ...(server.transport === "stdio" ? [["Program", server.target.replace(/^stdio:\/\//, "")]] : [["Address", server.target], ["Transport", server.transport]]),
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
  return html`<dl>${facts.filter(([, value]) => value !== "" && value !== null && value !== undefined).map(([word, value]) => html`<dt>${word}</dt><dd>${typeof value === "object" ? value : visible(value)}</dd>`)}</dl>
    ${server.changes.length ? html`<h2>Changed since you trusted it</h2>
      ${server.changes.map((one) => html`<details open><summary>${visible(one.tool)}${one.held ? " (held back)" : ""}</summary><pre tabindex="0">${diff(visible(one.diff))}</pre></details>`)}
      <button type="button" class="main" onClick=${trust}>Trust what is shown here</button>` : null}`;
}

function Soon({ seconds }) {
  const [left, setLeft] = useState(Math.ceil(seconds));
  useEffect(() => {
    setLeft(Math.ceil(seconds));
    const timer = setInterval(() => setLeft((value) => Math.max(value - 1, 0)), 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return html`${left ? `in ${left} s` : "now"}`;
}

const FOLLOWED = 2_000;
function Logs({ name }) {
  const [lines, problem, again] = useRead(() => get(`${path(name)}/logs?lines=500`), [name]);
  const [follow, setFollow] = useState(true);
  const box = useRef(null);
  useEffect(() => {
    if (!follow) return undefined;
    const timer = setInterval(() => document.hidden || again(), FOLLOWED);
    return () => clearInterval(timer);
  }, [follow]);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, follow]);
  return html`<label class="check"><input type="checkbox" checked=${follow} onChange=${(event) => setFollow(event.target.checked)} /> Follow what it writes to standard error</label><${Problem} text=${problem} />
    <pre class="foreign log" ref=${box} tabindex="0" aria-label="What it wrote">${lines ? visible(lines.join("\n")) || "It wrote nothing." : "Reading…"}</pre>`;
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
      setResult(await post("/v1/tools/invoke", { tool: one.name, arguments: given, framed: false }));
    } catch (error) {
      setResult(null);
      throw error;
    }
  });
  const schema = one.inputSchema || one.parameters || {};
  return html`<details class="card" onToggle=${(event) => show(event.target.open)}>
    <summary><span class="tool">${visible(one.name)}</span> <span class="dim short">${visible((one.description || "").split("\n")[0]).slice(0, 160)}</span></summary>
    ${open ? html`<p class="foreign plain">${visible(one.description || "")}</p>
      <p><a href=${`#why/${encodeURIComponent(one.name)}`}>Why an agent has it, or has it not</a></p>
      <${SchemaForm} schema=${schema} word="Call it" act=${run} />
      <details><summary>Schema</summary><${Json} value=${schema} /></details>
      ${result?.busy ? html`<p role="status" class="dim">Calling… a question about it may be shown above.</p>` : null}
      ${result?.content ? html`<h3>${result.isError ? "It failed" : "Result"}</h3><${Blocks} content=${result.content} />` : null}` : null}
  </details>`;
}

// What a resource or a message of a prompt holds, as blocks that can be shown.
function shownAs({ type, text, data, blob: bytes, mimeType = "", uri = "", name = "", resource }) {
  if (resource) return shownAs(resource);
  if (text !== undefined && text !== null) return { type: "text", text };
  const kind = ["image", "audio"].find((one) => mimeType.startsWith(`${one}/`));
  const base64 = data || bytes;
  if (base64 && kind) return { type: kind, mimeType, data: base64 };
  return { type: type || "file", name: name || uri || mimeType, size: base64 ? Math.floor((base64.length * 3) / 4) : 0, path: uri };
}

function Resource({ server, one }) {
  const [got, set] = useState(null);
  const read = (uri) => trying(async () => set((await post(`${path(server)}/read`, { uri })).contents));
  const holes = one.template ? holesOf(one.uri) : [];
  const schema = { properties: Object.fromEntries(holes.map((name) => [name, { type: "string" }])), additionalProperties: false };
  return html`<details class="card" onToggle=${(event) => event.target.open && !got && !one.template && read(one.uri)}>
    <summary><span class="tool">${visible(one.name || one.uri)}</span> <span class="dim">${visible(one.uri)}${one.mimeType ? ` · ${visible(one.mimeType)}` : ""}</span></summary>
    ${one.template ? html`<${SchemaForm} schema=${schema} word="Read" act=${(given) => read(filledIn(one.uri, given))} />` : null}
    ${got ? html`<${Blocks} content=${got.map(shownAs)} />` : null}</details>`;
}

// The names in a template of an address (RFC 6570), and the address with values in their places.
const HOLE = /\{([+#./;?&]?)([^{}]+)\}/g;
const namesIn = (words) => words.split(",").map((name) => name.replace(/[*:].*$/, ""));
const holesOf = (template) => [...new Set([...template.matchAll(HOLE)].flatMap((hole) => namesIn(hole[2])))];
const JOINED = { "": ["", ","], "+": ["", ","], "#": ["#", ","], ".": [".", "."], "/": ["/", "/"], ";": [";", ";"], "?": ["?", "&"], "&": ["&", "&"] };
function filledIn(template, given) {
  return template.replace(HOLE, (_, kind, words) => {
    const [first, between] = JOINED[kind];
    const written = kind === "+" || kind === "#" ? encodeURI : encodeURIComponent;
    const parts = namesIn(words).filter((name) => given[name]).map((name) => (";?&".includes(kind) && kind ? `${name}=${written(given[name])}` : written(given[name])));
    return parts.length ? first + parts.join(between) : "";
  });
}

function Prompt({ server, one }) {
  const [got, set] = useState(null);
  const fields = Object.fromEntries(one.arguments.map((field) => [field.name, { type: "string", description: field.description }]));
  const schema = { properties: fields, required: one.arguments.filter((field) => field.required).map((field) => field.name), additionalProperties: false };
  const fill = (given) => trying(async () => set(await post(`${path(server)}/prompt`, { name: one.name, arguments: given })));
  return html`<details class="card"><summary><span class="tool">${visible(one.name)}</span> <span class="dim">${visible(one.description || "")}</span></summary>
    <${SchemaForm} schema=${schema} word="Fill in" act=${fill} />
    ${got?.description ? html`<p class="foreign">${visible(got.description)}</p>` : null}
    ${(got?.messages || []).map((message) => html`<h3>${visible(message.role)}</h3><${Blocks} content=${[shownAs(message.content)]} />`)}
    ${got ? html`<button type="button" onClick=${() => saySoon(got)}>Say it in a new conversation</button>` : null}</details>`;
}

// The text of a prompt, put where the next message is typed.
function saySoon(prompt) {
  shared.set({ draft: prompt.messages.map((message) => message.content.text || "").filter(Boolean).join("\n\n") });
  location.hash = "#talk/new";
}

function SignIn({ name, onClose }) {
  const [begun, problem] = useRead(() => post(`${path(name)}/auth`, { listen: true }), [name]);
  const [failed, say] = useState("");
  const field = useRef(null);
  const address = begun?.authorizationUrl || "";
  // The browser comes back to the gateway by itself; this hears how it went.
  useEffect(() => {
    if (!address) return undefined;
    let gone = false;
    post(`${path(name)}/auth`, { wait: true }).then(
      () => gone || (tell("Signed in."), onClose()),
      (error) => gone || say(error.message),
    );
    return () => {
      gone = true;
    };
  }, [address]);
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
    <${Problem} text=${problem || failed} />
    ${host ? html`${begun.warning ? html`<p class="warn">${visible(begun.warning)}</p>` : null}<p>1. <a href=${address} target="_blank" rel="noreferrer noopener">Open the sign-in page of ${visible(host)}</a></p>
      <p>2. When it has sent you back, this is done. If your browser is on another machine, paste the address it ended at:</p>
      <form onSubmit=${finish} class="fields"><label>Address<input ref=${field} type="url" required /></label>
        <div class="row"><button type="button" onClick=${onClose}>Close</button><button class="main">Finish</button></div></form>`
      : problem ? html`<button type="button" onClick=${onClose}>Close</button>` : html`<p class="dim">Asking…</p>`}
  <//>`;
}
