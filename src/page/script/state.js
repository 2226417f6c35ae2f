// SPDX-License-Identifier: GPL-2.0-only
// state.js - what the page shows, and its form as the hash of the address:
//
// from, to    the part of the time, ns
// filters     by key, the text that is wanted
// share       the number of the only share that counts; -1: all
// row         the row of the map of latencies
// cell        [bin, half octave] of this row, or null
// open        the id of an operation, or ""
// by          the key of the table
// find        text that the table's rows have
// frame       the number of the function of user stacks that is on top; 0: all
// system      whether operations on pseudo file systems are shown

function stateOf(model) {
	return { from: model.begin, to: model.end, filters: {}, share: -1, row: "", cell: null, open: "", by: "operation", find: "",
		frame: 0, system: false };
}

function hashOf(state, model, shares) {
	const words = new URLSearchParams();
	if (state.from > model.begin || state.to < model.end)
		words.set("time", `${Math.round(state.from)}-${Math.round(state.to)}`);
	for (const key of KEYS)
		if (key in state.filters)
			words.set(key, state.filters[key]);
	if (state.share >= 0)
		words.set("share", shares[state.share].letter);
	for (const name of ["row", "open", "find"])
		if (state[name])
			words.set("show-" + name, state[name]);
	if (state.cell)
		words.set("cell", state.cell.join("-"));
	if (state.by !== "operation")
		words.set("by", state.by);
	if (state.frame)
		words.set("frame", String(state.frame));
	if (state.system)
		words.set("system", "1");
	return words.toString();
}

/* The state of a hash, from anywhere: what does not fit is left out. */
function stateOfHash(hash, model, shares) {
	const words = new URLSearchParams(hash.replace(/^#/, "")), state = stateOf(model);
	const two = (name, text = words.get(name) || "") => /^\d+-\d+$/.test(text) ? text.split("-").map(Number) : null;
	const time = two("time");
	if (time && time[0] < time[1] && time[0] < model.end)
		[state.from, state.to] = [Math.max(time[0], model.begin), Math.min(time[1], model.end)];
	for (const key of KEYS)
		if (words.has(key))
			state.filters[key] = words.get(key);
	state.share = shares.findIndex(s => s.letter === words.get("share"));
	for (const name of ["row", "open", "find"])
		state[name] = words.get("show-" + name) || "";
	state.cell = two("cell");
	state.by = KEYS.includes(words.get("by")) ? words.get("by") : "operation";
	state.frame = /^\d{1,5}$/.test(words.get("frame") || "") && model.callers?.nodes[words.get("frame")] ? Number(words.get("frame")) : 0;
	state.system = words.get("system") === "1";
	return state;
}

/* The command for a terminal that shows what the state selects, as far as options do. */
function commandOf(state, model, data) {
	const words = ["iostrata", "report", ...(data.recordings || []).map(shellWord)];
	const option = { call: "--op", file: "--file", directory: "--file", process: "--comm", pid: "--pid", disk: "--disk",
		cgroup: "--cgroup" };
	if (data.filters)
		words.push(data.filters);
	if (state.from > model.begin || data.from_ns)
		words.push("--from", `${Math.round((data.from_ns || 0) + state.from)}ns`);
	if (state.to < model.end)
		words.push("--to", `${Math.round((data.from_ns || 0) + state.to)}ns`);
	for (const [key, value] of Object.entries(state.filters)) {
		if (key === "operation") {
			const o = model.names.operations.find(x => x.text === value);
			words.push("--op", shellWord((o ? o.name : value).split(" ")[0]), ...(o && o.fs ? ["--fs", shellWord(o.fs)] : []));
		} else if (option[key]) {
			words.push(option[key], shellWord(value));
		}
	}
	return [...words, ...(state.by === "operation" || ["call", "directory"].includes(state.by) ? ["--slowest", "5", "--timeline"] :
		["--by", { process: "pid", disk: "dev" }[state.by] || state.by])].join(" ");
}
