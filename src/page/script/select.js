// SPDX-License-Identifier: GPL-2.0-only
// select.js - the sums of the part of a model that a state selects: a part of the time, filters, one share. Draws
// nothing.

/* The bins of the part of the time: from the first one up to the end. Parts begin and end with bins, so that their
 * figures are exact. */
function binsShown(model, from, to) {
	let first = 0, end = model.bins.length;
	while (first < end - 1 && model.bins[first].start + model.bins[first].length / 2 <= from)
		first++;
	while (end > first + 1 && model.bins[end - 1].start + model.bins[end - 1].length / 2 >= to)
		end--;
	return [first, end];
}

const passes = (combo, filters, without) =>
	Object.entries(filters).every(([key, value]) => key === without || combo[key] === value);

/* How much of a cell is in the bins shown: 1, 0, or in between if only some of its bins are. */
function weightOf(cell, first, end, isWhole) {
	if (isWhole)
		return 1;
	if (!cell.bin)
		return 0;
	const inside = Math.min(cell.bin.i + cell.span, end) - Math.max(cell.bin.i, first);
	return Math.max(inside, 0) / cell.span;
}

class Sums {
	constructor(shares) {
		Object.assign(this, { count: 0, errors: 0, bytes: 0, max: 0, ended: 0, about: false, time: new Array(shares).fill(0) });
	}
	add(cell, weight) {
		this.count += cell.count * weight;
		this.errors += cell.errors * weight;
		this.bytes += cell.bytes * weight;
		this.ended += cell.ended * weight;
		this.max = cell.count ? Math.max(this.max, cell.max) : this.max;
		this.about = this.about || weight < 1;
		for (let s = 0; s < this.time.length; s++)
			this.time[s] += cell.time[s] * weight;
	}
	// adds other sums
	merge(of) {
		this.add(of, 1);
		this.about = this.about || of.about;
	}
}

/* Adds the time of a cell to the sums by bin. */
function progressAdd(progress, cell) {
	const last = cell.bin.i + cell.span;
	for (let i = cell.bin.i; i < last; i++) {
		const bin = progress[i];
		for (let s = 0; s < cell.time.length; s++)
			bin[s] += cell.time[s] / cell.span;
	}
}

/* The combinations that pass the filters, each with the sums of its cells in the bins shown. */
function selectCombos(model, state, bins, progress) {
	const { first, end, isWhole } = bins, combos = new Map();
	for (const cell of model.cells) {
		let sums = combos.get(cell.combo);
		if (sums === undefined) {
			const pass = passes(cell.combo, state.filters) && (state.system || !cell.combo.isPseudo);
			combos.set(cell.combo, sums = pass ? new Sums(model.shares) : null);
		}
		if (!sums)
			continue;
		if (cell.bin)
			progressAdd(progress, cell);
		const weight = weightOf(cell, first, end, isWhole);
		if (weight)
			sums.add(cell, weight);
	}
	return [...combos].filter(([, sums]) => sums && (sums.count || sum(sums.time)));
}

/* The sums of all cells that the state selects: of all, by bin (with the time of all shares), and by the text of the
 * key @by. Sums of @threads are of the time of threads, by operation in @held; those of @requests of asynchronous ones,
 * whose thread was held up on the CPU alone (@cpu: the number of this share). */
function selectCells(model, state, by, cpu) {
	const [first, end] = binsShown(model, state.from, state.to), isWhole = first === 0 && end === model.bins.length;
	const all = new Sums(model.shares), threads = new Sums(model.shares), requests = new Sums(model.shares), groups = new Map(), held = new Map();
	const progress = Array.from({ length: model.bins.length }, () => new Array(model.shares).fill(0));
	const combos = selectCombos(model, state, { first, end, isWhole }, progress);
	for (const [combo, sums] of combos) {
		const time = combo.isAsync ? sums.time.map((ns, s) => s === cpu ? ns : 0) : sums.time;
		all.merge(sums);
		if (combo.isAsync)
			requests.merge(sums);
		threads.merge({ ...sums, time });
		held.set(combo.operation, (held.get(combo.operation) || 0) + sum(time));
		if (!groups.has(combo[by]))
			groups.set(combo[by], new Sums(model.shares));
		groups.get(combo[by]).merge(sums);
	}
	return { first, end, isWhole, all, threads, requests, held, groups, progress, combos };
}

