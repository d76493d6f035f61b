// Conversations: the list, one of them, and what is said next.
import { html, useEffect, useMemo, useRef, useState } from "/page/preact.js";
import { blob, call, get, post, stream } from "/page/api.js";
import { onEvent } from "/page/live.js";
import { Markdown } from "/page/markdown.js";
import { Blocks, Confirm, Dialog, Json, Problem, ago, seconds, size, trying, useRead, visible } from "/page/parts.js";
import { shared, tell, use } from "/page/store.js";

const go = (id) => (location.hash = id ? `#talk/${id}` : "#talk");

export function Talk({ id }) {
  const [words, search] = useState("");
  const [list, problem, again] = useRead(() => get(`/v1/sessions?limit=100&search=${encodeURIComponent(words)}`), [words]);
  // A run that begins or ends changes the order, and perhaps a title.
  useEffect(() => onEvent((kind) => kind === "run" && again()), []);
  return html`<div class=${`talk ${id ? "one" : "none"}`}>
    <aside class="sessions" aria-label="Conversations">
      <div class="row"><button type="button" class="main" onClick=${() => go("new")}>New conversation</button></div>
      <input id="search" type="search" placeholder="Search" aria-label="Search conversations" value=${words} onInput=${(event) => search(event.target.value)} />
      <${Problem} text=${problem} />
      <ul>${(list?.sessions || []).map((one) => html`<li key=${one.id}>
        <a href=${`#talk/${one.id}`} aria-current=${one.id === id ? "page" : undefined}>
          <span class="title">${visible(one.title) || "Without words"}</span>
          <span class="dim">${ago(one.updatedAt)} · ${one.agent}</span>
        </a></li>`)}
      </ul>
      ${list && !list.sessions.length ? html`<p class="dim">${words ? "None has these words." : "No conversations yet."}</p>` : null}
    </aside>
    ${id === "new" || !id ? html`<${Conversation} key="new" id="" />` : html`<${Conversation} key=${id} id=${id} />`}
  </div>`;
}

// What is drawn of a conversation: entries of the store, and events of a run after them.
function drawn(entries) {
  const items = [];
  const calls = {};
  for (const entry of entries) {
    if (entry.type !== "message") items.push({ kind: "mark", text: MARKS[entry.type](entry) });
    else if (entry.role === "user") items.push({ kind: "user", content: entry.content, sources: entry.sources });
    else if (entry.role === "assistant") {
      for (const block of entry.content) {
        if (block.type === "text") items.push({ kind: "answer", text: block.text });
        else if (block.type === "thinking") items.push({ kind: "thoughts", text: block.text });
        else {
          calls[block.id] = { kind: "call", id: block.id, tool: block.name, arguments: block.arguments };
          items.push(calls[block.id]);
        }
      }
    } else Object.assign(calls[entry.callId] || {}, { result: entry.content, isError: entry.isError, source: entry.source });
  }
  return items;
}
const MARKS = {
  compaction: () => "The conversation was shortened here: the model went on from notes.",
  reset: () => "A new conversation begins here.",
  undo: () => "The message before was taken back.",
};

// One event of a run, put behind what is drawn already.
function advance(items, kind, data) {
  const last = items[items.length - 1];
  const replaced = (item) => [...items.slice(0, -1), item];
  switch (kind) {
    case "text":
    case "reasoning": {
      const word = kind === "text" ? "answer" : "thoughts";
      return last?.kind === word && last.live
        ? replaced({ ...last, text: last.text + data.delta })
        : [...items, { kind: word, text: data.delta, live: true }];
    }
    case "message":
      return items.map((item) => (item.live ? { ...item, live: false } : item));
    case "call":
      return [...items, { kind: "call", id: data.id, tool: data.tool, label: data.label, arguments: data.arguments, live: true }];
    case "progress":
      return items.map((item) => (item.id === data.id && item.live ? { ...item, progress: data.text } : item));
    case "result":
      return items.map((item) =>
        item.id === data.id && item.live
          ? { ...item, live: false, result: data.content, isError: data.isError, seconds: data.seconds }
          : item);
    case "compacted":
      return [...items, { kind: "mark", text: MARKS.compaction() }];
    case "notice":
      return [...items, { kind: "mark", text: data.text }];
    case "ended":
      return data.reason === "done" ? items : [...items, { kind: "ending", text: data.error || `It ended: ${data.reason}.` }];
    default:
      return items;
  }
}

