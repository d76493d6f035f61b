// The config file: its text with its mistakes by line, tried out while one types, and what would change shown before it is saved.
import { html, useEffect, useMemo, useRef, useState } from "/page/preact.js";
import { call, get } from "/page/api.js";
import { Dialog, Problem, useRead, visible } from "/page/parts.js";
import { tell } from "/page/store.js";

const PAUSE = 400;

export function Config() {
  const [file, wrong, again] = useRead(() => get("/v1/config"), []);
  const [schema] = useRead(() => get("/v1/config/schema"), []);
  const [text, setText] = useState(null);
  const [state, setState] = useState({ problems: [], refused: "" });
  const [asking, ask] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    if (file) setText(file.text);
  }, [file]);
  useEffect(() => {
    if (!file || text === null || text === file.text) {
      setState({ problems: [], refused: "" });
      return undefined;
    }
    const timer = setTimeout(() => put(true), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  async function put(tryOnly) {
    try {
      const answer = await call("PUT", "/v1/config", { text, revision: file.revision, tryOnly });
      setState({ problems: answer.warnings, refused: "" });
      return true;
    } catch (error) {
      setState({ problems: error.body.problems || [], refused: error.body.problems ? "" : error.message });
      return false;
    }
  }
  const save = async () => {
    ask(false);
    if (await put(false)) {
      tell("Saved.");
      again();
    }
  };
  const to = (problem) => {
    const lines = text.split("\n");
    const at = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + Math.max(problem.column - 1, 0);
    field.current.focus();
    field.current.setSelectionRange(at, at);
  };
  const keys = useMemo(() => Object.keys(schema?.properties || {}).sort(), [schema]);
  if (wrong) return html`<section class="view"><h1>Config</h1><${Problem} text=${wrong} /></section>`;
  if (text === null) return html`<section class="view"><h1>Config</h1></section>`;
  const changed = text !== file.text;
  const bad = state.refused || state.problems.some((one) => one.line && !one.isWarning);
  return html`<section class="view"><header class="bar"><h1>Config</h1><span class="dim">${visible(file.file)}</span></header>
    <textarea class="source" ref=${field} spellcheck="false" aria-label="The config file" value=${text} rows=${Math.min(Math.max(text.split("\n").length + 2, 16), 40)} onInput=${(event) => setText(event.target.value)}></textarea>
    <${Problem} text=${state.refused} />
    ${state.problems.map((one) => html`<p class="problem"><button type="button" class="quiet" onClick=${() => to(one)}>Line ${one.line}</button> ${visible(one.path)}: ${visible(one.message)} <span class="dim">${visible(one.hint)}</span></p>`)}
    <div class="row"><button type="button" disabled=${!changed} onClick=${() => setText(file.text)}>Undo all</button><button type="button" class="main" disabled=${!changed || Boolean(state.refused)} onClick=${() => ask(true)}>Save…</button>
      <span class="dim">${changed ? (bad ? "" : "It can be used.") : "Credentials are masked; programs are added at a terminal."}</span></div>
    <details><summary>Sections there are</summary><p>${keys.map((key) => html`<code>${key}</code> `)}</p></details>
    ${asking ? html`<${Dialog} title="Save this?" onClose=${() => ask(false)}><pre class="diff" tabindex="0">${difference(file.text, text)}</pre>
      <div class="row"><button type="button" autofocus onClick=${() => ask(false)}>No</button><button type="button" class="main" onClick=${save}>Save</button></div><//>` : null}
  </section>`;
}

// Lines that are only before or only after, with what they have in common at both ends left out.
function difference(before, after) {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  return [
    html`<span class="place">@@ line ${start + 1} @@${"\n"}</span>`,
    ...old.slice(start, old.length - end).map((line) => html`<span class="removed">- ${visible(line)}${"\n"}</span>`),
    ...fresh.slice(start, fresh.length - end).map((line) => html`<span class="added">+ ${visible(line)}${"\n"}</span>`),
  ];
}
