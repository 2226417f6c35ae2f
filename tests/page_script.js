// SPDX-License-Identifier: GPL-2.0-only
// page_script.js - tests of the page's script that need no browser: scales, packed numbers, sums of a selection, lanes,
// the address, and the colours of the style. Run by node --test.
"use strict";

const assert = require("node:assert"), fs = require("node:fs"), path = require("node:path"), test = require("node:test");
const vm = require("node:vm");

const folder = path.join(__dirname, "..", "src", "page");
const names = ["sum", "timeText", "bytesText", "percentText", "axisTime", "niceStep", "halfOf", "halfBegin", "HALVES", "safe", "csvCell",
	"shellWord", "Packed", "modelOfReport", "selectCells", "selectExamples", "binsShown", "lanesOf", "treeOf", "rowsOf", "stateOf",
	"stateOfHash", "hashOf", "commandOf", "p99AtMost", "lossWords", "stateOfFinding", "machineSum", "machineWords", "pathShown",
	"callersOf", "callersChosen", "callersTimes", "callersFound", "callersBelow"];

/* Figures of the machine, and whether they are levels. */
const FIGURES = ["cpu_ns", "user_ns", "system_ns", "iowait_ns", "steal_ns", "io_some_ns", "io_full_ns", "memory_some_ns", "memory_full_ns",
	"cpu_some_ns", "dirty_bytes", "writeback_bytes"], MACHINE_FIGURES = FIGURES.map(n => [n, n.endsWith("bytes")]);

function load() {
	const files = ["format", "unpack", "model", "select", "state", "findings", "panel_machine", "panel_callers"].map(n => fs.readFileSync(path.join(folder, "script", n + ".js"), "utf8"));
	const context = vm.createContext({ atob, TextEncoder, URLSearchParams, MACHINE_FIGURES });
	return vm.runInContext(files.join("\n") + `\n({ ${names.join(", ")} })`, context);
}

const page = load();

/* The script of the live page, without its panels. */
function loadLive() {
	const files = ["format", "unpack", "model", "select", "state", "live"].map(n => fs.readFileSync(path.join(folder, "script", n + ".js"), "utf8"));
	const data = dataOf(), context = vm.createContext({ atob, SHARES: data.shares, LOST_KINDS: data.lost_kinds, KINDS: { R: "read" } });
	return vm.runInContext(files.join("\n") + "\n({ modelOfLive, secondAdd, KEPT })", context);
}

/* As show/page_pack.c packs numbers. */
function pack(numbers) {
	const bytes = [];
	for (let n of numbers) {
		for (; n >= 128; n = Math.floor(n / 128))
			bytes.push(n % 128 + 128);
		bytes.push(n);
	}
	return Buffer.from(bytes).toString("base64");
}

const zigzag = n => n < 0 ? -2 * n - 1 : 2 * n;

test("numbers: what C packs is unpacked, up to 2^53", () => {
	const p = new page.Packed("AAECA35/gAH///////////8B");
	assert.deepEqual(Array.from({ length: 7 }, () => p.signed()), [0, -1, 1, -2, 63, -64, 64]);
	const large = [0, 127, 128, 2 ** 32, 2 ** 53 - 1];
	assert.deepEqual([...new page.Packed(pack(large)).all()], large);
	assert.deepEqual([...new page.Packed(pack([5, 7, 11])).shares(4)], [7, 0, 11, 0]);
	assert.deepEqual([...new page.Packed(null).all()], []);
});

test("scales: steps are 1, 2 or 5, and halves of octaves follow one another", () => {
	assert.deepEqual([0.7, 1.3, 4, 9, 70].map(s => page.niceStep(s * 10, 10)), [1, 2, 5, 10, 100]);
	for (let half = 0; half < page.HALVES - 1; half++) {
		assert.equal(page.halfOf(page.halfBegin(half)), half);
		assert.equal(page.halfOf(page.halfBegin(half + 1) - 1), half);
	}
	assert.equal(page.halfOf(2 ** 52), page.HALVES - 1);
	assert.deepEqual([0, 999, 1000, 123456, 1.5e9, 1e12].map(page.timeText), ["0 ns", "999 ns", "1.00 us", "123 us", "1.50 s", "1000 s"]);
	assert.equal(page.axisTime(2e9, 1e8)(3e8), "0.3 s");
});

