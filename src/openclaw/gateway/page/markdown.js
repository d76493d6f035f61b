// Markdown as nodes, never as markup: paragraphs, headings, lists, quotes, tables, code, emphasis, links. Everything else is text.
// A picture in it is a link: fetching its address would tell somebody that it was shown.
import { html } from "/page/preact.js";
import { visible } from "/page/parts.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const CELLS = /(?<!\\)\|/;

// Longer texts are shown as they are: nobody reads them as a page, and looking through them would hold the page up.
const LONGEST = 60_000;
// How far the end of an emphasis, a link or a piece of code is looked for.
const REACH = 1_500;

export function Markdown({ text: given }) {
  const text = visible(given.replaceAll("\r\n", "\n"));
  if (text.length > LONGEST) return html`<div class="prose"><p class="plain">${text}</p></div>`;
  return html`<div class="prose">${blocks(text.split("\n"))}</div>`;
}

function blocks(lines) {
  const found = [];
  let at = 0;
  const take = (test) => {
    const taken = [];
    while (at < lines.length && test(lines[at])) taken.push(lines[at++]);
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (!line.trim()) {
      at += 1;
    } else if (fence) {
      at += 1;
      const code = take((one) => !one.trim().startsWith(fence[1]));
      at += 1;
      found.push(html`<${Code} text=${code.join("\n")} kind=${fence[2]} />`);
    } else if (heading) {
      at += 1;
      const level = Math.min(heading[1].length + 2, 6);
      found.push(html`<${`h${level}`}>${inline(heading[2])}<//>`);
    } else if (RULE.test(line)) {
      at += 1;
      found.push(html`<hr />`);
    } else if (line.startsWith(">")) {
      found.push(html`<blockquote>${blocks(take((one) => one.startsWith(">")).map((one) => one.replace(/^> ?/, "")))}</blockquote>`);
    } else if (ITEM.test(line)) {
      found.push(list(take((one) => ITEM.test(one) || /^\s{2,}\S/.test(one))));
    } else if (line.includes("|") && /^[\s|:-]+$/.test(lines[at + 1] || "") && (lines[at + 1] || "").includes("-")) {
      found.push(table(take((one) => one.includes("|"))));
    } else {
      const words = take((one) => one.trim() && !FENCE.test(one) && !HEADING.test(one) && !ITEM.test(one) && !one.startsWith(">"));
      found.push(html`<p>${inline(words.join("\n"))}</p>`);
    }
  }
  return found;
}

function list(lines) {
  const items = [];
  const [, indent, mark] = ITEM.exec(lines[0]);
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= indent.length) items.push([item[3]]);
    else items[items.length - 1].push(line.slice(Math.min(indent.length + 2, line.length - line.trimStart().length)));
  }
  const shown = items.map(([first, ...more]) => html`<li>${inline(first)}${more.length ? blocks(more) : null}</li>`);
  return /\d/.test(mark) ? html`<ol start=${parseInt(mark, 10)}>${shown}</ol>` : html`<ul>${shown}</ul>`;
}

function table(lines) {
  const rows = lines.map((line) =>
    line.trim().replace(/^\||\|$/g, "").split(CELLS).map((cell) => cell.trim().replaceAll("\\|", "|")));
  const [head, , ...body] = rows;
  return html`<div class="wide"><table>
    <thead><tr>${head.map((cell) => html`<th>${inline(cell)}</th>`)}</tr></thead>
    <tbody>${body.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

const INLINE = [
  [/^(`+)([\s\S]*?[^`])\1(?!`)/, (found) => html`<code>${found[2]}</code>`],
  [/^!?\[([^\]\n]*)\]\(\s*<?([^\s<>)]+)>?(?:\s+"[^"]*")?\s*\)/, (found) => link(found[2], found[1] || found[2])],
  [/^<(https?:\/\/[^\s<>]+)>/, (found) => link(found[1], found[1])],
  [/^https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"\]]/, (found) => link(found[0], found[0])],
  [/^(\*\*|__)(?=\S)([\s\S]*?\S)\1/, (found) => html`<strong>${inline(found[2])}</strong>`],
  [/^(\*|_)(?=\S)([\s\S]*?\S)\1(?!\w)/, (found) => html`<em>${inline(found[2])}</em>`],
  [/^~~(?=\S)([\s\S]*?\S)~~/, (found) => html`<del>${inline(found[1])}</del>`],
  [/^\\([\\`*_{}[\]()#+.!|>~-])/, (found) => found[1]],
];
const STARTS = /[`!\[<h*_~\\]/;

export function inline(text) {
  const found = [];
  let plain = "";
  let at = 0;
  while (at < text.length) {
    const next = text.slice(at).search(STARTS);
    if (next < 0) {
      plain += text.slice(at);
      break;
    }
    plain += text.slice(at, at + next);
    at += next;
    // A word is not emphasised in its middle, and an address begins with a word.
    const inWord = /\w$/.test(plain || text.slice(0, at));
    let matched = false;
    for (const [pattern, make] of INLINE) {
      if (inWord && /[_h]/.test(text[at])) break;
      const match = pattern.exec(text.slice(at, at + REACH));
      if (match) {
        if (plain) found.push(plain);
        plain = "";
        found.push(make(match));
        at += match[0].length;
        matched = true;
        break;
      }
    }
    if (!matched) plain += text[at++];
  }
  if (plain) found.push(plain);
  return found;
}

function link(address, words) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return words;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return `${words} (${address})`;
  const host = words.includes(url.host) ? null : html` <span class="host">(${url.host})</span>`;
  return html`<a href=${url.href} target="_blank" rel="noreferrer noopener">${words}</a>${host}`;
}

export function Code({ text, kind = "" }) {
  const copy = () => navigator.clipboard?.writeText(text);
  return html`<div class="code">
    <div class="code-head"><span>${kind}</span><button type="button" class="quiet" onClick=${copy}>Copy</button></div>
    <pre tabindex="0"><code>${kind === "diff" ? diff(text) : text}</code></pre>
  </div>`;
}

export function diff(text) {
  return text.split("\n").map((line) => {
    const kind = /^(\+\+\+|---) /.test(line) ? "place" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@") ? "place" : "";
    return html`<span class=${kind}>${line}${"\n"}</span>`;
  });
}
