// SPDX-License-Identifier: GPL-2.0-only
// live.js - the live page: its model gets a second after the other, as `iostrata breakdown --json` has it, and keeps
// ten minutes. A long operation in progress is an example from its begin on.

const KEPT = 600, LONG_NS = 20e6;

function modelOfLive() {
	return { begin: 0, end: 0, bins: [], combos: [], cells: [], names: { operations: [] }, shares: SHARES.length, examples: [],
		p99: Object.fromEntries(KEYS.map(k => [k, new Map()])), latencies: [], disks: [], losses: [], machine: [], zero: 0, keys: ["operation"], live: {} };
}

const opText = op => opName(safe(op.op + (op.call ? " " + op.call : "")), op.fs && safe(op.fs));

/* The shares of an object with times by stratum. */
const sharesOf = strata => SHARES.map(s => sum(s.strata.map(n => strata[n] || 0)));

/* The texts by key of a row: the key of serve's --by, and what else is known. */
function liveCombo(m, op, by) {
	const text = opText(op), key = op.container || op.key, id = `${text}\n${key}\n${op.call || ""}`;
	let combo = m.byId?.get(id);
	m.byId = m.byId || new Map();
	if (!combo) {
		const names = m.names.operations, at = names.findIndex(o => o.text === text);
		combo = Object.fromEntries(KEYS.map(k => [k, "-"]));
		Object.assign(combo, { operation: text, call: op.call ? safe(op.call) : safe(op.op), op: at < 0 ? names.push({ text, name: safe(op.op), fs: op.fs }) - 1 : at,
			isAsync: op.thread_ns < op.total_ns, isPseudo: ["proc", "sysfs", "cgroup2", "debugfs", "tracefs"].includes(op.fs) });
		if (key !== null && key !== undefined)
			combo[KEY_OF[by] || "file"] = safe(key) + (op.comm ? ` ${safe(op.comm)}` : "");
		m.byId.set(id, combo);
	}
	return combo;
}

const KEY_OF = { pid: "pid", tid: "pid", comm: "process", file: "file", cgroup: "cgroup", container: "cgroup", dev: "disk" };

function liveLatency(m, name, isRequest, op) {
	let row = m.latencies.find(r => r.name === name);
	if (!row) {
		row = { name, isRequest, op, count: 0, heat: m.bins.map(() => new Map()) };
		m.latencies.push(row);
	}
	return row;
}

function heatAdd(row, i, hist) {
	for (const [low, , n] of hist || [])
		row.heat[i].set(halfOf(low), (row.heat[i].get(halfOf(low)) || 0) + n);
}

function opAdd(m, op, bin, by) {
	const combo = liveCombo(m, op, by), time = sharesOf(op.strata);
	m.cells.push({ combo, bin, span: 1, count: op.count, errors: op.errors, bytes: op.bytes, max: op.max_ns, ended: sum(time), time });
	const row = liveLatency(m, combo.operation, false, combo.op);
	row.count += op.count;
	heatAdd(row, bin.i, op.hist);
}

function requestAdd(m, r, bin) {
	const name = safe(r.dev), ns = (r.tag_ns || 0) + (r.queue_ns || 0) + r.device_ns;
	let disk = m.disks.find(d => d.name === name);
	if (!disk)
		m.disks.push(disk = { name, kinds: [] });
	let kind = disk.kinds.find(k => k.code === r.op);
	if (!kind)
		disk.kinds.push(kind = { code: r.op, cells: m.bins.map(() => null), before: null });
	const cell = kind.cells[bin.i] || { count: 0, errors: 0, bytes: 0, ended: 0, flight: 0 };
	kind.cells[bin.i] = { count: cell.count + r.count, errors: cell.errors + r.errors, bytes: cell.bytes + r.bytes, ended: cell.ended + ns,
		flight: cell.flight + ns };
	const row = liveLatency(m, `${name} ${KINDS[r.op] || safe(r.op)}`, true, -1);
	row.count += r.count;
	heatAdd(row, bin.i, r.hist);
}

/* Operations in progress grow from second to second; one that has ended stays as it was seen last. */
function unfinishedAdd(m, list, by) {
	for (const u of list.filter(u => u.age_ns >= LONG_NS)) {
		const id = `${u.tid}.${u.op}.${Math.round((m.end - u.age_ns) / 1e8)}`, time = new Array(m.shares).fill(0);
		let e = m.examples.find(x => x.tid === u.tid && x.name === u.op && Math.abs(x.begin - (m.end - u.age_ns)) < 2e8);
		if (!e) {
			const combo = { ...liveCombo(m, { op: u.op, fs: u.fs, total_ns: 0, thread_ns: 0 }, by), call: safe(u.op),
				file: u.file ? safe(u.file) : "-", process: safe(u.comm || "-"), pid: String(u.pid), disk: u.dev ? safe(u.dev) : "-" };
			m.examples.push(e = { id, begin: m.end - u.age_ns, combo, tid: u.tid, error: 0, segments: null, detail: -1, name: u.op });
		}
		time[SHARES.findIndex(s => s.strata.includes(u.stratum))] = u.age_ns;
		Object.assign(e, { total: u.age_ns, end: m.end, time });
	}
	m.examples.sort((a, b) => b.total - a.total);
}