test("text: what a reader cannot see is shown, and spreadsheets and shells take it as text", () => {
	assert.equal(page.safe("a\u202eb\\c\n"), "a\\xe2\\x80\\xaeb\\\\c\\x0a");
	assert.equal(page.csvCell('=x"'), '"\'=x"""');
	assert.equal(page.shellWord("a'b $(c)"), "'a'\\''b $(c)'");
	assert.equal(page.shellWord("/a-b.c"), "/a-b.c");
});

/* Two files, two bins and two joined ones; one request of io_uring. */
function dataOf() {
	return {
		duration_ns: 4000, bin_ns: 1000, bins: 4, shares: [{ letter: "D", strata: ["device"] }, { letter: "C", strata: ["vfs"] }],
		operations: [{ name: "read", fs: "ext4", is_async: false, is_pseudo: false, p99_ns: 300 },
			{ name: "uring read", fs: "ext4", is_async: true, is_pseudo: false, p99_ns: null }],
		calls: ["pread64", "read"], call_p99: pack([0, 0]), disks: ["sda"], disk_p99: pack([0]),
		directories: ["/", "/a/b"], files: ["x", "y"], file_directories: pack([1, 2]), file_p99: pack([0, 8]),
		pids: ["7"], processes: ["p"], pid_p99: pack([0]), cgroups: ["/c"], containers: [null], cgroup_p99: pack([0]), threads: pack([0, 0]),
		combos: pack([0, 0, 0, 1, 1, 0, 3, /**/ 1, 1, 0, 2, 1, 1, 1]),
		// before the page, bin 0, bin 2; then bins 2 and 3 together
		cells: pack([0, 0, 0, 0, 0, zigzag(-10), 1, 10, /**/ 1, 2, 1, 512, 90, zigzag(10), 3, 60, 30, /**/ 2, 1, 0, 0, 5, 0, 2, 5,
			/**/ 3, 4, 0, 0, 50, 0, 3, 100, 20]),
		examples: pack([zigzag(-10), 90, 0, 0, 0, 1, 1, 70, 0, 3, 60, 30, /**/ zigzag(2110), 50, 1, 1, 0, 2, 1, 71, 5, 1, 50]),
		details: pack([zigzag(-10), 70, 90, 2, 6, 60, 1, 30]),
		latencies: [{ is_request: false, what: "read", where: "ext4", operation: 0, count: 3, cells: pack([5, 2, 74 * 2, 1]) }],
		lost_kinds: [{ name: "ring", what: "records found no room", what_one: "record found no room" }, { name: "unmatched_end", what: null }, { name: "ops", what: "operations" }],
		losses: [{ kind: 0, cells: pack([1, 23, 2, 101]) }, { kind: 2, cells: pack([3, 1009]) }],
		machine_figures: FIGURES,
		// in bins 0 and 1; in bin 3, nothing of memory pressure
		machine: pack([0, 1000, 2001, 501, 101, 201, 1, 301, 101, 11, 1, 1001, 513, 101, /**/ 1, 500, 1001, 501, 101, 1, 1, 1, 1, 1, 1, 1, 257, 1025,
			/**/ 2, 1000, 2001, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1]),
		disk_rows: [{ disk: 0, kind: "R", cells: pack([1, 2, 0, 512, 40, 30]) }], offsets: [], recordings: ["a b.ios"], from_ns: 50,
	};
}

const cpu = 1;

