// An agent made with the TypeScript SDK, for clients to be tried against: node acp_agent.mjs NPM_FOLDER
// A prompt is answered with its own words in capitals, after a tool call that the client is asked about. "wait" waits to be cancelled;
// "refuse" ends in an error; "talk" needs no permission, thinks aloud, and tells of everything that an update can be.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const sdk = join(process.argv[2], "node_modules", "@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js");
const { agent, methods, ndJsonStream, RequestError } = await import(pathToFileURL(sdk).href);

const running = new Map();
let sessions = 0;

const say = (context, sessionId, update) => context.notify(methods.client.session.update, { sessionId, update });
const chunk = (text) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

async function talk(client, id) {
  await say(client, id, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Let me see." } });
  const entries = [
    { content: "Look", priority: "high", status: "completed" },
    { content: "Tell", priority: "medium", status: "in_progress" },
  ];
  await say(client, id, { sessionUpdate: "plan", entries });
  const locations = [{ path: "/tmp/notes.md", line: 3 }];
  await say(client, id, { sessionUpdate: "tool_call", toolCallId: "t1", title: "Edit notes.md", kind: "edit", locations });
  const content = [{ type: "diff", path: "/tmp/notes.md", oldText: "one\n", newText: "two\n" }];
  await say(client, id, { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed", content });
  await say(client, id, { sessionUpdate: "usage_update", used: 1200, size: 200000 });
  await say(client, id, { sessionUpdate: "current_mode_update", currentModeId: "ask" });
  await say(client, id, { sessionUpdate: "session_info_update", title: "Notes" });
  const commands = [{ name: "new", description: "Start over" }];
  await say(client, id, { sessionUpdate: "available_commands_update", availableCommands: commands });
  // Characters that would write elsewhere on a terminal.
  await say(client, id, chunk("Done \u001b[31mred\u001b[0m\u202e."));
  return { stopReason: "end_turn" };
}

async function prompt({ params, client }) {
  const { sessionId } = params;
  const text = params.prompt.map((block) => block.text ?? "").join("");
  if (text === "refuse") throw new RequestError(-32603, "The model is not to be reached.");
  if (text === "talk") return await talk(client, sessionId);
  const call = { toolCallId: "t1", title: "Shout", kind: "execute", status: "pending", rawInput: { text } };
  await say(client, sessionId, { sessionUpdate: "tool_call", ...call });
  if (text === "wait") {
    await new Promise((resolve) => running.set(sessionId, resolve));
    await say(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "failed" });
    return { stopReason: "cancelled" };
  }
  const options = [
    { optionId: "y", name: "Allow once", kind: "allow_once" },
    { optionId: "a", name: "Always allow", kind: "allow_always" },
    { optionId: "n", name: "Reject", kind: "reject_once" },
  ];
  const { outcome } = await client.request(methods.client.session.requestPermission, { sessionId, toolCall: call, options });
  const allowed = outcome.outcome === "selected" && ["y", "a"].includes(outcome.optionId);
  const status = allowed ? "completed" : "failed";
  await say(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId: "t1", status });
  await say(client, sessionId, chunk(allowed ? text.toUpperCase() : "You said no."));
  return { stopReason: outcome.outcome === "cancelled" ? "cancelled" : "end_turn" };
}

const stream = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }, { id: "free", name: "Free" }] };
const connection = agent({ name: "example" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { sessionCapabilities: { resume: {}, close: {} } },
    authMethods: [],
    agentInfo: { name: "example", title: "Example", version: "1" },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: `s${++sessions}`, modes }))
  .onRequest(methods.agent.session.resume, () => ({ modes }))
  .onRequest(methods.agent.session.close, () => ({}))
  .onRequest(methods.agent.session.setMode, () => ({}))
  .onRequest(methods.agent.session.prompt, prompt)
  .onNotification(methods.agent.session.cancel, ({ params }) => running.get(params.sessionId)?.())
  .connect(stream);
await connection.closed;