/* Forgets the first second. */
function secondForget(m) {
	const gone = m.bins.shift();
	m.losses.shift();
	m.machine.shift();
	m.bins.forEach((b, i) => { b.i = i; });
	m.cells = m.cells.filter(c => c.bin !== gone);
	for (const row of m.latencies)
		row.heat.shift();
	for (const disk of m.disks)
		for (const kind of disk.kinds)
			kind.cells.shift();
	m.begin = m.bins[0].start;
	m.examples = m.examples.filter(e => e.end > m.begin);
	const used = new Set(m.cells.map(c => c.combo));
	for (const [id, combo] of m.byId || [])
		if (!used.has(combo))
			m.byId.delete(id);
	m.latencies = m.latencies.filter(r => r.heat.some(b => b.size));
	m.disks = m.disks.filter(d => d.kinds.some(k => k.cells.some(c => c)));
}

/* Adds a second; false: it is there already. */
function secondAdd(m, b) {
	const end = Date.parse(b.time) * 1e6;
	if (!m.bins.length)
		m.zero = end - b.duration_ns;
	if (m.bins.length && end - m.zero <= m.end)
		return false;
	const bin = { i: m.bins.length, start: Math.max(end - m.zero - b.duration_ns, m.end), length: 0 };
	bin.length = end - m.zero - bin.start;
	m.bins.push(bin);
	const lost = LOST_KINDS.map(k => k.what && b.lost[k.name] || 0);
	m.losses.push(sum(lost) ? lost : null);
	m.machine.push(b.machine || null);
	m.end = end - m.zero;
	for (const row of m.latencies)
		row.heat.push(new Map());
	for (const disk of m.disks)
		for (const kind of disk.kinds)
			kind.cells.push(null);
	const key = KEY_OF[b.by];
	m.keys = ["operation", ...m.cells.some(c => c.combo.call !== c.combo.operation.split(" ")[0]) ? ["call"] : [], ...key ? [key] : []];
	for (const op of b.ops)
		opAdd(m, op, bin, b.by);
	for (const r of b.requests || [])
		requestAdd(m, r, bin);
	unfinishedAdd(m, b.in_progress || [], b.by);
	while (m.bins.length > KEPT)
		secondForget(m);
	return true;
}

/* The answer for the part that is shown. */
function sentence() {
	const time = state.to - state.from, io = sum(selected.threads.time), flight = sum(selected.requests.time);
	const [name, ns] = [...selected.held].sort((a, b) => b[1] - a[1])[0] || [];
	if (!io && !flight)
		return `no I/O in ${timeText(time)}`;
	const of = new Sums(model.shares);
	model.cells.filter(c => c.combo.operation === name && !c.combo.isAsync).forEach(c => of.add(c, weightOf(c, selected.first, selected.end, selected.isWhole)));
	const cause = SHARES.find((s, i) => 2 * of.time[i] > sum(of.time));
	return `${selected.isWhole ? "in the last" : "in these"} ${timeText(time)}: ${timeText(io)} in I/O` +
		(io ? `, ${percentText(ns, io)} of it ${name}` : "") + (io && cause ? `, mostly ${cause.mostly}` : "") +
		(flight ? `; asynchronous requests: ${(flight / time).toPrecision(3)} in flight on average` : "");
}

function notesFill(b, lost) {
	// a call that ends, and was in progress before the run, is no loss
	const items = Object.entries(lost).filter(([name, n]) => n && name !== "unmatched_end")
		.map(([name, n]) => `lost since this page was opened: ${countText(n)} (${name})`);
	if (b.missing.length)
		items.push(`not measured: ${b.missing.join(", ")}`);
	document.getElementById("notes").replaceChildren(...(items.length ? items : ["nothing lost"]).map(t => make("li", {}, t)));
}

/* A table of the last second, filled again and again. */
function liveTable(parent, id, title, columns) {
	const number = c => c.kind !== "text", body = make("tbody");
	const text = { count: countText, bytes: n => n ? bytesText(n) : "-", time: timeText, id: String };
	parent.append(make("div", { class: "scroll" }, make("table", { id }, make("caption", {}, title), make("thead", {}, make("tr", {},
		...columns.map(c => make("th", { scope: "col", class: number(c) ? "n" : null, "data-name": c.name }, c.title)))), body)));
	const cell = (c, row) => {
		const v = c.value ? c.value(row) : row[c.name];
		if (v === null || v === undefined)
			return make("td", { class: number(c) ? "n" : null }, "-");
		return c.kind === "text" ? make("td", {}, safe(v)) : make("td", { class: "n", "data-v": v }, text[c.kind](v));
	};
	return rows => body.replaceChildren(...rows.slice(0, 100).map(r => make("tr", {}, ...columns.map(c => cell(c, r)))));
}

