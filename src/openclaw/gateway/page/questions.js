// What a person is asked, in whichever conversation: calls to approve, forms of servers, pages to visit.
import { html, useEffect, useState } from "/page/preact.js";
import { post } from "/page/api.js";
import { refreshQuestions, withKey } from "/page/live.js";
import { Arguments, Problem, SchemaForm, useRead, visible, whose } from "/page/parts.js";
import { shared, tell, use } from "/page/store.js";

// A click that was meant for what stood here before counts for nothing.
const SETTLING = 700;

export function Questions() {
  const questions = use(shared, (value) => value.questions);
  return html`<section class="view"><h1>Questions</h1>
    ${questions.length ? questions.map((one) => html`<${Asked} key=${one.id} question=${one} />`) : html`<p class="dim">Nothing is asked now.</p>`}
  </section>`;
}

// Above every view: the first question, and how many wait behind it.
export function Tray() {
  const questions = use(shared, (value) => value.questions);
  if (!questions.length) return null;
  return html`<div class="tray" role="region" aria-label="A question for you">
    <${Asked} key=${questions[0].id} question=${questions[0]} />
    ${questions.length > 1 ? html`<p><a href="#questions">${questions.length - 1} more</a></p>` : null}
  </div>`;
}

function Asked({ question }) {
  const [ready, setReady] = useState(false);
  const [problem, say] = useState("");
  const [note, setNote] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), SETTLING);
    return () => clearTimeout(timer);
  }, []);
  const answer = async (choice, more = {}) => {
    try {
      await post(`/v1/questions/${question.id}`, { digest: question.digest, choice, ...more });
    } catch (error) {
      if (error.status === 409) tell(`Answered elsewhere: ${error.body.question?.state || "it is over"}.`);
      else {
        say(error.message);
        return;
      }
    }
    refreshQuestions();
  };
  const no = html`<button type="button" disabled=${!ready} onClick=${() => answer("decline", note ? { note } : {})}>No</button>`;
  const session = html`<${From} question=${question} />`;
  if (question.kind === "approval" && !question.approval) return html`<${Plain} ...${{ question, answer, ready, no, session, problem }} />`;
  if (question.kind === "approval") return html`<${Approval} ...${{ question, answer, ready, no, session, problem, note, setNote }} />`;
  if (question.kind === "form")
    return html`<article class="question" role="alertdialog" aria-label="A server asks">
      <h2>${visible(question.asker)} asks</h2><p class="foreign">${visible(question.text)}</p>${session}
      <p class="dim">What you write goes to the server ${visible(question.asker)}. Never give it a password.</p>
      <${SchemaForm} schema=${question.schema} word="Send" act=${(content) => answer("accept", { content })}>${no}<//>
      <${Problem} text=${problem} /></article>`;
  if (question.kind === "url") return html`<${Visit} ...${{ question, answer, ready, no, session, problem }} />`;
  return html`<article class="question"><h2>Sign in to ${visible(question.server)}</h2>${session}
    <p>Open <a href=${`#servers/${encodeURIComponent(question.server)}`}>its page</a> and sign in.</p></article>`;
}

// The conversation in which it is asked. A first message is not in the store yet.
function From({ question }) {
  const [one] = useRead(() => withKey(question.session), [question.session]);
  const words = one ? html`<a href=${`#talk/${one.id}`}>${visible(one.title) || "Without words"}</a>` : "a new conversation";
  return html`<p class="dim">In ${words} · ${question.agent}</p>`;
}

function Approval({ question, answer, ready, no, session, problem, note, setNote }) {
  const call = question.approval;
  const offers = call.offers || [];
  return html`<article class="question" role="alertdialog" aria-label="May this call be made?">
    <h2>May <span class="tool">${visible(call.title || call.tool)}</span>${call.server ? html` of <span class="tool">${visible(call.server)}</span>` : null} be called?</h2>
    ${session}
    ${(call.reasons || []).map((reason) => html`<p>${visible(reason)}</p>`)}
    ${(call.claims || []).map((claim) => html`<p class="dim">The server says of it: ${visible(claim)}</p>`)}
    <${Arguments} value=${call.arguments} />
    ${Object.entries(call.origins || {}).map(([name, source]) => html`<p class="warn"><code>${visible(name)}</code> holds a value from ${whose(source)}.</p>`)}
    <details class="note"><summary>Say why, with a no</summary><input aria-label="What the model is told with a no" value=${note} onInput=${(event) => setNote(event.target.value)} /></details>
    <div class="row">${no}
      ${offers.length
        ? offers.map((offer) => html`<button type="button" class=${offer.lasts === "once" ? "main" : ""} disabled=${!ready} onClick=${() => answer(offer.id)}>${offer.lasts === "once" ? "Yes, once" : `Yes: ${visible(offer.text)}`}</button>`)
        : html`<button type="button" class="main" disabled=${!ready} onClick=${() => answer("accept")}>Yes</button>`}
    </div>
    <${Problem} text=${problem} />
  </article>`;
}

// A yes or no to a text: what a server wants to ask a model and to have back from it, or a question of ours.
function Plain({ question, answer, ready, no, session, problem }) {
  const options = question.options || [];
  const yes = (choice, word) => html`<button type="button" class="main" disabled=${!ready} onClick=${() => answer(choice)}>${word}</button>`;
  return html`<article class="question" role="alertdialog" aria-label="A question for you">
    <h2>${question.asker ? html`<span class="tool">${visible(question.asker)}</span> asks` : "A question"}</h2>${session}
    ${question.asker ? html`<pre class="foreign" tabindex="0">${visible(question.text)}</pre>` : html`<p class="plain">${visible(question.text.replace(/\s*\[y\/N\]\s*$/, ""))}</p>`}
    <div class="row">${no}${options.length ? options.map((one) => yes(one, visible(one))) : yes("accept", "Yes")}</div>
    <${Problem} text=${problem} />
  </article>`;
}

function Visit({ question, answer, ready, no, session, problem }) {
  let url;
  try {
    url = new URL(question.url);
  } catch {
    url = null;
  }
  const open = () => {
    window.open(url.href, "_blank", "noopener,noreferrer");
    answer("accept");
  };
  return html`<article class="question" role="alertdialog" aria-label="A server wants a page visited">
    <h2>${visible(question.asker)} wants you to visit a page</h2><p class="foreign">${visible(question.text)}</p>${session}
    ${url ? html`<p>Host: <strong>${visible(url.host)}</strong></p><p class="address">${visible(question.url)}</p>` : html`<p>Have you finished there?</p>`}
    <div class="row">${no}${url ? html`<button type="button" class="main" disabled=${!ready} onClick=${open}>Open the page</button>`
      : html`<button type="button" class="main" disabled=${!ready} onClick=${() => answer("accept")}>Yes</button>`}</div>
    <${Problem} text=${problem} />
  </article>`;
}