test("model: sums of a selection are those of its cells, and joined cells are only about right", () => {
	const m = page.modelOfReport(dataOf()), s = page.stateOf(m);
	const whole = page.selectCells(m, s, "file", cpu);
	assert.deepEqual([whole.all.count, whole.all.errors, whole.all.bytes, whole.all.max, whole.all.ended, whole.all.about], [7, 1, 512, 90, 225, false]);
	assert.deepEqual([...whole.all.time], [170, 55]);
	assert.deepEqual([...whole.groups.keys()], ["/x", "/a/b/y"]);
	// of a request of io_uring, only the CPU held up its thread
	assert.deepEqual([...whole.threads.time], [70, 55]);
	const part = page.selectCells(m, { ...s, from: 2000, to: 3000 }, "file", cpu);
	assert.deepEqual([part.first, part.end, part.all.count, part.groups.get("/x").about, part.groups.get("/a/b/y").about], [2, 3, 3, false, true]);
	assert.deepEqual([...part.all.time], [50, 15]);
	const filtered = page.selectCells(m, { ...s, filters: { file: "/x" } }, "call", cpu);
	assert.deepEqual([filtered.all.count, ...filtered.groups.keys()], [3, "pread64"]);
	assert.equal(page.rowsOf(whole.groups, 0)[0].name, "/a/b/y");
	assert.equal(page.treeOf(m, whole, -1).children.get("p").children.size, 2);
});

test("model: examples have their names, segments and cells", () => {
	const m = page.modelOfReport(dataOf()), s = page.stateOf(m);
	assert.deepEqual(m.examples.map(e => [e.begin, e.total, e.combo.file, e.tid, e.error]), [[-10, 90, "/x", 70, 0], [2100, 50, "/a/b/y", 71, 5]]);
	assert.deepEqual(m.examples.map(e => e.segments && e.segments.length), [2, null]);
	assert.deepEqual([...m.latencies[0].heat[0]], [[5, 2]]);
	assert.deepEqual([...page.selectExamples(m, { ...s, cell: [0, page.halfOf(90)] }, [0, 4], m.latencies[0])].map(e => e.tid), [70]);
	assert.deepEqual([...page.selectExamples(m, s, [2, 3], null)].map(e => e.tid), [71]);
	assert.equal(m.disks[0].kinds[0].cells[0].flight, 30);
});

test("model: a percentile of a part is at most the end of its half octave, and no more than the longest", () => {
	const m = page.modelOfReport(dataOf());
	assert.deepEqual([page.p99AtMost(m, "read ext4", 0, 4, 90), page.p99AtMost(m, "read ext4", 0, 1, 1e6)], [90, page.halfBegin(6)]);
	assert.deepEqual([page.p99AtMost(m, "read ext4", 1, 2, 90), page.p99AtMost(m, "write ext4", 0, 4, 90)], [null, null]);
	m.latencies[0].heat[3] = new Map([[20, 989], [40, 11]]);
	assert.equal(page.p99AtMost(m, "read ext4", 3, 4, 1e9), page.halfBegin(41));
	m.latencies[0].heat[3] = new Map([[20, 990], [40, 10]]);
	assert.equal(page.p99AtMost(m, "read ext4", 3, 4, 1e9), page.halfBegin(21));
});

test("model: losses are in their bins, and words name those of a part", () => {
	const data = dataOf(), m = page.modelOfReport(data);
	assert.deepEqual(m.losses.map(l => l && [...l]), [null, [23, 0, 0], null, [101, 0, 1009]]);
	assert.equal(page.lossWords(m.losses, data.lost_kinds, 0, 4), "124 records found no room, 1,009 operations");
	assert.equal(page.lossWords(m.losses, data.lost_kinds, 2, 3), "");
	m.losses[2] = [1, 0, 0];
	assert.equal(page.lossWords(m.losses, data.lost_kinds, 2, 3), "1 record found no room");
	assert.equal(page.pathShown("/a/b (inode 12 on 254:0 and 3 more)"), "/a/b");
	assert.equal(page.pathShown("/a (inode)/b"), "/a (inode)/b");
});

test("machine: sums of a part, of levels the highest, and what is not known once is not known", () => {
	const data = dataOf(), m = page.modelOfReport(data), of = (first, end) => page.machineSum(m.machine, first, end);
	assert.equal(page.modelOfReport({ ...data, machine: null }).machine, null);
	assert.equal(m.machine[2], null);
	const part = of(0, 3);
	assert.deepEqual([part.ns, part.cpu_ns, part.user_ns, part.io_some_ns, part.memory_some_ns, part.dirty_bytes, part.writeback_bytes],
		[1500, 3000, 1000, 300, 10, 512, 1024]);
	assert.equal(page.machineWords(part), "CPU 40 % busy (system 7 %), 7 % waiting for storage; " +
		"pressure: io 20 % (full 7 %), memory 1 %, cpu 67 %; dirty 512 B, under writeback 1.00 KiB");
	assert.deepEqual([of(0, 4).memory_some_ns, of(0, 4).cpu_ns, of(2, 3)], [null, 5000, null]);
	assert.equal(page.machineWords(of(3, 4)), "CPU 0 % busy (system 0 %), 0 % waiting for storage; pressure: io 0 %, cpu 0 %; dirty 0 B, under writeback 0 B");
	assert.equal(page.machineWords(of(2, 3)), "not known here");
});

