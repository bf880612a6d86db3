// The TypeScript SDK of the proposal's time (0.23) as a client.
//   node proposal.mjs CAPABILITIES CWD PROMPTS COMMAND…
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [capabilities, cwd, prompts, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const updates = [];
const permissions = [];

class Client {
  async sessionUpdate(params) {
    updates.push(params);
  }
  async requestPermission(params) {
    permissions.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  }
}

const connection = new acp.ClientSideConnection(() => new Client(), stream);
const initialized = await connection.initialize({
  protocolVersion: acp.PROTOCOL_VERSION,
  clientCapabilities: JSON.parse(capabilities),
});
const session = await connection.newSession({ cwd, mcpServers: [] });
const stops = [];
for (const text of JSON.parse(prompts)) {
  const answer = await connection.prompt({
    sessionId: session.sessionId,
    prompt: [{ type: "text", text }],
  });
  stops.push(answer.stopReason);
}
console.log(JSON.stringify({ initialized, session, stops, updates, permissions }));
child.stdin.end();
process.exit(0);
