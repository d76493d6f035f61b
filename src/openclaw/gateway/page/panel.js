// The app of a server beside a call of its tool (MCP Apps): a frame on another origin, and what it may ask of us and of its server.
import { html, useEffect, useRef, useState } from "/page/preact.js";
import { call, get, post } from "/page/api.js";
import { onEvent } from "/page/live.js";
import { Dialog, Problem, trying, visible } from "/page/parts.js";
import { shared, tell, use } from "/page/store.js";

const PROTOCOL = "2026-01-26";
const LOWEST = 48;
const HIGHEST = 800;
// Characters of one message of an app, and of what it may write for the person to send.
const LONGEST = 1_000_000;
const LONGEST_WORDS = 10_000;
const UNKNOWN = -32601;
const REFUSED = -32000;

// Calls whose results came while somebody looked: their apps are shown at once, those of earlier calls at a click.
export const arrived = new Set();

// Which tools have an app, by agent. Asked once, and again when the tools of a server change.
const known = {};
export function useApps(agent) {
  const [tools, set] = useState(known[agent] || {});
  useEffect(() => {
    let gone = false;
    const read = () =>
      get(`/v1/apps?agent=${encodeURIComponent(agent)}`).then(
        (answer) => {
          known[agent] = answer.tools;
          if (!gone) set(answer.tools);
        },
        () => {},
      );
    if (known[agent]) set(known[agent]);
    else read();
    const stop = onEvent((kind) => kind === "tools" && read());
    return () => {
      gone = true;
      stop();
    };
  }, [agent]);
  return tools;
}

export function Panel({ item, server, agent, sessionKey }) {
  const [open, show] = useState(arrived.has(item.id));
  if (!open) return html`<p class="panel-bar"><button type="button" class="quiet" onClick=${() => show(true)}>Show the app of ${visible(server)}</button></p>`;
  return html`<${Shown} ...${{ item, server, agent, sessionKey }} onClose=${() => (arrived.delete(item.id), show(false))} />`;
}