/* main() calls save() and load(); save() synced and wrote, load() read, and three more functions that it calls did. */
function withCallers() {
	const data = dataOf(), none = [0, 0];
	data.operations.push({ name: "meta rename", fs: "proc", is_async: false, is_pseudo: true, p99_ns: null });
	data.callers = { words: ["the stacks of 5 operations were taken"], names: ["main [a]", "save [b]", "load [b]"],
		operations: [{ op: "read", fs: "ext4" }, { op: "fsync", fs: "ext4" }, { op: "meta", fs: "proc" }],
		nodes: pack([0, 0, ...none, /**/ 1, 1, ...none, /**/ 1, 2, 2, 1, 3, 600, 30, 0, 1, 20, 0, /**/ 2, 3, 1, 0, 2, 250, 3, 2, 0, 2, 5, 2, 1, 95]) };
	return data;
}

test("callers: times are those below a function, by kind of operations and share", () => {
	const data = withCallers(), m = page.modelOfReport(data), c = m.callers, s = page.stateOf(m), all = [true, true, true];
	assert.deepEqual(c.nodes.map(n => [n.name, n.caller && n.caller.name, n.own.length, n.called]),
		[["all functions", null, 0, 0], ["main [a]", "all functions", 0, 0], ["save [b]", "main [a]", 2, 0], ["load [b]", "main [a]", 1, 3]]);
	const times = page.callersTimes(c, all, 2);
	assert.deepEqual(times.map(t => [...t]), [[715, 285], [715, 285], [620, 30], [95, 255]]);
	assert.deepEqual(page.callersTimes(c, [true, false, false], 2).map(t => [...t]), [[20, 255], [20, 255], [20, 0], [0, 255]]);
	// widest first; what is narrow is one part with the functions that are not in the data
	const below = (node, share, least) => page.callersBelow(c.nodes[node], times, all, share, least).map(p =>
		[p.node ? p.node.name : p.n ? `${p.n} more` : c.operations[p.operation].text, page.sum(p.time)]);
	assert.deepEqual(below(1, -1, 1), [["save [b]", 650], ["load [b]", 350]]);
	assert.deepEqual(below(1, 1, 1).map(p => p[0]), ["load [b]", "save [b]"]);
	assert.deepEqual(below(2, -1, 1), [["fsync ext4", 630], ["read ext4", 20]]);
	assert.deepEqual(below(2, -1, 21), [["fsync ext4", 630], ["1 more", 20]]);
	assert.deepEqual(below(3, -1, 1), [["read ext4", 250], ["3 more", 100]]);
	assert.equal(page.callersFound(c, "A", n => page.sum(times[n.id])), 1000);
	assert.equal(page.callersFound(c, "LOAD", n => page.sum(times[n.id])), 350);
	assert.equal(page.callersFound(c, "x", n => page.sum(times[n.id])), 0);
	assert.equal(page.modelOfReport(dataOf()).callers, null);
	assert.deepEqual(page.callersOf({ words: [], names: [], operations: [], nodes: "AAAAAA==" }, 2).nodes.length, 1);
	assert.equal(page.stateOfHash("#frame=3", m, data.shares).frame, 3);
	for (const frame of ["4", "-1", "1e1", "x", "__proto__"])
		assert.equal(page.stateOfHash("#frame=" + frame, m, data.shares).frame, 0);
	assert.equal(page.hashOf({ ...s, frame: 3 }, m, data.shares), "frame=3");
});

