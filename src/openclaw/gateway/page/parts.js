// Pieces that several views are made of.
import { html, useEffect, useRef, useState } from "/page/preact.js";
import { blob } from "/page/api.js";
import { Code } from "/page/markdown.js";
import { tell } from "/page/store.js";

// Characters that hide or turn text around are shown as what they are.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
export const visible = (text) =>
  String(text).replace(HIDDEN, (one) => `\u27e8U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

export function ago(time) {
  const seconds = Math.max(0, (Date.now() - new Date(time).getTime()) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(time).toLocaleDateString();
}

export const seconds = (value) => (value < 0.1 ? `${Math.round(value * 1000)} ms` : value < 10 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`);
export const size = (bytes) => (bytes < 1024 ? `${bytes} B` : bytes < 1048576 ? `${(bytes / 1024).toFixed(0)} kB` : `${(bytes / 1048576).toFixed(1)} MB`);

// Run something that may be refused, and say why.
export async function trying(act) {
  try {
    return await act();
  } catch (error) {
    if (error.name !== "AbortError") tell(error.message);
    return undefined;
  }
}

// Something read from the gateway: [value, error, read again].
export function useRead(read, keys) {
  const [got, set] = useState({ value: undefined, error: "" });
  const [count, again] = useState(0);
  useEffect(() => {
    let gone = false;
    read().then(
      (value) => !gone && set({ value, error: "" }),
      (error) => !gone && set((before) => ({ ...before, error: error.message })),
    );
    return () => {
      gone = true;
    };
  }, [...keys, count]);
  return [got.value, got.error, () => again((number) => number + 1)];
}

export function Problem({ text }) {
  return text ? html`<p class="problem" role="alert">${visible(text)}</p>` : null;
}

export function Json({ value }) {
  return html`<${Code} text=${visible(JSON.stringify(value, null, 2))} kind="json" />`;
}

// The arguments of a call. A text of several lines is shown as its lines, below the rest: people decide by what they can read.
export function Arguments({ value = {} }) {
  const isLong = ([, one]) => typeof one === "string" && one.includes("\n");
  const all = Object.entries(value);
  const long = all.filter(isLong);
  const rest = Object.fromEntries(all.filter((one) => !isLong(one)));
  return html`${long.length < all.length || !all.length ? html`<${Json} value=${rest} />` : null}
    ${long.map(([name, text]) => html`<h4>${visible(name)}</h4><pre tabindex="0">${visible(text)}</pre>`)}`;
}

// Whose text it is, in words: servers are named as they are in the config.
export const whose = (source) => visible(source).replace(/^media:/, "a picture or recording of ").replace(/mcp:/, "the server ");

// What a tool or a server gave. It is somebody else's text, and looks like it.
export function Blocks({ content, base = "" }) {
  return content.map((block) => html`<${Block} block=${block} base=${base} />`);
}

const LONG = 4_000;
function Block({ block, base }) {
  const [whole, setWhole] = useState(false);
  if (block.type === "text") {
    const text = visible(block.text);
    const cut = !whole && text.length > LONG;
    return html`<pre class="foreign" tabindex="0">${cut ? text.slice(0, LONG) : text}</pre>
      ${cut ? html`<button type="button" class="quiet" onClick=${() => setWhole(true)}>Show all ${size(text.length)}</button>` : null}
      ${block.cut ? html`<p class="dim">${block.cut.toLocaleString()} more characters are in the session's export.</p>` : null}`;
  }
  if (block.type === "image" || block.type === "audio") return html`<${Media} block=${block} address=${block.media && `${base}/media/${block.media}`} />`;
  if (block.media) return html`<${Kept} block=${block} />`;
  return html`<p class="foreign">${visible(block.name || block.type)} ${block.size ? size(block.size) : ""} <code>${visible(block.path || "")}</code></p>`;
}

const SHOWN = ["image/png", "image/jpeg", "image/gif", "image/webp"];
function Media({ block, address: from }) {
  const [address, set] = useState("");
  useEffect(() => {
    let made = "";
    const show = (data) => {
      // The kind is one of ours, whatever the bytes claim to be.
      made = URL.createObjectURL(new Blob([data], { type: block.mimeType }));
      set(made);
    };
    if (block.data) show(Uint8Array.from(atob(block.data), (one) => one.charCodeAt(0)));
    else trying(async () => show(await blob(from)));
    return () => made && URL.revokeObjectURL(made);
  }, [block]);
  const name = `${block.type} (${visible(block.mimeType)})`;
  if (!address) return html`<p class="dim">${name}</p>`;
  if (block.type === "audio") return html`<audio controls src=${address} aria-label=${name}></audio>`;
  if (SHOWN.includes(block.mimeType)) return html`<img class="picture" src=${address} alt=${name} />`;
  return html`<a href=${address} download="file">${name}</a>`;
}

// A file that came with a result, kept by the gateway for a week: heard or seen here where that is possible, else saved.
function Kept({ block }) {
  const kind = ["image", "audio"].find((one) => block.mimeType?.startsWith(`${one}/`));
  const address = `/v1/media/${block.media.split("/").map(encodeURIComponent).join("/")}`;
  return html`<div class="foreign"><p>${visible(block.name)} <span class="dim">${size(block.size)}</span>
      <button type="button" class="quiet" onClick=${async () => saved(await trying(() => blob(address)), block.name)}>Save</button></p>
    ${kind ? html`<${Media} block=${{ ...block, type: kind }} address=${address} />` : null}</div>`;
}