/* A time that 99 of 100 operations @name which ended in the bins shown did not exceed: the end of its half octave in the
 * map of latencies, or the longest. Returns null if the operation has no such map. */
function p99AtMost(model, name, first, end, max) {
	const row = model.latencies.find(r => !r.isRequest && r.name === name), counts = new Map();
	if (!row)
		return null;
	for (let i = first; i < end; i++)
		for (const [half, n] of row.heat[i])
			counts.set(half, (counts.get(half) || 0) + n);
	const all = sum([...counts.values()]);
	let below = 0;
	for (const half of [...counts.keys()].sort((a, b) => a - b)) {
		below += counts.get(half);
		if (below >= 0.99 * all)
			return half === HALVES - 1 ? max : Math.min(halfBegin(half + 1), max);
	}
	return null;
}

/* The time that the page is about: of all shares, or of one. */
const timeOf = (time, share) => share >= 0 ? time[share] : sum(time);

/* The rows of a table: most time first. */
function rowsOf(groups, share) {
	return [...groups].map(([name, sums]) => ({ name, sums, ns: timeOf(sums.time, share) }))
		.filter(r => r.ns || (r.sums.count && share < 0)).sort((a, b) => b.ns - a.ns || (a.name < b.name ? -1 : 1));
}

/* The examples which a state selects, longest first. */
function selectExamples(model, state, bins, row) {
	const [first, end] = bins, from = model.bins[first].start, to = model.bins[end - 1].start + model.bins[end - 1].length;
	const cell = state.cell && row ? state.cell : null;
	return model.examples.filter(e => passes(e.combo, state.filters) && (state.system || !e.combo.isPseudo) &&
		(cell ? e.combo.op === row.op && binAt(model, e.end) === cell[0] && halfOf(e.total) === cell[1] :
			e.end > from && e.begin < to));
}

/* The number of the bin in which a time is. */
function binAt(model, ns) {
	let low = 0, high = model.bins.length - 1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (model.bins[middle].start <= ns)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Places operations, longest first, into at most @most lanes, so that no two of a lane overlap; @least: ns that an
 * operation has at least, as it is drawn. Returns [operation, lane] for those with a place. */
function lanesOf(examples, most, least) {
	const lanes = [], placed = [];
	for (const e of examples) {
		const end = Math.max(e.end, e.begin + least);
		let lane = lanes.findIndex(taken => taken.every(([a, b]) => end <= a || e.begin >= b));
		if (lane < 0 && lanes.length < most)
			lane = lanes.push([]) - 1;
		if (lane < 0)
			continue;
		lanes[lane].push([e.begin, end]);
		placed.push([e, lane]);
	}
	return placed;
}

/* The tree process > directories > file > call: children by name, with sums. A directory with one child is one with
 * it. */
function treeOf(model, selected, share) {
	const root = { name: "", sums: new Sums(model.shares), children: new Map(), filter: null };
	const step = (node, name, sums, filter) => {
		if (!node.children.has(name))
			node.children.set(name, { name, sums: new Sums(model.shares), children: new Map(), filter });
		const child = node.children.get(name);
		child.sums.merge(sums);
		return child;
	};
	for (const [c, sums] of selected.combos) {
		if (!timeOf(sums.time, share))
			continue;
		root.sums.merge(sums);
		let node = step(root, c.process, sums, ["process", c.process]), path = "";
		for (const part of c.directory.startsWith("/") ? c.directory.split("/").slice(1) : []) {
			path += "/" + part;
			node = step(node, part || "/", sums, c.directory === path ? ["directory", path] : null);
		}
		const base = c.file.slice(c.file.lastIndexOf("/") + 1);
		if (c.file !== OTHER_FILES || c.directory === OTHER_FILES)
			node = step(node, base, sums, ["file", c.file]);
		step(node, c.call, sums, ["call", c.call]);
	}
	return joinOnly(root);
}

function joinOnly(node) {
	for (const [name, child] of node.children) {
		let c = child;
		while (c.children.size === 1 && !c.filter && !c.children.values().next().value.filter?.[0].match(/file|call/)) {
			const only = c.children.values().next().value;
			c = { ...only, name: c.name + "/" + only.name };
		}
		node.children.set(name, joinOnly(c));
	}
	return node;
}
