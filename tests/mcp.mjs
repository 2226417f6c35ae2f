// SPDX-License-Identifier: GPL-2.0-only
// mcp.mjs MODULES IOSTRATA DIR RECORDING - asks `iostrata mcp` with the official clients: the one with the handshake of
// 2025-11-25, and the one of 2026-07-28, which chooses by itself. Prints a line for each.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, iostrata, dir, recording] = process.argv.slice(2);
const at = createRequire(resolve(modules) + "/");
const load = (name) => import(pathToFileURL(at.resolve(name)));

async function ask(name, client, transport) {
	await client.connect(transport);
	const { tools } = await client.listTools();
	const { isError, content, structuredContent } = await client.callTool({ name: "report", arguments: { recording } });
	const refused = await client.callTool({ name: "report", arguments: { recording: "../" + recording } }).then(
		() => "not refused", (error) => error.code);
	console.log(name, client.getNegotiatedProtocolVersion?.() ?? "", tools.length, isError, content[0].type,
		structuredContent.schema, refused);
	await client.close();
}

const how = { command: iostrata, args: ["mcp", dir] };
const who = { name: "test", version: "1" };
const old = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
await ask("handshake", new old.Client(who), new StdioClientTransport(how));
const next = await load("@modelcontextprotocol/client");
const stdio = await load("@modelcontextprotocol/client/stdio");
await ask("auto", new next.Client(who, { capabilities: {}, versionNegotiation: { mode: "auto" } }),
	new stdio.StdioClientTransport(how));