// A file for the person's own disk.
export function saved(data, name) {
  if (!data) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function Dialog({ title, onClose, children, alert = false }) {
  const box = useRef(null);
  useEffect(() => {
    box.current.showModal();
  }, []);
  return html`<dialog ref=${box} role=${alert ? "alertdialog" : "dialog"} aria-label=${title} onClose=${onClose} onCancel=${onClose}>
    <h2>${title}</h2>${children}
  </dialog>`;
}

export function Confirm({ title, text, act, word, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose} alert=${true}>
    <p>${text}</p>
    <div class="row">
      <button type="button" autofocus onClick=${onClose}>No</button>
      <button type="button" class="danger" onClick=${() => (onClose(), act())}>${word}</button>
    </div>
  <//>`;
}

// A long list of which only the beginning is drawn, until more is wanted.
const PAGE = 100;
export function Long({ items, draw, empty }) {
  const [shown, show] = useState(PAGE);
  if (!items.length) return html`<p class="dim">${empty}</p>`;
  return html`${items.slice(0, shown).map(draw)}
    ${items.length > shown ? html`<button type="button" class="quiet" onClick=${() => show(shown + 5 * PAGE)}>Show more of ${items.length}</button>` : null}`;
}

const WHOLE = "arguments";
// A form for a JSON Schema of flat fields; anything deeper is typed as JSON. Answers with an object, or says what is wrong.
export function SchemaForm({ schema, word, act, children }) {
  const named = Object.entries(schema?.properties || {});
  // One that says nothing of its fields is given a whole object.
  const isOpen = !named.length && schema?.additionalProperties !== false && word !== "Send";
  const fields = isOpen ? [[WHOLE, { title: "Arguments" }]] : named;
  const required = schema?.required || [];
  const form = useRef(null);
  const [problem, say] = useState("");
  const submit = (event) => {
    event.preventDefault();
    const given = {};
    for (const [name, kind] of fields) {
      const field = form.current.elements[name];
      let value;
      if (field instanceof HTMLInputElement && field.type === "checkbox") value = field.checked;
      else if (field instanceof HTMLSelectElement && field.multiple) value = [...field.selectedOptions].map((one) => one.value);
      else value = field.value;
      if (value === "" && !required.includes(name)) continue;
      if (kind.type === "number" || kind.type === "integer") value = Number(value);
      else if (field.dataset.json && value !== "") {
        try {
          value = JSON.parse(value);
        } catch {
          say(`${name} is not JSON.`);
          return;
        }
      }
      given[name] = value;
    }
    say("");
    act(isOpen ? given[WHOLE] || {} : given);
  };
  return html`<form ref=${form} onSubmit=${submit} class="fields">
    ${fields.map(([name, kind]) => html`<${Field} name=${name} kind=${kind} required=${required.includes(name)} />`)}
    ${fields.length ? null : html`<p class="dim">It takes no arguments.</p>`}
    <${Problem} text=${problem} />
    <div class="row">${children}<button type="submit" class="main">${word}</button></div>
  </form>`;
}

const WORDS = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
function Field({ name, kind, required }) {
  const options = kind.enum || kind.oneOf?.map((one) => one.const);
  const titles = kind.enumNames || kind.oneOf?.map((one) => one.title);
  const many = kind.type === "array" && (kind.items?.enum || kind.items?.anyOf?.map((one) => one.const));
  const label = visible(kind.title || name);
  const about = kind.description ? html`<small>${visible(kind.description)}</small>` : null;
  let field;
  if (options || many)
    field = html`<select name=${name} required=${required} multiple=${Boolean(many)}>
      ${required || many ? null : html`<option value=""></option>`}
      ${(options || many).map((one, place) => html`<option value=${one} selected=${(kind.default ?? []) === one || (many && (kind.default || []).includes(one))}>${visible(titles?.[place] ?? one)}</option>`)}
    </select>`;
  else if (kind.type === "boolean") field = html`<input type="checkbox" name=${name} checked=${kind.default === true} />`;
  else if (kind.type === "number" || kind.type === "integer")
    field = html`<input type="number" name=${name} required=${required} min=${kind.minimum} max=${kind.maximum} step=${kind.type === "integer" ? 1 : "any"} value=${kind.default ?? ""} />`;
  else if (kind.type === "string")
    field = html`<input type=${WORDS[kind.format] || "text"} name=${name} required=${required} minlength=${kind.minLength} maxlength=${kind.maxLength} value=${kind.default ?? ""} />`;
  else field = html`<textarea name=${name} required=${required} data-json="1" rows="3" placeholder="JSON">${kind.default === undefined ? "" : JSON.stringify(kind.default)}</textarea>`;
  if (kind.type === "boolean") return html`<label class="check">${field} ${label}${about}</label>`;
  return html`<label>${label}${required ? " *" : ""}${field}${about}</label>`;
}