test("callers: filters by operation apply, and words say which of the others do not", () => {
	const m = page.modelOfReport(withCallers()), s = page.stateOf(m);
	const chosen = (change, isWhole) => {
		const { kinds, missing } = page.callersChosen(m.callers, { ...s, ...change }, m, isWhole !== false);
		return [...kinds, missing];
	};
	assert.deepEqual(chosen({}), [true, true, false, ""]);
	assert.deepEqual(chosen({ system: true }), [true, true, true, ""]);
	assert.deepEqual(chosen({ filters: { operation: "read ext4" } }), [true, false, false, ""]);
	assert.deepEqual(chosen({ filters: { operation: "meta rename proc" }, system: true }), [false, false, true, ""]);
	assert.deepEqual(chosen({ filters: { operation: "uring read ext4" } }), [false, false, false, ""]);
	assert.deepEqual(chosen({ filters: { file: "/x", operation: "read ext4" } }, false), [true, false, false,
		"Stacks on this page have no time, no file: the picture shows the whole recording."]);
});

/* One second of a machine where each second has other processes and files; none in some seconds. */
function secondOf(i) {
	const strata = { device: 1000 + i, vfs: 10 }, idle = i % 1000 >= 200 && i % 1000 < 850;
	const op = (name, key) => ({ op: name, call: null, fs: "ext4", key, comm: `p${i}`, container: null, count: 3, errors: 0, bytes: 512, max_ns: 900,
		total_ns: 1010 + i, thread_ns: 1010 + i, strata, hist: [[512, 1023, 3]] });
	return { time: new Date(1.7e12 + 1000 * i).toISOString(), duration_ns: 1e9, by: "pid", machine: i % 3 ? { ns: 1e9 } : null, lost: { ring: i % 7 ? 0 : 1 }, missing: [],
		ops: idle ? [] : Array.from({ length: 5 }, (_, k) => op("read", String(1000 * i + k))),
		requests: idle ? [] : [{ dev: `sd${i % 3}`, op: "R", count: 1, errors: 0, bytes: 512, tag_ns: 1, queue_ns: 2, device_ns: 3, hist: [[64, 127, 1]] },
			{ dev: `loop${i}`, op: "R", count: 1, errors: 0, bytes: 512, tag_ns: 1, queue_ns: 2, device_ns: 3, hist: [] }],
		in_progress: idle ? [] : [{ op: "fsync", fs: "ext4", age_ns: 3e8, stratum: "device", dev: "sda", pid: i, tid: i, comm: "p", file: `/f${i}` }] };
}

test("live: an hour of seconds takes no more memory than ten minutes, whatever they have", () => {
	const live = loadLive(), m = live.modelOfLive(), sizes = [], heaps = [];
	require("node:v8").setFlagsFromString("--expose-gc");
	const gc = vm.runInNewContext("gc");
	const size = () => [m.cells, m.examples, m.latencies, m.disks, m.bins, m.losses, m.machine, m.names.operations].map(l => l.length).concat(m.byId.size);
	for (let i = 0; i < 3600; i++) {
		assert.ok(live.secondAdd(m, secondOf(i)));
		// as many seconds with I/O are in the last ten minutes, each 1000 seconds
		if (i % 1000 === 150) {
			gc();
			sizes.push(size());
			heaps.push(process.memoryUsage().heapUsed);
		}
	}
	assert.equal(m.bins.length, live.KEPT);
	assert.deepEqual(sizes[3], sizes[1]);
	assert.deepEqual(sizes[2], sizes[1]);
	assert.ok(heaps[3] < heaps[1] * 1.1, heaps.join(" "));
	// what is shown are the last ten minutes, and no second is there twice
	assert.ok(m.cells.every(c => m.bins[c.bin.i] === c.bin) && m.losses.length === m.bins.length);
	assert.ok(!live.secondAdd(m, secondOf(3599)));
});

test("findings: a link has the operation and the key that the page knows, else the time", () => {
	const data = dataOf(), m = page.modelOfReport(data), link = f => page.hashOf(page.stateOfFinding(m, f), m, data.shares);
	assert.equal(link({ op: "read", property: "file", value: "/x", from: 0, to: 9 }), "operation=read+ext4&file=%2Fx&show-row=read+ext4&by=file");
	assert.equal(link({ op: "read", property: "file", value: "/z", from: 2100, to: 2900 }), "time=2000-3000&operation=read+ext4&show-row=read+ext4");
	assert.equal(link({ op: "fsync", property: "__proto__", value: "x", from: 9, to: 2 }), "");
});

