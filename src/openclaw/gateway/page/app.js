// The page: who is signed in, which view is shown, and how the connection is.
import { html, render, useEffect, useRef, useState } from "/page/preact.js";
import { Activity } from "/page/activity.js";
import { signIn, signInWith, signOut, token, whenSignedOut } from "/page/api.js";
import { Config } from "/page/config.js";
import { connect, disconnect } from "/page/live.js";
import { Problem, visible } from "/page/parts.js";
import { Questions, Tray } from "/page/questions.js";
import { Servers } from "/page/servers.js";
import { shared, use } from "/page/store.js";
import { Talk } from "/page/talk.js";
import { Status, Why } from "/page/why.js";

const VIEWS = [
  ["talk", "Talk"],
  ["questions", "Questions"],
  ["servers", "Servers"],
  ["why", "Why"],
  ["activity", "Activity"],
  ["config", "Config"],
  ["status", "Status"],
];
const KEYS = { c: "talk", q: "questions", s: "servers", w: "why", a: "activity", f: "config", t: "status" };
const place = () => {
  const [view = "talk", ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  return { view: view || "talk", rest };
};

function App() {
  const [signed, setSigned] = useState(null);
  const [at, setAt] = useState(place());
  const [problem, say] = useState("");
  const [help, showHelp] = useState(false);
  const main = useRef(null);
  const waiting = useRef("");

  useEffect(() => {
    whenSignedOut(() => {
      disconnect();
      setSigned(false);
    });
    // A ticket that stood in the address named no view, and is gone from it.
    signIn().finally(() => setAt(place())).then(setSigned, (error) => {
      say(error.message);
      setSigned(Boolean(token()));
    });
    const moved = () => setAt(place());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    if (!signed) return undefined;
    connect();
    // A page that a browser keeps to come back to must not watch for others.
    const back = (event) => event.persisted && connect();
    addEventListener("pagehide", disconnect);
    addEventListener("pageshow", back);
    return () => {
      removeEventListener("pagehide", disconnect);
      removeEventListener("pageshow", back);
      disconnect();
    };
  }, [signed]);
  useEffect(() => {
    document.title = `${VIEWS.find(([name]) => name === at.view)?.[1] || "OpenClaw"} · OpenClaw`;
  }, [at.view]);

  // Single letters, where nobody types. None of them answers a question.
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      if (waiting.current === "g" && KEYS[event.key]) location.hash = `#${KEYS[event.key]}`;
      else if (event.key === "/") {
        event.preventDefault();
        document.getElementById("search")?.focus();
      } else if (event.key === "?") showHelp((value) => !value);
      else if (event.key === "Escape") showHelp(false);
      waiting.current = event.key === "g" ? "g" : "";
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);

  if (signed === null) return html`<p class="hello">OpenClaw</p>`;
  if (!signed) return html`<${SignIn} problem=${problem} done=${() => (say(""), setSigned(true))} />`;
  const [first, second] = at.rest;
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <nav aria-label="Views">${VIEWS.map(([name, word]) => html`<a href=${`#${name}`} aria-current=${name === at.view ? "page" : undefined}>${word}<${Badge} view=${name} /></a>`)}</nav>
      <${Line} />
      <button type="button" class="quiet" onClick=${signOut}>Sign out</button>
    </header>
    ${at.view === "questions" ? null : html`<${Tray} />`}
    <main id="main" ref=${main} tabindex="-1">
      ${at.view === "questions" ? html`<${Questions} />`
        : at.view === "servers" ? html`<${Servers} name=${first} part=${second} />`
        : at.view === "why" ? html`<${Why} name=${first} />`
        : at.view === "activity" ? html`<${Activity} />`
        : at.view === "config" ? html`<${Config} />`
        : at.view === "status" ? html`<${Status} />`
        : html`<${Talk} id=${first} />`}
    </main>
    <${Told} />
    ${help ? html`<aside class="help" role="note"><h2>Keys</h2><p><kbd>g</kbd> then <kbd>c</kbd> talk, <kbd>q</kbd> questions, <kbd>s</kbd> servers, <kbd>w</kbd> why, <kbd>a</kbd> activity, <kbd>f</kbd> config, <kbd>t</kbd> status · <kbd>/</kbd> search · <kbd>Enter</kbd> send · <kbd>Shift+Enter</kbd> new line · <kbd>?</kbd> this</p></aside>` : null}`;
}

function Badge({ view }) {
  const count = use(shared, (value) =>
    view === "questions" ? value.questions.length : view === "servers" ? value.servers.filter((one) => ["failed", "needs-auth", "unreachable"].includes(one.state) || one.changes.length).length : 0);
  return count ? html` <span class="badge">${count}<span class="hidden"> waiting</span></span>` : null;
}

function Line() {
  const line = use(shared, (value) => value.line);
  const words = { connecting: "Connecting…", live: "Live", lost: `Lost. Again in ${line.seconds} s` };
  return html`<span class=${`line ${line.state}`} role="status">${words[line.state]}</span>`;
}

function Told() {
  const told = use(shared, (value) => value.told);
  return html`<div class="told" role="status" aria-live="polite">${told.map((one) => html`<p>${visible(one.text)}</p>`)}</div>`;
}

function SignIn({ problem, done }) {
  const [wrong, say] = useState("");
  const field = useRef(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signInWith(field.current.value);
      done();
    } catch (error) {
      say(error.message);
    }
  };
  return html`<main class="sign-in"><h1>OpenClaw</h1>
    <p>Run this in a terminal, and the page opens signed in:</p><pre tabindex="0">openclaw ui</pre>
    <form onSubmit=${submit} class="fields"><label>Or the gateway's token<input ref=${field} type="password" autocomplete="off" required /></label>
      <${Problem} text=${wrong || problem} /><button class="main">Sign in</button></form></main>`;
}

const root = document.getElementById("root");
// What stood there for the first look would stay.
root.replaceChildren();
render(html`<${App} />`, root);
