// SPDX-License-Identifier: GPL-2.0-only
// panel_machine.js - how busy the machine was: its CPUs, its pressure (PSI), its dirty pages.

const MACHINE_BANDS = [["CPU", 34], ["io", 17], ["memory", 17], ["cpu", 17], ["dirty", 24]], BAND_GAP = 5;
const MACHINE_KEY = [["--C", "busy"], ["--D", "idle, a thread waits for storage"], ["--r", "stolen"],
	["--bytes", "pressure: some; dirty"], ["--ink", "pressure: full; writeback"]];

/* The sums of the bins from @first to before @end: ns and all figures, of levels the highest one; null where not
 * known. null: nothing is known. */
function machineSum(machine, first, end) {
	const known = machine.slice(first, end).filter(m => m), figure = (name, isLevel) => {
		const values = known.map(m => m[name]);
		return values.includes(null) ? null : isLevel ? Math.max(...values) : sum(values);
	};
	if (!known.length)
		return null;
	return Object.fromEntries([["ns", sum(known.map(m => m.ns))], ...MACHINE_FIGURES.map(([name, isLevel]) => [name, figure(name, isLevel)])]);
}

/* A part of @whole; null if one of them is not known. */
const partOf = (part, whole) => part === null || part === undefined || !whole ? null : part / whole;

/* Shares of the CPUs and of the time, and bytes; null where not known. */
function machineShares(m) {
	const cpu = n => partOf(n, m.cpu_ns), time = n => partOf(n, m.ns);
	return {
		busy: m.user_ns === null ? null : cpu(m.user_ns + m.system_ns), user: cpu(m.user_ns), system: cpu(m.system_ns),
		iowait: cpu(m.iowait_ns), steal: cpu(m.steal_ns),
		io: [time(m.io_some_ns), time(m.io_full_ns)], memory: [time(m.memory_some_ns), time(m.memory_full_ns)],
		cpu: [time(m.cpu_some_ns), null], dirty: m.dirty_bytes, writeback: m.writeback_bytes,
	};
}

/* What is known of @m, in words. */
function machineWords(m) {
	if (!m)
		return "not known here";
	const s = machineShares(m), percent = v => percentText(v, 1), words = [];
	if (s.busy !== null)
		words.push(`CPU ${percent(s.busy)} busy (system ${percent(s.system)}), ${percent(s.iowait)} waiting for storage` +
			(s.steal ? `, ${percent(s.steal)} stolen` : ""));
	const known = ["io", "memory", "cpu"].filter(name => s[name][0] !== null);
	if (known.length)
		words.push("pressure: " + known.map(name => `${name} ${percent(s[name][0])}` + (s[name][1] ? ` (full ${percent(s[name][1])})` : "")).join(", "));
	if (s.dirty !== null)
		words.push(`dirty ${bytesText(s.dirty)}, under writeback ${bytesText(s.writeback)}`);
	return words.join("; ") || "the kernel tells nothing";
}

/* Draws layers, one on the other, from @low up: each a share of the height and a colour. Edges are whole pixels, so
 * that no seam shows between bins. */
function drawLayers(c, x, w, low, height, layers) {
	const left = Math.round(x), width = Math.max(Math.round(x + w) - left, 1);
	for (const [share, style] of layers) {
		const h = Math.min(share || 0, 1) * height;
		c.fillStyle = style;
		c.fillRect(left, low - h, width, h);
		low -= h;
	}
}

function machinePanel(parent) {
	let bins = [], most = { pressure: 0.01, bytes: 1 }, all = null;
	const prepare = () => {
		bins = model.bins.map((b, i) => model.machine[i] && machineShares(model.machine[i]));
		const shown = bins.slice(selected.first, selected.end).filter(s => s);
		most = { pressure: Math.max(0.01, ...shown.flatMap(s => [s.io[0], s.memory[0], s.cpu[0]])),
			bytes: Math.max(1, ...shown.flatMap(s => [s.dirty, s.writeback])) };
		all = machineSum(model.machine, selected.first, selected.end);
	};
	const drawBand = (p, name, low, height) => {
		const c = p.ctx;
		c.fillStyle = colour("--soft");
		c.textAlign = "right";
		c.textBaseline = "middle";
		c.fillText(name, p.left - 6, low - height / 2);
		p.eachBin((bin, x, w) => {
			const s = bins[bin.i];
			if (!s)
				return;
			if (name === "CPU")
				drawLayers(c, x, w, low, height, [[s.busy, colour("--C")], [s.steal, colour("--r")], [s.iowait, colour("--D")]]);
			else if (name === "dirty")
				drawLayers(c, x, w, low, height, [[s.writeback / most.bytes, colour("--ink")],
					[Math.max(s.dirty, s.writeback) / most.bytes - s.writeback / most.bytes, colour("--bytes")]]);
			else
				drawLayers(c, x, w, low, height, [[s[name][1] / most.pressure, colour("--ink")],
					[(s[name][0] - s[name][1]) / most.pressure, colour("--bytes")]]);
		});
		c.fillStyle = colour("--line");
		c.fillRect(p.left, low, p.inner, 1);
	};
	const picture = new Picture(parent, {
		name: "machine", title: "machine", prepare,
		height: sum(MACHINE_BANDS.map(([, height]) => height + BAND_GAP)) + 5,
		draw(p) {
			let low = p.high;
			p.note.textContent = `${machineWords(all)}; highest pressure ${percentText(most.pressure, 1)}`;
			p.figure.dataset.v = JSON.stringify(all);
			for (const [name, height] of MACHINE_BANDS) {
				drawBand(p, name, low + height, height);
				low += height + BAND_GAP;
			}
		},
		read: (ns, y, p, bin) => machineWords(model.machine[bin.i]),
		words: () => `The machine over time: ${machineWords(all)}`,
	});
	picture.figure.append(make("ul", { class: "key" }, ...MACHINE_KEY.map(([name, text]) => {
		const swatch = make("i");
		swatch.style.background = `var(${name})`;
		return make("li", {}, swatch, text);
	})));
	return picture;
}