function liveTables() {
	const parent = document.getElementById("tables"), c = (name, title, kind, value) => ({ name, title, kind, value });
	const figures = [c("count", "count", "count"), c("errors", "failed", "count"), c("bytes", "bytes", "bytes")];
	const times = [c("p99_ns", "p99", "time"), c("max_ns", "max", "time")];
	return {
		busy: liveTable(document.getElementById("busy"), "in-progress", "Operations that have not ended, oldest first", [
			c("op", "operation", "text"), c("fs", "fs", "text"), c("age_ns", "for", "time"), c("stratum", "in", "text"), c("dev", "disk", "text"),
			c("comm", "process", "text"), c("pid", "pid", "id"), c("file", "file", "text")]),
		ops: liveTable(parent, "ops", "Operations of the last second", [
			c("op", "operation", "text", r => r.op + (r.call ? " " + r.call : "")), c("fs", "fs", "text"), c("key", "key", "text", r => r.container || r.key),
			c("comm", "name", "text"), ...figures, c("mean_ns", "mean", "time"), ...times, c("total_ns", "total", "time")]),
		requests: liveTable(parent, "requests", "Requests of the last second", [
			c("dev", "disk", "text"), c("op", "requests", "text", r => KINDS[r.op] || r.op), ...figures, c("tag_mean_ns", "tag", "time"),
			c("queue_mean_ns", "queue", "time"), c("device_mean_ns", "device", "time"), ...times]),
		// made with the first request: most machines have none
		servers: () => liveTable(parent, "servers", "Requests to servers of the last second", [
			c("server", "server", "text"), c("mount", "mount", "text"), c("op", "request", "text"), figures[0], figures[1],
			c("sent_bytes", "sent", "bytes"), c("received_bytes", "received", "bytes"), c("server_mean_ns", "mean", "time"), ...times]),
	};
}

/* The part of the time that is shown after a new second: all of it, its end, or the same part as before. */
function follow(was) {
	if (was.isWhole)
		return { from: model.begin, to: model.end };
	if (was.isLast)
		return { from: model.end - (state.to - state.from), to: model.end };
	return { from: Math.max(state.from, model.begin), to: Math.max(state.to, model.bins[0].start + model.bins[0].length) };
}

function live() {
	const about = document.getElementById("about"), lost = {}, waiting = [];
	let tables = null, served = null, last = null, paused = false;
	document.body.classList.add("scripted");
	model = modelOfLive();
	model.label = ns => new Date((model.zero + ns) / 1e6).toLocaleTimeString("en-GB");
	model.live.pause = button => {
		paused = !paused;
		button.textContent = paused ? "go on" : "pause";
		button.setAttribute("aria-pressed", String(paused));
		if (!paused)
			waiting.splice(0).forEach(take);
	};
	const begin = () => {
		state = stateOf(model);
		panelsMake();
		panels.push({ draw: () => { document.getElementById("sentence").textContent = sentence(); } });
		tables = liveTables();
	};
	const take = b => {
		const was = { isWhole: !selected || selected.isWhole, isLast: state && state.to >= model.end };
		if (!secondAdd(model, b))
			return;
		if (!tables)
			begin();
		for (const disk of model.disks.slice(0, DISKS_SHOWN))
			if (!panels.some(p => p.disk === disk.name))
				panels.push(Object.assign(diskPanel(document.getElementById("times"), disk), { disk: disk.name }));
		last = b;
		for (const [name, n] of Object.entries(b.lost))
			lost[name] = (lost[name] || 0) + n;
		about.textContent = `${b.kernel ? "Linux " + safe(b.kernel) + ", " : ""}${safe(b.time)}, live`;
		notesFill(b, lost);
		tables.busy(b.in_progress);
		tables.ops(b.ops);
		tables.requests(b.requests || []);
		served = served || (b.servers && tables.servers());
		if (served)
			served(b.servers || []);
		Object.assign(state, follow(was));
		redrawSoon();
	};
	const events = new EventSource("events");
	events.onmessage = e => {
		const b = JSON.parse(e.data);
		if (!paused)
			take(b);
		else if (waiting.push(b) > KEPT)
			waiting.shift();
	};
	events.onerror = () => { about.textContent = `no connection${last ? ", the figures are of " + safe(last.time) : ""}`; };
}
