// Conversations: the list, one of them, and what is said next.
import { html, useEffect, useMemo, useRef, useState } from "/page/preact.js";
import { blob, call, get, post, stream } from "/page/api.js";
import { onEvent, withKey } from "/page/live.js";
import { Markdown } from "/page/markdown.js";
import { Arguments, Blocks, Confirm, Dialog, Problem, ago, saved, seconds, size, trying, useRead, visible, whose } from "/page/parts.js";
import { Panel, arrived, useApps } from "/page/panel.js";
import { shared, tell, use } from "/page/store.js";

const go = (id) => (location.hash = id ? `#talk/${id}` : "#talk");
// The address of a conversation that the store does not have yet: that of the run which begins it.
const RUN = "run.";
const ROWS = 100;

export function Talk({ id }) {
  const [words, search] = useState("");
  const [count, setCount] = useState(ROWS);
  const [list, problem, again] = useRead(() => sessions(words, count), [words, count]);
  // A run that begins or ends changes the order, and perhaps a title; a gateway that came back has its own list.
  useEffect(() => onEvent((kind) => (kind === "run" || kind === "snapshot") && again()), []);
  // A conversation that began here keeps its place on the page when it gets an address of its own.
  const [begun, setBegun] = useState({ number: 0, id: "" });
  const isNew = !id || id === "new" || id.startsWith(RUN);
  useEffect(() => {
    if (isNew && begun.id) setBegun({ number: begun.number + 1, id: "" });
  }, [isNew]);
  const fresh = () => {
    setBegun({ number: begun.number + 1, id: "" });
    go("new");
  };
  const isHere = isNew || id === begun.id;
  // On a narrow screen one of both is shown: the conversation, if there is none to choose.
  const isOne = id || (list && !list.total && !words);
  return html`<div class=${`talk ${isOne ? "one" : "none"}`}>
    <aside class="sessions" aria-label="Conversations">
      <div class="row"><button type="button" class="main" onClick=${fresh}>New conversation</button></div>
      <input id="search" type="search" placeholder="Search" aria-label="Search conversations" value=${words} onInput=${(event) => search(event.target.value)} />
      <${Problem} text=${problem} />
      <ul>${(list?.sessions || []).map((one) => html`<li key=${one.id}>
        <a href=${`#talk/${one.id}`} aria-current=${one.id === id ? "page" : undefined}>
          <span class="title">${visible(one.title) || "Without words"}</span>
          <span class="dim">${ago(one.updatedAt)} · ${one.agent}</span>
        </a></li>`)}
      </ul>
      ${list && list.total > list.sessions.length ? html`<button type="button" class="quiet" onClick=${() => setCount(count + ROWS)}>Show more of ${list.total}</button>` : null}
      ${list && !list.sessions.length ? html`<p class="dim">${words ? "None has these words." : "No conversations yet."}</p>` : null}
    </aside>
    <${Conversation} key=${isHere ? `new-${begun.number}` : id} id=${isNew ? "" : id} of=${id?.startsWith(RUN) ? id.slice(RUN.length) : ""}
      onChanged=${again} onBegun=${(found) => setBegun({ number: begun.number, id: found })} />
  </div>`;
}

async function sessions(words, count) {
  const found = [];
  let total = 0;
  do {
    const page = await get(`/v1/sessions?limit=${Math.min(count - found.length, 200)}&skip=${found.length}&search=${encodeURIComponent(words)}`);
    found.push(...page.sessions);
    total = page.sessions.length ? page.total : found.length;
  } while (found.length < Math.min(count, total));
  return { sessions: found, total };
}

