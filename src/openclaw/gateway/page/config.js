// The config file: its text with its mistakes by line, tried out while one types, and what would change shown before it is saved.
import { html, useEffect, useMemo, useRef, useState } from "/page/preact.js";
import { call, get } from "/page/api.js";
import { Dialog, Problem, useRead, visible } from "/page/parts.js";
import { fitting, placeAt } from "/page/schema.js";
import { tell } from "/page/store.js";

const PAUSE = 400;
const NOTHING = { problems: [], warnings: [], refused: "" };

export function Config() {
  const [file, wrong, again] = useRead(() => get("/v1/config"), []);
  const [schema] = useRead(() => get("/v1/config/schema"), []);
  const [text, setText] = useState(null);
  const [at, setAt] = useState(0);
  const [state, setState] = useState(NOTHING);
  const [asking, ask] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    if (file) setText(file.text);
  }, [file]);
  useEffect(() => {
    if (!file || text === null || text === file.text) {
      setState(NOTHING);
      return undefined;
    }
    const timer = setTimeout(() => put(true), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  async function put(tryOnly) {
    try {
      const answer = await call("PUT", "/v1/config", { text, revision: file.revision, tryOnly });
      setState({ ...NOTHING, warnings: answer.warnings });
      return true;
    } catch (error) {
      setState({ ...NOTHING, problems: error.body.problems || [], refused: error.body.problems ? "" : error.message });
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
    const place = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + Math.max(problem.column - 1, 0);
    field.current.focus();
    field.current.setSelectionRange(place, place);
  };
  const moved = (event) => setAt(event.target.selectionStart);
  const here = useMemo(() => (text === null || !schema ? null : placeAt(text, at)), [text, at, schema]);
  const offers = useMemo(() => (here ? fitting(schema, here) : []), [here]);
  const insert = (offer) => {
    const fresh = text.slice(0, here.start) + offer.written + text.slice(at);
    setText(fresh);
    const place = here.start + offer.written.length;
    requestAnimationFrame(() => {
      field.current.focus();
      field.current.setSelectionRange(place, place);
      setAt(place);
    });
  };
  if (wrong) return html`<section class="view"><h1>Config</h1><${Problem} text=${wrong} /></section>`;
  if (text === null) return html`<section class="view"><h1>Config</h1></section>`;
  const changed = text !== file.text;
  const isBad = state.refused || state.problems.length > 0;
  const Line = ({ one, kind }) => html`<p class=${kind}><button type="button" class="quiet" onClick=${() => to(one)}>Line ${one.line}, column ${one.column}</button> ${one.path ? `${visible(one.path)}: ` : ""}${visible(one.message)} <span class="dim">${visible(one.hint)}</span></p>`;
  return html`<section class="view"><h1>Config</h1><p class="dim file">${visible(file.file)}</p>
    <textarea class="source" ref=${field} spellcheck="false" aria-label="The config file" value=${text} rows=${Math.min(Math.max(text.split("\n").length + 2, 16), 40)}
      onInput=${(event) => (setText(event.target.value), moved(event))} onKeyUp=${moved} onClick=${moved}></textarea>
    <div class="foot">${offers.length ? html`<div class="offers" role="group" tabindex="0" aria-label="What fits where you type"><span class="dim">${visible(here.path.join(".")) || "At the top"}:</span>
      ${offers.slice(0, 100).map((offer) => html`<button type="button" class="quiet" title=${offer.about} onClick=${() => insert(offer)}>${offer.shown}</button>`)}${offers.length > 100 ? html`<span class="dim">and ${offers.length - 100} more</span>` : null}</div>` : null}
    <${Problem} text=${state.refused} />
    ${state.problems.map((one) => html`<${Line} one=${one} kind="problem" />`)}
    ${state.warnings.map((one) => html`<${Line} one=${one} kind="warn" />`)}
    <div class="row"><button type="button" disabled=${!changed} onClick=${() => setText(file.text)}>Undo all</button><button type="button" class="main" disabled=${!changed || isBad} onClick=${() => ask(true)}>Save…</button>
      <span class="dim" role="status">${changed ? (isBad ? "It cannot be used like this." : "It can be used.") : "Credentials are masked; programs are added at a terminal."}</span></div></div>
    ${asking ? html`<${Dialog} title="Save this?" onClose=${() => ask(false)}><pre class="diff" tabindex="0">${difference(file.text.split("\n"), text.split("\n"))}</pre>
      <div class="row"><button type="button" autofocus onClick=${() => ask(false)}>No</button><button type="button" class="main" onClick=${save}>Save</button></div><//>` : null}
  </section>`;
}

const AROUND = 2;
// More lines than this on both sides are compared as a whole: nobody reads such a change line by line.
const MOST = 2_000;
// The lines that change, with a few around them.
function difference(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const steps = [...before.slice(0, start).map((line) => [" ", line]), ...(old.length > MOST || fresh.length > MOST ? [...old.map((line) => ["-", line]), ...fresh.map((line) => ["+", line])] : common(old, fresh)),
    ...before.slice(before.length - end).map((line) => [" ", line])];
  const near = (place) => steps.slice(Math.max(place - AROUND, 0), place + AROUND + 1).some(([mark]) => mark !== " ");
  const shown = [];
  let number = 0;
  let wasShown = false;
  steps.forEach(([mark, line], place) => {
    if (mark !== "-") number += 1;
    const isShown = near(place);
    if (isShown && !wasShown) shown.push(html`<span class="place">@@ line ${number || 1} @@${"\n"}</span>`);
    if (isShown) shown.push(html`<span class=${mark === "+" ? "added" : mark === "-" ? "removed" : ""}>${mark} ${visible(line)}${"\n"}</span>`);
    wasShown = isShown;
  });
  return shown;
}

// The longest lines that both have in the same order stay; everything else goes or comes.
function common(old, fresh) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let one = old.length - 1; one >= 0; one -= 1)
    for (let two = fresh.length - 1; two >= 0; two -= 1)
      lengths[one][two] = old[one] === fresh[two] ? lengths[one + 1][two + 1] + 1 : Math.max(lengths[one + 1][two], lengths[one][two + 1]);
  const steps = [];
  let [one, two] = [0, 0];
  while (one < old.length || two < fresh.length) {
    if (one < old.length && two < fresh.length && old[one] === fresh[two]) {
      steps.push([" ", old[one]]);
      one += 1;
      two += 1;
    } else if (two >= fresh.length || (one < old.length && lengths[one + 1][two] >= lengths[one][two + 1])) steps.push(["-", old[one++]]);
    else steps.push(["+", fresh[two++]]);
  }
  return steps;
}