function Conversation({ id }) {
  const [session, problem, again] = useRead(async () => (id ? get(`/v1/sessions/${id}`) : null), [id]);
  const [items, setItems] = useState([]);
  const [sending, setSending] = useState([]);
  // What was sent and is in no event yet.
  const queue = useRef([]);
  const wait = (waiting) => {
    queue.current = waiting;
    setSending(waiting);
  };
  const [run, setRun] = useState(null);
  const [usage, setUsage] = useState(null);
  const [asked, ask] = useState("");
  const end = useRef(null);
  const box = useRef(null);
  const key = session?.key || "";
  const runs = use(shared, (value) => value.runs);

  useEffect(() => {
    if (session) setItems(drawn(session.entries));
  }, [session]);

  // The run of this conversation that goes on, whoever began it: in this tab, in another, or before a reload.
  const current = useMemo(
    () => Object.values(runs).find((one) => one.state === "running" && ((key && one.sessionKey === key) || one.run === run)),
    [runs, key, run],
  );
  useEffect(() => {
    if (!current || (!session && id)) return undefined;
    const stop = new AbortController();
    watch(current.run, stop.signal, session ? session.entries.length : 0);
    return () => stop.abort();
  }, [current?.run, session !== undefined]);

  async function watch(name, signal) {
    let seen = 0;
    // What the store has of this run is drawn again from its events, so that nothing stands there twice.
    const before = session ? drawn(session.entries.filter((entry) => entry.at < new Date(current.beganAt * 1000).toISOString())) : [];
    const said = session ? session.entries.filter((entry) => entry.role === "user" && entry.at >= new Date(current.beganAt * 1000).toISOString()) : [];
    let shown = [...before, ...drawn(said)];
    let stored = said.length > 0;
    for (let failures = 0; !signal.aborted && failures < 30; failures += 1) {
      try {
        await stream(`/v1/runs/${name}/events?after=${seen}`, {
          signal,
          act: (kind, data, number) => {
            seen = number;
            failures = 0;
            if (kind === "gap") return again();
            if (kind === "message") setUsage(data.usage);
            if (kind === "started") setUsage((value) => ({ ...value, window: data.window, model: data.model }));
            if (!stored) {
              stored = true;
              const [first, ...others] = queue.current;
              if (first) shown = [...shown, { ...first, pending: false }];
              wait(others);
            }
            shown = advance(shown, kind, data);
            setItems(shown);
            if (kind === "ended") finish();
            return undefined;
          },
        });
        if (!signal.aborted) return;
      } catch (error) {
        if (signal.aborted || error.status === 404) return;
        await new Promise((goOn) => setTimeout(goOn, 1000));
      }
    }
  }

  async function finish() {
    if (id) return again();
    // A new conversation has an id of its own now.
    const found = await trying(() => get(`/v1/sessions?limit=1&search=${encodeURIComponent(runs[run]?.sessionKey || "")}`));
    if (found?.sessions.length) go(found.sessions[0].id);
    return undefined;
  }

  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) end.current?.scrollIntoView({ block: "end" });
  }, [items, sending]);
  const scrolled = (event) => {
    const { scrollHeight, scrollTop, clientHeight } = event.target;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 80;
  };

  async function say(message, attachments, agent, model) {
    const name = crypto.randomUUID();
    const content = [...(message ? [{ type: "text", text: message }] : []), ...attachments.map((one) => ({ type: "file", name: one.name, size: one.size }))];
    atEnd.current = true;
    wait([...queue.current, { kind: "user", content, pending: true }]);
    const body = {
      message, id: name, model, agent: key ? session.agent : agent, sessionKey: key || runs[run]?.sessionKey || "",
      attachments: attachments.map(({ name: title, mimeType, data }) => ({ name: title, mimeType, data })),
    };
    const begun = await trying(() => post("/v1/runs", body));
    if (!begun) {
      wait(queue.current.filter((one) => one.content !== content));
      return false;
    }
    // The gateway has it: it is not lost any more, whatever becomes of this page.
    wait(queue.current.map((one) => (one.content === content ? { ...one, pending: false } : one)));
    shared.set(({ runs: known }) => ({ runs: { ...known, [begun.run]: begun } }));
    setRun(begun.run);
    return true;
  }

  const cancel = () => trying(() => post(`/v1/runs/${current.run}/cancel`));
  const title = visible(session?.title || "") || "New conversation";
  return html`<section class="conversation" aria-label="Conversation">
    <header class="bar">
      <a class="back quiet" href="#talk" aria-label="All conversations">‹</a>
      <h1>${title}</h1>
      ${session ? html`<div class="row">
        <button type="button" class="quiet" onClick=${() => ask("name")}>Rename</button>
        <button type="button" class="quiet" onClick=${() => save(session)}>Export</button>
        <button type="button" class="quiet" onClick=${() => ask("delete")}>Delete</button>
      </div>` : null}
    </header>
    <${Problem} text=${problem} />
    <div class="messages" ref=${box} onScroll=${scrolled} tabindex="0" aria-label="What was said">
      ${session?.more ? html`<p class="dim">Earlier messages are in the export.</p>` : null}
      ${!id && !items.length && !sending.length ? html`<p class="hello">What shall we do?</p>` : null}
      ${items.map((item) => html`<${Item} item=${item} base=${session ? `/v1/sessions/${session.id}` : ""} />`)}
      ${sending.map((item) => html`<${Item} item=${item} />`)}
      ${current ? html`<p class="dim working" role="status">Working…</p>` : null}
      <div ref=${end}></div>
    </div>
    <${Composer} say=${say} busy=${Boolean(current)} cancel=${cancel} isNew=${!id} usage=${usage} />
    ${asked === "name" ? html`<${Rename} session=${session} onClose=${() => (ask(""), again())} />` : null}
    ${asked === "delete" ? html`<${Confirm} title="Delete this conversation?" text=${`“${title}” will be gone for good.`} word="Delete"
        onClose=${() => ask("")} act=${() => trying(async () => (await call("DELETE", `/v1/sessions/${session.id}`), go(""), tell("Deleted.")))} />` : null}
  </section>`;
}