// What is drawn of a conversation: entries of the store, and events of a run after them. `took` has the seconds of calls that were watched.
function drawn(entries, took) {
  const items = [];
  const calls = {};
  const add = (entry, item) => items.push({ key: `${entry.id}/${items.length}`, ...item });
  for (const entry of entries) {
    if (entry.type !== "message") add(entry, { kind: "mark", text: MARKS[entry.type](entry) });
    else if (entry.role === "user") add(entry, { kind: "user", content: entry.content, sources: entry.sources });
    else if (entry.role === "assistant") {
      for (const block of entry.content) {
        if (block.type === "text") add(entry, { kind: "answer", text: block.text });
        else if (block.type === "thinking") add(entry, { kind: "thoughts", text: block.text });
        else {
          calls[block.id] = { kind: "call", key: block.id, id: block.id, tool: block.name, arguments: block.arguments, seconds: took[block.id] };
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
  note: (entry) => visible(entry.text),
};

const LOST = "The gateway stopped while this was under way. What was done until then may be missing here; a call without a result may have been carried out.";

// One event of a run, put behind what is drawn of it already.
function advance(items, kind, data) {
  const last = items[items.length - 1];
  const replaced = (item) => [...items.slice(0, -1), item];
  const added = (item) => [...items, { key: `live/${items.length}`, ...item }];
  switch (kind) {
    case "said":
      return added({ kind: "user", content: [...(data.text ? [{ type: "text", text: data.text }] : []), ...data.files.map((one) => ({ type: "file", ...one }))] });
    case "text":
    case "reasoning": {
      const word = kind === "text" ? "answer" : "thoughts";
      return last?.kind === word && last.live ? replaced({ ...last, text: last.text + data.delta }) : added({ kind: word, text: data.delta, live: true });
    }
    case "message":
      return items.map((item) => (item.live && item.kind !== "call" ? { ...item, live: false } : item));
    case "call":
      return added({ kind: "call", key: data.id, id: data.id, tool: data.tool, label: data.label, arguments: data.arguments, live: true });
    case "progress":
      return items.map((item) => (item.id === data.id && item.live ? { ...item, progress: data.text } : item));
    case "result":
      return items.map((item) => (item.id === data.id && item.live ? { ...item, live: false, result: data.content, isError: data.isError, seconds: data.seconds } : item));
    case "compacted":
      return added({ kind: "mark", text: MARKS.compaction() });
    case "notice":
      return added({ kind: "notice", text: data.text });
    case "ended":
      return data.reason === "done" ? items : added({ kind: "ending", text: data.error || `It ended: ${data.reason}.` });
    case "lost":
      return advance(items.map((item) => ({ ...item, live: false })), "ended", { error: LOST });
    default:
      return items;
  }
}

// A signal that aborts with another one, or when the tab is hidden; given when the tab is seen.
async function whileSeen(signal) {
  const stop = new AbortController();
  const ended = () => (signal.removeEventListener("abort", ended), document.removeEventListener("visibilitychange", hid), stop.abort());
  const hid = () => document.hidden && ended();
  if (document.hidden) await new Promise((seen) => (document.addEventListener("visibilitychange", seen, { once: true }), signal.addEventListener("abort", seen, { once: true })));
  signal.addEventListener("abort", ended);
  document.addEventListener("visibilitychange", hid);
  if (signal.aborted) stop.abort();
  return stop.signal;
}

const time = (entry) => new Date(entry.at).getTime();
const usedIn = (entries) => entries.findLast((entry) => entry.usage?.outputTokens)?.usage;

function Conversation({ id, of, onBegun, onChanged }) {
  const [session, problem, again] = useRead(async () => (id ? get(`/v1/sessions/${id}`) : null), [id]);
  // Every entry that was read, in order; and the oldest part of them, before which there may be more.
  const [entries, setEntries] = useState([]);
  const [oldest, setOldest] = useState(null);
  const known = useRef(new Map());
  const took = useRef({});
  // The run that is watched: what of the store is not its own, and what it did.
  const [live, setLive] = useState(null);
  // What the last run said that no store keeps.
  const [tail, setTail] = useState([]);
  const over = useRef("");
  const [sending, setSending] = useState([]);
  const [run, setRun] = useState(of);
  const [seenToEnd, setSeenToEnd] = useState("");
  const [usage, setUsage] = useState(null);
  const [asked, ask] = useState("");
  const end = useRef(null);
  const box = useRef(null);
  const key = session?.key || "";
  const runs = use(shared, (value) => value.runs);

  const take = (page) => {
    for (const entry of page.entries) known.current.set(entry.id, entry);
    setEntries([...known.current.values()].sort((one, other) => (one.id < other.id ? -1 : 1)));
  };
  useEffect(() => {
    if (!session) return;
    take(session);
    setOldest((before) => before || session);
    // What the store has now need not be drawn from events any more.
    setLive((value) => (value && value.run === over.current ? null : value));
  }, [session]);
  const earlier = async () => {
    const page = await trying(() => get(`/v1/sessions/${id}?before=${oldest.first}`));
    if (!page) return;
    const before = box.current.scrollHeight;
    atEnd.current = false;
    take(page);
    setOldest(page);
    requestAnimationFrame(() => (box.current.scrollTop += box.current.scrollHeight - before));
  };

  // Opened by the address of a run: it goes on, or its conversation is in the store by now.
  useEffect(() => {
    if (!of) return;
    trying(async () => {
      const found = await get(`/v1/runs/${of}`);
      shared.set(({ runs: all }) => ({ runs: { ...all, [of]: found } }));
    });
  }, []);

  // The run of this conversation that goes on, whoever began it: in this tab, in another, or before a reload; and one of ours that was over
  // before anybody could watch it.
  const current = useMemo(
    () => Object.values(runs).find((one) => one.state === "running" && ((key && one.sessionKey === key) || one.run === run)) || (run === seenToEnd ? undefined : runs[run]),
    [runs, key, run, seenToEnd],
  );
  useEffect(() => {
    if (!current || (!session && id)) return undefined;
    const stop = new AbortController();
    watch(current, stop.signal);
    return () => stop.abort();
  }, [current?.run, session !== undefined]);

  async function watch({ run: name, sessionKey }, signal) {
    let seen = 0;
    let items = [];
    let since = Infinity;
    setTail([]);
    for (let failures = 0; !signal.aborted && failures < 30; failures += 1) {
      // A tab that nobody looks at holds no connection: what happens meanwhile is kept for it.
      const watching = await whileSeen(signal);
      try {
        await stream(`/v1/runs/${name}/events?after=${seen}`, {
          signal: watching,
          act: (kind, data, number) => {
            seen = number;
            failures = 0;
            if (kind === "gap") return again();
            if (kind === "said") setSending((all) => all.filter((one) => one.run !== name));
            if (kind === "started") {
              // From here on the store has what the run did: it is drawn from its events, so that nothing stands there twice.
              since = data.at * 1000;
              setUsage((value) => ({ ...value, window: data.window, model: data.model }));
            }
            if (kind === "message") setUsage((value) => ({ ...value, ...data.usage }));
            if (kind === "result") {
              took.current[data.id] = data.seconds;
              arrived.add(data.id);
            }
            items = advance(items, kind, data);
            setLive({ run: name, sessionKey, since, items });
            if (kind === "ended") finish(name, sessionKey, items);
            return undefined;
          },
        });
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (error.status === 404) {
          lost(name, sessionKey, items);
          return;
        }
        if (watching.aborted) {
          failures = -1;
          continue;
        }
        await new Promise((goOn) => setTimeout(goOn, 1000));
      }
    }
  }

  // A gateway that came back knows nothing of the runs of the one before.
  useEffect(() => {
    const { run: name, sessionKey, items } = live || { run, sessionKey: "", items: [] };
    if (!name || name === over.current || name === seenToEnd || runs[name]) return;
    get(`/v1/runs/${name}`).then(
      (found) => shared.set(({ runs: all }) => ({ runs: { ...all, [name]: found } })),
      (error) => error.status === 404 && lost(name, sessionKey, items),
    );
  }, [runs]);

  function lost(name, sessionKey, items) {
    if (over.current === name) return;
    const settled = advance(items, "lost");
    setLive((value) => ({ run: name, sessionKey, since: value ? value.since : Infinity, items: settled }));
    setSending((all) => all.filter((one) => one.run !== name));
    finish(name, sessionKey, settled);
    // What was heard of it before is not so any more.
    shared.set(({ runs: { [name]: _, ...others } }) => ({ runs: others }));
  }

  function finish(name, sessionKey, items) {
    over.current = name;
    setSeenToEnd(name);
    setTail(items.filter((item) => item.kind === "ending" || item.kind === "notice"));
    if (id) again();
    else if (sessionKey) adopt(sessionKey);
  }

  // A new conversation has an id of its own now.
  async function adopt(sessionKey) {
    const found = await trying(() => withKey(sessionKey));
    if (!found) return;
    onBegun(found.id);
    location.replace(`#talk/${found.id}`);
  }

  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) end.current?.scrollIntoView({ block: "end" });
  }, [entries, live, sending]);
  // Whoever reads the end goes on reading it when a question or a longer message takes room.
  useEffect(() => {
    const resized = new ResizeObserver(() => atEnd.current && end.current?.scrollIntoView({ block: "end" }));
    resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  const scrolled = (event) => {
    const { scrollHeight, scrollTop, clientHeight } = event.target;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 80;
  };

  async function say(message, attachments, agent, model) {
    const name = crypto.randomUUID();
    const content = [...(message ? [{ type: "text", text: message }] : []), ...attachments.map((one) => ({ type: "file", name: one.name, size: one.size }))];
    atEnd.current = true;
    setSending((all) => [...all, { kind: "user", key: name, run: name, content, pending: true }]);
    const body = {
      message, id: name, model, agent: key ? session.agent : agent, sessionKey: key || runs[run]?.sessionKey || "",
      attachments: attachments.map(({ name: title, mimeType, data }) => ({ name: title, mimeType, data })),
    };
    const begun = await trying(() => post("/v1/runs", body));
    if (!begun) {
      setSending((all) => all.filter((one) => one.run !== name));
      return false;
    }
    // The gateway has it: it is not lost any more, whatever becomes of this page.
    setSending((all) => all.map((one) => (one.run === name ? { ...one, pending: false } : one)));
    shared.set(({ runs: all }) => ({ runs: { ...all, [begun.run]: all[begun.run] || begun } }));
    setRun(begun.run);
    if (!id) history.replaceState(null, "", `#talk/${RUN}${begun.run}`);
    return true;
  }

  const cancel = () => trying(() => post(`/v1/runs/${current.run}/cancel`));
  const where = { agent: session?.agent || runs[run]?.agent || "", sessionKey: key || runs[run]?.sessionKey || "" };
  const apps = useApps(where.agent);
  const title = visible(session?.title || "") || "New conversation";
  const base = session ? `/v1/sessions/${session.id}` : "";
  const since = live ? live.since : Infinity;
  // Made once: what was said before does not change while an answer comes.
  const draw = (item) => [
    html`<${Item} key=${item.key} item=${item} base=${base} />`,
    ...(item.result !== undefined && Object.hasOwn(apps, item.tool) ? [html`<${Panel} key=${`app/${item.id}`} item=${item} server=${apps[item.tool].server} ...${where} />`] : []),
  ];
  const before = useMemo(
    () => drawn(since === Infinity ? entries : entries.filter((entry) => time(entry) < since), took.current).flatMap(draw),
    [entries, since, base, apps, where.sessionKey],
  );
  const after = [...(live ? live.items : tail), ...sending].flatMap(draw);
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
    <div class="messages" ref=${box} onScroll=${scrolled} tabindex="0" role="region" aria-label="What was said">
      ${oldest?.more ? html`<p class="mark"><button type="button" id="earlier" class="quiet" onClick=${earlier}>Show earlier messages</button></p>` : null}
      ${!id && !after.length ? html`<${Hello} />` : null}
      ${[...before, ...after]}
      ${current ? html`<p class="dim working" role="status">Working…</p>` : null}
      <div ref=${end}></div>
    </div>
    <${Composer} say=${say} busy=${Boolean(current)} cancel=${cancel} isNew=${!id} usage=${usage?.outputTokens ? usage : { ...usage, ...usedIn(entries) }} />
    ${asked === "name" ? html`<${Rename} session=${session} onClose=${() => (ask(""), again(), onChanged())} />` : null}
    ${asked === "delete" ? html`<${Confirm} title="Delete this conversation?" text=${`“${title}” will be gone for good.`} word="Delete"
        onClose=${() => ask("")} act=${() => trying(async () => (await call("DELETE", `/v1/sessions/${session.id}`), go(""), onChanged(), tell("Deleted.")))} />` : null}
  </section>`;
}

// What stands there before anything was said, and what a new gateway still lacks.
const OFFLINE = "builtin/offline";
function Hello() {
  const servers = use(shared, (value) => value.servers);
  const isLive = use(shared, (value) => value.line.state === "live");
  const [choice] = useRead(() => get("/v1/agents"), []);
  const chosen = choice?.agents[0]?.model;
  const isOffline = choice && (chosen ? chosen === OFFLINE : choice.models.every((one) => one === OFFLINE));
  return html`<div class="hello"><p>What shall we do?</p>
    ${isOffline ? html`<p class="dim">No language model is set up: tools are chosen by words alone. In a terminal: <code>openclaw setup</code></p>` : null}
    ${isLive && !servers.length ? html`<p class="dim">No server is connected. <a href="#servers">Connect one</a></p>` : null}</div>`;
}

async function save(session) {
  const data = await trying(() => blob(`/v1/sessions/${session.id}/export?format=markdown`));
  saved(data, `${(session.title || "conversation").replace(/[^\w -]+/g, "").slice(0, 40) || "conversation"}.md`);
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
          item.sources?.[place] ? html`<details class="foreign-box"><summary>${whose(item.sources[place])}</summary><${Blocks} content=${[block]} base=${base} /></details>`
          : block.type === "text" ? html`<p class="plain">${visible(block.text)}</p>`
          : html`<${Blocks} content=${[block]} base=${base} />`)}
        ${item.pending ? html`<span class="dim">sending</span>` : null}
      </article>`;
    case "answer":
      return html`<article class="answer" aria-live=${item.live ? "off" : "polite"}><${Markdown} text=${item.text} /></article>`;
    case "thoughts":
      return html`<details class="thoughts"><summary>Thoughts</summary><p class="plain">${visible(item.text)}</p></details>`;
    case "call":
      return html`<${Call} item=${item} base=${base} />`;
    case "notice":
      return html`<p class="mark">${visible(item.text)}</p>`;
    case "ending":
      return html`<p class="problem" role="status">${visible(item.text)}</p>`;
    default:
      return html`<p class="mark">${visible(item.text)}</p>`;
  }
}

function Call({ item, base }) {
  const state = item.result === undefined ? (item.live ? "running" : "no result") : item.isError ? "failed" : "done";
  return html`<details class=${`call ${state.replace(" ", "-")}`}>
    <summary><span class="tool">${visible(item.label?.startsWith("MCP: ") ? item.tool : item.label || item.tool)}</span>
      <span class="dim">${state}${item.seconds !== undefined ? ` in ${seconds(item.seconds)}` : ""}${item.live && item.progress ? ` · ${visible(item.progress)}` : ""}</span></summary>
    <h3>Arguments</h3><${Arguments} value=${item.arguments} />
    ${item.result ? html`<h3>Result <span class="dim">text of ${whose(item.source || item.tool)}, not ours</span></h3><${Blocks} content=${item.result} base=${base} />` : null}
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
  // What another view wrote, for the person to send.
  const draft = use(shared, (value) => value.draft);
  useEffect(() => {
    if (!draft) return;
    field.current.value = draft;
    shared.set({ draft: "" });
    grow();
    field.current.focus();
  }, [draft]);
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
  const stopping = useRef(0);
  const key = (event) => {
    // Once could be a slip.
    if (event.key === "Escape" && busy) {
      if (Date.now() - stopping.current < 3000) cancel();
      else tell("Press Esc again to stop the answer.");
      stopping.current = Date.now();
    }
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
  const share = usage.window ? ` · ${Math.round((100 * (usage.inputTokens || 0)) / usage.window)} % of its window` : "";
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
        <option value="">default model</option>${models.map((one) => html`<option value=${one}>${visible(one)}</option>`)}</select>` : null}
      <span class="dim grow">${usage.outputTokens ? `${(usage.inputTokens + usage.outputTokens).toLocaleString()} tokens${share}` : ""}</span>
      ${busy ? html`<button type="button" id="stop" onClick=${cancel}>Stop</button>` : null}
      <button type="submit" class="main">Send</button>
    </div>
  </form>`;
}
