// SPDX-License-Identifier: GPL-2.0-only
// main.js - the page: one state drives all panels. Text becomes part of the page as text only.

const data = JSON.parse(document.getElementById("data").textContent);
const STRATA = data.strata, SHARES = data.shares, CPU = SHARES.findIndex(s => s.letter === "C");
const LOST_KINDS = data.lost_kinds, MACHINE_FIGURES = data.machine_figures.map((name, i) => [name, data.machine_levels[i]]);
const KINDS = Object.fromEntries(data.kinds.map(k => [k.code, k.name]));

let model = null, state = null, selected = null, panels = [], framed = false;

/* Computes what the state selects. */
function compute() {
	selected = selectCells(model, state, state.by, CPU);
	const bins = [selected.first, selected.end], row = heatRow();
	selected.examples = selectExamples(model, { ...state, cell: null }, bins, row);
	selected.cellExamples = state.cell ? selectExamples(model, state, bins, row) : selected.examples;
}

function redraw() {
	framed = false;
	if (!model || !model.bins.length)
		return;
	Picture.measure();
	compute();
	for (const p of panels)
		if (p.of && p.of.prepare)
			p.of.prepare();
	for (const p of panels)
		p.draw();
}

/* At most one redraw for each frame of the screen. */
function redrawSoon() {
	if (!framed)
		requestAnimationFrame(redraw);
	framed = true;
}

/* Changes the state. Parts of the time begin and end with bins. */
function show(change) {
	Object.assign(state, change);
	if ("from" in change && model.bins.length) {
		const [first, end] = binsShown(model, state.from, state.to), last = model.bins[end - 1];
		state.from = model.bins[first].start;
		state.to = last.start + last.length;
	}
	if (!model.live)
		history.replaceState(null, "", "#" + hashOf(state, model, SHARES));
	redraw();
}

function section(name) {
	const s = make("section", { id: name });
	document.getElementById("app").append(s);
	return s;
}

function timePanels(parent) {
	const list = [overviewPanel(parent), progressPanel(parent), lanesPanel(parent)];
	if (model.latencies.length || model.live)
		list.push(heatPanel(parent));
	for (const disk of model.disks.slice(0, DISKS_SHOWN))
		list.push(Object.assign(diskPanel(parent, disk), { disk: disk.name }));
	if (model.machine)
		list.push(machinePanel(parent));
	else
		parent.append(make("p", { class: "hint" }, "No row for the machine (CPU, pressure, dirty pages): the recording has no such figures. Older versions did not record them."));
	parent.append(make("p", { class: "hint" }, "Drag to zoom, double-click for all. Keys: + and -, arrows, Home, End, Escape; n and p."));
	return list;
}

/* The requests of the part of the time, as a table. */
function requestsPanel(parent) {
	const body = make("tbody"), titles = ["disk", "requests", "count", "failed", "bytes", "mean", "in flight"];
	const names = ["disk", "requests", "count", "errors", "bytes", "mean_ns", "flight"];
	parent.append(make("h2", {}, "Requests in this part"), make("div", { class: "scroll" }, make("table", { id: "part-requests" },
		make("caption", { class: "hidden" }, "requests of the part of the time"), make("thead", {}, make("tr", {}, ...titles.map((t, i) =>
			make("th", { scope: "col", class: i > 1 ? "n" : null, "data-name": names[i] }, t)))), body)));
	return { draw() {
		const number = (v, text) => make("td", { class: "n", "data-v": v }, text);
		// C wrote the whole
		parent.hidden = selected.isWhole && !model.live;
		body.replaceChildren(...requestRows().map(r => make("tr", {}, make("th", { scope: "row" }, r.disk), make("td", {}, r.kind),
			number(r.count, countText(r.count)), number(r.errors, r.errors ? countText(r.errors) : "-"), number(r.bytes, r.bytes ? bytesText(r.bytes) : "-"),
			number(r.ended / r.count, timeText(r.ended / r.count)), number(r.flight, (r.flight / (state.to - state.from)).toPrecision(2)))));
	} };
}

/* Makes all panels of a model. */
function panelsMake() {
	panels = [stripPanel(document.getElementById("shares"))];
	panels.push(barPanel(document.getElementById("app")));
	panels.push(...timePanels(section("times")));
	const both = section("both"), who = make("section", { id: "table" }), longest = make("section", { id: "operations" });
	both.append(who, longest);
	panels.push(tablePanel(who), longestPanel(longest));
	if (!model.live)
		panels.push(treePanel(section("tree")));
	if (model.callers)
		panels.push(callersPanel(section("callers")));
	if (model.disks.length || model.live)
		panels.push(requestsPanel(section("disks")));
	if (data.offsets && data.offsets.length)
		panels.push(...offsetPanels(section("maps"), data.offsets));
	if (!model.live)
		panels.push(commandPanel(section("same")));
	new ResizeObserver(redrawSoon).observe(document.getElementById("app"));
}

/* A report: panels in place of what C wrote for readers without JavaScript. */
function report() {
	model = modelOfReport(data);
	state = stateOfHash(location.hash, model, SHARES);
	document.body.classList.add("scripted");
	const losses = document.querySelector(".losses:not(.lost)");
	if (losses)
		losses.open = false;
	document.querySelectorAll("#tables table").forEach(enhance);
	panelsMake();
	findingsLink();
	addEventListener("hashchange", () => {
		state = stateOfHash(location.hash, model, SHARES);
		show({ from: state.from, to: state.to });
	});
	show({ from: state.from, to: state.to });
}

for (const media of ["(prefers-color-scheme: dark)", "print"])
	matchMedia(media).addEventListener("change", redraw);
