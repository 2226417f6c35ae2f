// SPDX-License-Identifier: GPL-2.0-only
// model.js - what was recorded, as the page computes with it:
//
// bins        intervals of time: start, length in ns; i: its number
// combos      combinations of names (operation, call, file ...), each an object with a text for each of KEYS
// cells       sums of a combination in one bin, or in several (span); bin null: before the begin of the page.
//             time: of its operations in these bins, by share; count, errors, bytes, max, ended (whole time): of those
//             that ended there
// examples    single operations
// latencies   rows of operations or requests: for each bin a Map of counts by half octave
// disks       name, and for each kind of requests and bin the sums
// losses      by bin: how many of each kind of losses, or null
// machine     by bin: ns and each figure of the machine, null where not known; null: the recording has none
// callers     functions of programs, from user stacks; null: the recording has none

const KEYS = ["operation", "call", "file", "directory", "process", "pid", "disk", "cgroup"];
const OTHER_FILES = "(other files)", OTHER_PROCESSES = "(other processes)", UNKNOWN = "?";

function pathOf(directory, base) {
	return directory === null ? base : directory === "/" ? "/" + base : directory + "/" + base;
}

const opName = (name, fs) => name + (fs ? " " + fs : "");

/* All names, and from numbers to texts by key. */
class Names {
	constructor(data) {
		const list = text => new Packed(text).all(), known = names => names.map(n => n === null ? UNKNOWN : n);
		this.operations = data.operations.map(o => ({ ...o, text: opName(o.name || UNKNOWN, o.fs) }));
		this.calls = known(data.calls);
		this.disks = known(data.disks);
		const of = list(data.file_directories);
		this.directories = data.files.map((f, i) => of[i] ? data.directories[of[i] - 1] || UNKNOWN : null);
		this.files = data.files.map((f, i) => pathOf(this.directories[i], f === null ? UNKNOWN : f));
		this.pids = known(data.pids);
		this.processes = known(data.processes);
		this.cgroups = data.cgroups.map((c, i) => data.containers[i] || c || UNKNOWN);
		const threads = list(data.threads);
		this.threads = Array.from({ length: threads.length / 2 }, (_, i) => [threads[2 * i], threads[2 * i + 1]]);
		this.p99 = {
			operation: this.unique(this.operations.map(o => o.text), data.operations.map(o => o.p99_ns === null ? 0 : o.p99_ns + 1)),
			call: this.unique(this.calls, list(data.call_p99)),
			disk: this.unique(this.disks, list(data.disk_p99)),
			file: this.unique(this.files, list(data.file_p99)),
			pid: this.unique(this.pids, list(data.pid_p99)),
			cgroup: this.unique(this.cgroups, list(data.cgroup_p99)),
			directory: new Map(),
			process: new Map(),
		};
	}
	// p99 by name; of names which several have, no p99 is known
	unique(names, p99) {
		const map = new Map();
		names.forEach((name, i) => map.set(name, map.has(name) || !p99[i] ? null : p99[i] - 1));
		return map;
	}
	combo(op, call, disk, file, thread) {
		const [process, cgroup] = thread ? this.threads[thread - 1] : [], o = this.operations[op];
		const other = list => thread ? list : OTHER_PROCESSES;
		return {
			operation: o.text, call: this.calls[call], disk: this.disks[disk],
			file: file ? this.files[file - 1] : OTHER_FILES, directory: file ? this.directories[file - 1] || "-" : OTHER_FILES,
			process: other(this.processes[process]), pid: other(this.pids[process]), cgroup: other(this.cgroups[cgroup]),
			op, isAsync: o.is_async, isPseudo: o.is_pseudo,
		};
	}
}

function binsOf(n, length, end) {
	const bins = [];
	for (let i = 0; i < n; i++)
		bins.push({ i, start: i * length, length: Math.max(Math.min(length, end - i * length), 1) });
	return bins;
}

function cellsOf(data, names, bins, n) {
	const combos = [], cells = [], head = new Packed(data.combos), body = new Packed(data.cells);
	while (head.more) {
		const combo = names.combo(...head.list(5)), span = 2 ** head.next();
		combos.push(combo);
		for (let left = head.next(), bin = 0; left > 0; left--) {
			bin += body.next();
			const [count, errors, bytes, max] = body.list(4), ended = body.signed(), time = body.shares(n);
			cells.push({ combo, bin: bin ? bins[bin - 1] : null, span: bin ? Math.min(span, bins.length - bin + 1) : 1,
				count, errors, bytes, max, ended: ended + sum(time), time });
		}
	}
	return { combos, cells };
}