async function save(session) {
  const data = await trying(() => blob(`/v1/sessions/${session.id}/export?format=markdown`));
  if (!data) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = `${(session.title || "conversation").replace(/[^\w -]+/g, "").slice(0, 40) || "conversation"}.md`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Rename({ session, onClose }) {
  const field = useRef(null);
  const submit = async (event) => {
    event.preventDefault();
    if (await trying(() => post(`/v1/sessions/${session.id}`, { title: field.current.value }))) onClose();
  };
  return html`<${Dialog} title="Rename" onClose=${onClose}><form onSubmit=${submit} class="fields">
    <label>Title<input ref=${field} value=${session.title} autofocus maxlength="80" /></label>
    <div class="row"><button type="button" onClick=${onClose}>Cancel</button><button class="main">Rename</button></div>
  </form><//>`;
}

function Item({ item, base }) {
  switch (item.kind) {
    case "user":
      return html`<article class=${`said ${item.pending ? "pending" : ""}`} aria-label="You">
        ${item.content.map((block, place) =>
          item.sources?.[place] ? html`<details class="foreign-box"><summary>${visible(item.sources[place])}</summary><${Blocks} content=${[block]} base=${base} /></details>`
          : block.type === "text" ? html`<p class="plain">${block.text}</p>`
          : html`<${Blocks} content=${[block]} base=${base} />`)}
        ${item.pending ? html`<span class="dim">sending</span>` : null}
      </article>`;
    case "answer":
      return html`<article class="answer" aria-live=${item.live ? "off" : "polite"}><${Markdown} text=${item.text} /></article>`;
    case "thoughts":
      return html`<details class="thoughts"><summary>Thoughts</summary><p class="plain">${visible(item.text)}</p></details>`;
    case "call":
      return html`<${Call} item=${item} base=${base} />`;
    case "ending":
      return html`<p class="problem" role="status">${visible(item.text)}</p>`;
    default:
      return html`<p class="mark">${visible(item.text)}</p>`;
  }
}

function Call({ item, base }) {
  const state = item.result === undefined ? (item.live ? "running" : "no result") : item.isError ? "failed" : "done";
  return html`<details class=${`call ${state.replace(" ", "-")}`}>
    <summary><span class="tool">${visible(item.label || item.tool)}</span>
      <span class="dim">${state}${item.seconds !== undefined ? ` in ${seconds(item.seconds)}` : ""}${item.live && item.progress ? ` · ${visible(item.progress)}` : ""}</span></summary>
    <h3>Arguments</h3><${Json} value=${item.arguments} />
    ${item.result ? html`<h3>Result <span class="dim">text of ${visible(item.source || item.tool)}, not ours</span></h3><${Blocks} content=${item.result} base=${base} />` : null}
  </details>`;
}

const ITEM_BYTES = 15 * 1024 * 1024;
function Composer({ say, busy, cancel, isNew, usage }) {
  const [files, setFiles] = useState([]);
  const [agent, setAgent] = useState("");
  const [model, setModel] = useState("");
  const [over, setOver] = useState(false);
  const field = useRef(null);
  const [choice] = useRead(() => get("/v1/agents"), []);
  const grow = () => {
    field.current.rows = Math.min(Math.max(field.current.value.split("\n").length, 1), 12);
  };
  const take = async (list) => {
    for (const file of list) {
      if (file.size > ITEM_BYTES) tell(`${file.name} is larger than 15 MB.`);
      else {
        const bytes = new Uint8Array(await file.arrayBuffer());
        let text = "";
        for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
        setFiles((before) => [...before, { name: file.name || "pasted", mimeType: file.type, size: file.size, data: btoa(text) }]);
      }
    }
  };
  const send = async () => {
    const message = field.current.value;
    if (!message.trim() && !files.length) return;
    field.current.value = "";
    grow();
    setFiles([]);
    if (!(await say(message, files, agent, model))) {
      // Nothing that was typed is lost.
      field.current.value = message;
      setFiles(files);
      grow();
    }
  };
  const key = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  const paste = (event) => {
    const list = [...(event.clipboardData?.files || [])];
    if (list.length) {
      event.preventDefault();
      take(list);
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take([...event.dataTransfer.files]);
  };
  const agents = choice?.agents || [];
  const models = choice?.models || [];
  const share = usage?.window ? ` · ${Math.round((100 * (usage.inputTokens || 0)) / usage.window)} % of its window` : "";
  return html`<form class=${`composer ${over ? "over" : ""}`} onSubmit=${(event) => (event.preventDefault(), send())}
      onDragOver=${(event) => (event.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    ${files.length ? html`<ul class="files">${files.map((file) => html`<li>${visible(file.name)} <span class="dim">${size(file.size)}</span>
      <button type="button" class="quiet" aria-label=${`Remove ${file.name}`} onClick=${() => setFiles(files.filter((one) => one !== file))}>×</button></li>`)}</ul>` : null}
    <textarea id="message" ref=${field} rows="1" aria-label="Message" placeholder="Message" onInput=${grow} onKeyDown=${key} onPaste=${paste}></textarea>
    <div class="row">
      <label class="quiet attach">Attach<input type="file" multiple onChange=${(event) => (take([...event.target.files]), (event.target.value = ""))} /></label>
      ${isNew && agents.length > 1 ? html`<select aria-label="Agent" value=${agent} onChange=${(event) => setAgent(event.target.value)}>
        ${agents.map((one) => html`<option value=${one.id}>${visible(one.name || one.id)}</option>`)}</select>` : null}
      ${models.length > 1 ? html`<select aria-label="Model" value=${model} onChange=${(event) => setModel(event.target.value)}>
        <option value="">the agent's model</option>${models.map((one) => html`<option value=${one}>${visible(one)}</option>`)}</select>` : null}
      <span class="dim grow">${usage?.outputTokens ? `${(usage.inputTokens + usage.outputTokens).toLocaleString()} tokens${share}` : ""}</span>
      ${busy ? html`<button type="button" id="stop" onClick=${cancel}>Stop</button>` : null}
      <button type="submit" class="main">Send</button>
    </div>
  </form>`;
}
