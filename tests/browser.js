// SPDX-License-Identifier: GPL-2.0-only
// browser.js PAGE [WIDTH HEIGHT PNG]: opens a page of `report --html` in Chromium, and prints as JSON what is in it:
// tables, with the exact figures; the sentence; all console messages, errors and requests. ACTIONS (in the
// environment) is JavaScript to run in the page before, as the body of an async function; what it returns is
// printed, too. With PNG, a picture of it is written there. NO_SCRIPT=1 turns JavaScript off.
"use strict";

const path = require("path");
const { chromium } = require(path.resolve("build/engines/playwright/node_modules/playwright-core"));

function tables() {
	return Object.fromEntries([...document.querySelectorAll("table[id]")].map(table => {
		const names = [...table.tHead.rows[0].cells].map(h => h.dataset.name || h.textContent);
		const rows = [...table.tBodies[0].rows].filter(r => !r.hidden).map(row => Object.fromEntries([...row.cells].map((c, i) =>
			[names[i], c.dataset.shares ? { shares: c.dataset.shares.split(" ").map(Number) } : c.dataset.strata ? { strata: c.dataset.strata.split(" ").map(Number), bar: c.textContent } :
				c.dataset.v !== undefined ? Number(c.dataset.v) : c.textContent])));
		return [table.id, rows];
	}));
}

async function main(file, width, height, png) {
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
	const context = await browser.newContext({ viewport: { width: Number(width || 1280), height: Number(height || 800) },
		javaScriptEnabled: !process.env.NO_SCRIPT, colorScheme: process.env.SCHEME || "light" });
	const page = await context.newPage();
	const seen = { console: [], requests: [] };
	page.on("console", m => seen.console.push(m.text()));
	page.on("pageerror", e => seen.console.push(String(e)));
	page.on("dialog", d => { seen.console.push("dialog"); d.dismiss(); });
	page.on("request", r => seen.requests.push(r.url()));
	const url = /^https?:/.test(file) ? file : "file://" + path.resolve(file);
	await page.goto(url, { waitUntil: "load" });
	if (process.env.ACTIONS)
		seen.returned = await page.evaluate(`(async () => { ${process.env.ACTIONS} })()`);
	seen.requests = seen.requests.filter(u => u !== url && !u.startsWith("data:"));
	if (process.env.NO_SCRIPT) {
		seen.text = await page.innerText("body");
	} else {
		seen.tables = await page.evaluate(tables);
		seen.sentence = await page.textContent("#sentence");
		seen.notes = await page.textContent("#notes");
		seen.labels = await page.$$eval("canvas[role=img]", all => all.map(c => c.getAttribute("aria-label")));
		seen.title = await page.title();
		seen.wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
		seen.painted_ms = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
	}
	if (png)
		await page.screenshot({ path: png, fullPage: !process.env.VISIBLE });
	console.log(JSON.stringify(seen));
	await browser.close();
}

main(...process.argv.slice(2)).catch(e => {
	console.error(String(e));
	process.exit(1);
});