/* The segments of the slowest operations, by begin, thread and time. */
function detailsOf(data) {
	const details = new Map(), p = new Packed(data.details);
	while (p.more) {
		const key = `${p.signed()} ${p.next()} ${p.next()}`;
		details.set(key, { number: details.size, segments: Array.from({ length: p.next() }, () => p.list(2)) });
	}
	return details;
}

function examplesOf(data, names, n) {
	const examples = [], details = detailsOf(data), p = new Packed(data.examples);
	for (let begin = 0; p.more;) {
		begin += p.signed();
		const total = p.next(), combo = names.combo(...p.list(5)), [tid, error] = p.list(2), time = p.shares(n);
		const detail = details.get(`${begin} ${tid} ${total}`);
		examples.push({ id: `${begin}.${tid}`, begin, total, end: begin + total, combo, tid, error, time,
			segments: detail && detail.segments.length ? detail.segments : null, detail: detail ? detail.number : -1 });
	}
	return examples.sort((a, b) => b.total - a.total);
}

function latenciesOf(data, names, n) {
	return data.latencies.map(l => {
		const heat = Array.from({ length: n }, () => new Map()), p = new Packed(l.cells);
		for (let at = 0; p.more;) {
			at += p.next();
			heat[Math.floor(at / HALVES)].set(at % HALVES, p.next());
		}
		const name = l.is_request ? `${l.operation === null ? "(other disks)" : names.disks[l.operation]} ${l.what || ""}`.trim() :
			l.operation === null ? "(other operations)" : names.operations[l.operation].text;
		return { name, isRequest: l.is_request, op: l.is_request ? -1 : l.operation, count: l.count, heat };
	});
}

const RQ_SUMS = ["count", "errors", "bytes", "ended", "flight"];

function disksOf(data, names, n) {
	const disks = new Map();
	for (const row of data.disk_rows) {
		const name = row.disk === null ? "(other disks)" : names.disks[row.disk], p = new Packed(row.cells);
		const cells = Array.from({ length: n }, () => null), kind = { code: row.kind, cells, before: null };
		for (let bin = 0; p.more;) {
			bin += p.next();
			const cell = Object.fromEntries(p.list(5).map((v, i) => [RQ_SUMS[i], v]));
			if (bin)
				cells[bin - 1] = cell;
			else
				kind.before = cell;
		}
		if (!disks.has(name))
			disks.set(name, { name, kinds: [] });
		disks.get(name).kinds.push(kind);
	}
	return [...disks.values()];
}

/* The losses of each bin: a number for each kind, or null. */
function lossesOf(data, n) {
	const losses = new Array(n).fill(null);
	for (const { kind, cells } of data.losses) {
		const p = new Packed(cells);
		for (let bin = 0; p.more;) {
			bin += p.next();
			losses[bin] = losses[bin] || new Array(data.lost_kinds.length).fill(0);
			losses[bin][kind] += p.next();
		}
	}
	return losses;
}

/* How busy the machine was in each bin. */
function machineOf(data, n) {
	const machine = new Array(n).fill(null), p = new Packed(data.machine);
	for (let bin = 0; p.more;) {
		bin += p.next();
		const ns = p.next(), figures = p.list(data.machine_figures.length);
		if (bin < n)
			machine[bin] = Object.fromEntries([["ns", ns], ...figures.map((v, i) => [data.machine_figures[i], v ? v - 1 : null])]);
	}
	return machine;
}

/* The losses of the bins from @first to before @end in words; "": none. */
function lossWords(losses, kinds, first, end) {
	const words = kinds.map((k, i) => [k, sum(losses.slice(first, end).map(l => l ? l[i] : 0))]).filter(([k, n]) => n && k.what);
	return words.map(([k, n]) => `${countText(n)} ${n === 1 ? k.what_one : k.what}`).join(", ");
}

function modelOfReport(data) {
	const names = new Names(data), shares = data.shares.length, bins = binsOf(data.bins, data.bin_ns, data.duration_ns);
	const { combos, cells } = cellsOf(data, names, bins, shares);
	return {
		begin: 0, end: data.duration_ns, bins, combos, cells, names, shares, p99: names.p99,
		examples: examplesOf(data, names, shares), latencies: latenciesOf(data, names, bins.length),
		disks: disksOf(data, names, bins.length), losses: lossesOf(data, bins.length),
		machine: data.machine === null ? null : machineOf(data, bins.length), label: null,
		callers: data.callers ? callersOf(data.callers, shares) : null,
	};
}
