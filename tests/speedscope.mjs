// SPDX-License-Identifier: GPL-2.0-only
//
// speedscope.mjs MODULES TRACE: opens the trace in speedscope, in Chromium without a screen, and prints a line
// of JSON: the title, how many profiles there are, and the first complaints. MODULES has speedscope and
// playwright-core. Nothing is asked of the network. The slices of a track must nest, or speedscope complains.
//
import { createRequire } from "node:module";
import path from "node:path";

const [modules, trace] = process.argv.slice(2).map((one) => path.resolve(one));
const { chromium } = createRequire(path.join(modules, "x"))(path.join(modules, "playwright-core"));
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"],
});
try {
	const page = await browser.newPage();
	const said = [];
	page.on("console", (line) => said.push(line.text()));
	page.on("pageerror", (error) => said.push(String(error)));
	page.on("dialog", (dialog) => { said.push(dialog.message()); dialog.dismiss(); });
	await page.goto("file://" + path.join(modules, "speedscope/dist/release/index.html"));
	await page.locator("input[type=file]").setInputFiles(trace, { timeout: 20000 });
	await page.waitForFunction(() => / - speedscope$/.test(document.title), null, { timeout: 60000 });
	await page.waitForTimeout(500);
	const text = await page.evaluate(() => document.body.innerText);
	const complaints = said.filter((line) => /Tried to end|still open|[Ee]rror|[Ff]ailed/.test(line));
	console.log(JSON.stringify({ title: await page.title(), profiles: Number(/\(\d+\/(\d+)\)/.exec(text)?.[1]),
		complaints: complaints.slice(0, 3).map((line) => line.slice(0, 200)) }));
} finally {
	await browser.close();
}