test("lanes: no two operations of a lane overlap, and the longest get a place first", () => {
	const examples = Array.from({ length: 101 }, (_, i) => ({ begin: i * 37 % 1000, end: i * 37 % 1000 + 101 - i }));
	const placed = page.lanesOf(examples, 5, 3);
	assert.equal(placed[0][0], examples[0]);
	for (const [a, la] of placed)
		for (const [b, lb] of placed)
			assert.ok(a === b || la !== lb || a.end <= b.begin || b.end <= a.begin);
	assert.ok(placed.length > 20 && placed.every(([, lane]) => lane < 5));
});

test("address: a state survives it, and the command has the same selection", () => {
	const data = dataOf(), m = page.modelOfReport(data), s = { ...page.stateOf(m), from: 1000, to: 3000, filters: { file: "/a'b", operation: "uring read ext4" },
		share: 0, cell: [1, 30], find: "a&b=#", by: "file", system: true, open: "-10.70" };
	assert.deepEqual({ ...page.stateOfHash("#" + page.hashOf(s, m, data.shares), m, data.shares) }, s);
	const other = page.stateOfHash("#time=9-3&share=zz&by=nothing&cell=1&__proto__=x", m, data.shares);
	assert.deepEqual([other.from, other.share, other.by, other.cell], [0, -1, "operation", null]);
	assert.equal(page.commandOf(s, m, data),
		"iostrata report 'a b.ios' --from 1050ns --to 3050ns --file '/a'\\''b' --op uring --fs ext4 --by file");
});

/* Colours: linear light, L*a*b*, and what eyes see that are blind to red, green or blue (Machado 2009). */

const EYES = [null,
	[[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
	[[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
	[[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]];

const linear = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

function lab([r, g, b]) {
	const f = t => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
	const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), y = f(light([r, g, b])), z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function seen(hex, eye) {
	const l = linear(hex);
	return lab(eye ? eye.map(row => Math.min(Math.max(row.reduce((a, v, i) => a + v * l[i], 0), 0), 1)) : l);
}

function contrast(a, b) {
	const [x, y] = [light(linear(a)), light(linear(b))];
	return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/* The colours by name of the light and of the dark style. */
function styles() {
	const css = fs.readFileSync(path.join(folder, "page.css"), "utf8");
	const of = text => Object.fromEntries([...text.matchAll(/--(\w+): (#[0-9a-f]{6})/g)].map(m => [m[1], m[2]]));
	const [first, second] = css.split("@media (prefers-color-scheme: dark)");
	// the colours of shares, and those of terminals, are in the program's list
	const list = fs.readFileSync(path.join(folder, "..", "base", "share.h"), "utf8");
	const shares = [...list.matchAll(/^\tROW\([A-Z]+, "[^"]+", '(.)', "(#[0-9a-f]{6})", "(#[0-9a-f]{6})", (\d+)/gm)];
	assert.equal(shares.length, 8);
	assert.equal(new Set(shares.map(s => s[4])).size, 8);
	return [of(first), of(second.split("* {")[0])].map((style, i) => ({ ...style, ...Object.fromEntries(shares.map(s => [s[1], s[2 + i]])) }));
}

test("colours: marks have a contrast of 3, text of 4.5, and any two shares differ for all eyes", () => {
	for (const style of styles()) {
		const shares = [..."DSqklrCo"];
		for (const name of [...shares, "mark", "bytes", "lost", "few", "many"])
			assert.ok(contrast(style[name], style.paper) >= 3, `${name} ${contrast(style[name], style.paper)}`);
		for (const name of ["ink", "soft", "lost"])
			assert.ok(Math.min(contrast(style[name], style.paper), contrast(style[name], style.panel)) >= 4.5, name);
		for (const a of shares)
			for (const b of shares.filter(x => x > a))
				for (const eye of EYES)
					assert.ok(Math.hypot(...seen(style[a], eye).map((v, i) => v - seen(style[b], eye)[i])) >= 20, a + b);
	}
});