function Shown({ item, server, agent, sessionKey, onClose }) {
  const [opened, set] = useState(null);
  const [problem, say] = useState("");
  const [link, ask] = useState(null);
  const frame = useRef(null);
  const version = use(shared, (value) => value.version);

  useEffect(() => {
    let gone = false;
    let id = "";
    post("/v1/apps", { tool: item.tool, agent, sessionKey, call: item.id }).then(
      (answer) => {
        id = answer.app;
        if (gone) leave(id);
        else set(answer);
      },
      (error) => gone || say(error.message),
    );
    return () => {
      gone = true;
      if (id) leave(id);
    };
  }, [item.id, sessionKey]);

  useEffect(() => {
    if (!opened) return undefined;
    const shown = frame.current;
    // Asked for each time: a frame that is moved on the page gets another window.
    const send = (message) => shown.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, opened.origin);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => (dark.matches ? "dark" : "light");
    const context = () => ({
      theme: theme(), displayMode: "inline", availableDisplayModes: ["inline"], platform: "web", locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      containerDimensions: { width: shown.clientWidth, maxHeight: HIGHEST },
      ...(opened.definition ? { toolInfo: { id: item.id, tool: opened.definition } } : {}),
    });
    const answers = {
      "ui/initialize": () => ({
        protocolVersion: PROTOCOL, hostInfo: { name: "openclaw", version: version || "0" },
        hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, message: { text: {} } }, hostContext: context(),
      }),
      ping: () => ({}),
      "tools/call": ({ name, arguments: given }) => post(`/v1/apps/${opened.app}/call`, { name: String(name), arguments: given || {} }),
      "resources/read": ({ uri }) => post(`/v1/apps/${opened.app}/read`, { uri: String(uri) }),
      "ui/request-display-mode": () => ({ mode: "inline" }),
      "ui/open-link": ({ url }) => visit(String(url)),
      "ui/message": ({ content }) => write(content),
    };
    let asking = false;
    const visit = async (url) => {
      if (asking || !isWeb(url)) return { isError: true };
      asking = true;
      const agreed = await new Promise((answer) => ask({ url, answer }));
      asking = false;
      ask(null);
      return agreed ? {} : { isError: true };
    };
    // What an app wants to be said is written for the person: they send it, or do not.
    const write = (content) => {
      const words = [content].flat().filter((one) => one?.type === "text").map((one) => String(one.text)).join("\n").slice(0, LONGEST_WORDS);
      const field = document.getElementById("message");
      if (!words.trim() || !field || field.value.trim()) return { isError: true };
      shared.set({ draft: visible(words) });
      tell(`The app of ${server} wrote a message for you to send.`);
      return {};
    };
    const told = (method, params) => {
      if (method === "ui/notifications/initialized") {
        send({ method: "ui/notifications/tool-input", params: { arguments: item.arguments || {} } });
        send({ method: "ui/notifications/tool-result", params: opened.result || shownResult(item) });
      } else if (method === "ui/notifications/size-changed" && params.height > 0) {
        shown.style.height = `${Math.min(Math.max(Math.ceil(params.height), LOWEST), HIGHEST)}px`;
      } else if (method === "ui/notifications/request-teardown") onClose();
    };
    const heard = async (event) => {
      if (!event.source || event.source !== shown.contentWindow || event.origin !== opened.origin) return;
      const message = event.data;
      if (message?.jsonrpc !== "2.0" || typeof message.method !== "string") return;
      const params = typeof message.params === "object" && message.params ? message.params : {};
      if (message.id === undefined) {
        told(message.method, params);
        return;
      }
      try {
        const act = Object.hasOwn(answers, message.method) ? answers[message.method] : null;
        if (!act) send({ id: message.id, error: { code: UNKNOWN, message: "This is not supported here." } });
        else if (JSON.stringify(params).length > LONGEST) send({ id: message.id, error: { code: REFUSED, message: "The message is too long." } });
        else send({ id: message.id, result: await act(params) });
      } catch (error) {
        send({ id: message.id, error: { code: REFUSED, message: error.message } });
      }
    };
    const themed = () => send({ method: "ui/notifications/host-context-changed", params: { theme: theme() } });
    addEventListener("message", heard);
    dark.addEventListener("change", themed);
    shown.src = opened.url;
    return () => {
      removeEventListener("message", heard);
      dark.removeEventListener("change", themed);
      send({ id: "teardown", method: "ui/resource-teardown", params: {} });
    };
  }, [opened]);

  const hosts = (opened?.hosts || []).map((one) => one.replace(/^\w+:\/\//, ""));
  return html`<figure class=${`panel ${opened && !opened.border ? "bare" : ""}`}>
    <figcaption class="panel-bar"><span class="dim grow">App of ${visible(server)}, not ours${hosts.length ? `. It may reach ${visible(hosts.join(", "))}` : ""}</span>
      <button type="button" class="quiet" onClick=${onClose}>Close the app</button></figcaption>
    <${Problem} text=${problem} />
    ${opened ? html`<iframe ref=${frame} title=${`App of ${visible(server)}`} sandbox="allow-scripts allow-same-origin allow-forms" allow="" referrerpolicy="no-referrer"></iframe>`
      : problem ? null : html`<p class="dim">Opening…</p>`}
    ${link ? html`<${Dialog} title="Open this page?" onClose=${() => link.answer(false)} alert=${true}>
      <p>The app of ${visible(server)} wants you to visit it:</p><p class="address">${visible(link.url)}</p>
      <div class="row"><button type="button" autofocus onClick=${() => link.answer(false)}>No</button>
        <button type="button" class="main" onClick=${() => (window.open(link.url, "_blank", "noopener,noreferrer"), link.answer(true))}>Open it</button></div><//>` : null}
  </figure>`;
}

const leave = (id) => trying(() => call("DELETE", `/v1/apps/${id}`));

// What is left of a result that nobody kept as it came.
const shownResult = (item) => ({
  content: (item.result || []).filter((block) => block.type === "text").map((block) => ({ type: "text", text: block.text })),
  ...(item.isError ? { isError: true } : {}),
});

function isWeb(url) {
  try {
    return new URL(url).protocol === "https:" && url.length <= 2048;
  } catch {
    return false;
  }
}
