// SPDX-License-Identifier: GPL-2.0-only
// panel_time.js - the overview with its handles, operations in progress, and the lanes of the longest operations.

/* Draws the shares of each bin, one on the other, so that @most fills the height. */
function drawStack(p, most) {
	const colours = shareColours();
	p.eachBin((bin, x, w) => {
		let y = p.low;
		for (let s = 0; s < SHARES.length; s++) {
			const h = state.share >= 0 && s !== state.share ? 0 : selected.progress[bin.i][s] / bin.length / most * (p.low - p.high);
			p.ctx.fillStyle = colours[s];
			p.ctx.fillRect(x, y - h, w + 0.4, h);
			y -= h;
		}
	});
}

function mostInProgress(first, end) {
	let most = 0;
	for (let i = first; i < end; i++)
		most = Math.max(most, timeOf(selected.progress[i], state.share) / model.bins[i].length);
	return most || 1;
}

function progressWords(bin) {
	const parts = SHARES.map((s, i) => [s, selected.progress[bin.i][i] / bin.length]).filter(([, v]) => v >= 0.005);
	return parts.map(([s, v]) => `${s.name} ${v.toFixed(2)}`).join(", ") || "no operation";
}

function overviewPanel(parent) {
	// a handle moves one end of the part; between both, the part moves
	const grab = (ns, p) => {
		const near = 8 / p.inner * (model.end - model.begin), { from, to } = state;
		if (Math.abs(ns - from) < near && (from > model.begin || ns - from > 0))
			return at => show({ from: Math.min(at, to - 1), to });
		if (Math.abs(ns - to) < near)
			return at => show({ from, to: Math.max(at, from + 1) });
		if (ns > from && ns < to && (from > model.begin || to < model.end))
			return at => {
				const move = Math.min(Math.max(at - ns, model.begin - from), model.end - to);
				show({ from: from + move, to: to + move });
			};
		return null;
	};
	return new Picture(parent, {
		name: "overview", title: "All of the time", height: 46, grab,
		from: () => model.begin, to: () => model.end,
		draw(p) {
			drawStack(p, mostInProgress(0, model.bins.length));
			p.lost();
			const a = p.x(state.from), b = p.x(state.to), c = p.ctx;
			c.fillStyle = colour("--paper");
			c.globalAlpha = 0.65;
			c.fillRect(p.left, p.high, a - p.left, p.low - p.high);
			c.fillRect(b, p.high, p.left + p.inner - b, p.low - p.high);
			c.globalAlpha = 1;
			c.fillStyle = colour("--mark");
			for (const x of [a, b]) {
				c.fillRect(x - 1, p.high, 2, p.low - p.high);
				c.fillRect(x - 4, (p.low + p.high) / 2 - 8, 8, 16);
			}
		},
		read: (ns, y, p, bin) => progressWords(bin),
		words: () => `Overview of all of the time, ${timeText(model.end - model.begin)}; shown is ${rangeText()}`,
	});
}

function progressPanel(parent) {
	return new Picture(parent, {
		name: "progress", title: "Operations in progress", height: 150,
		draw(p) {
			const most = mostInProgress(selected.first, selected.end);
			p.note.textContent = "on average, by what they were doing at the time";
			p.upwards(most, v => String(Number(v.toPrecision(3))));
			drawStack(p, most);
		},
		read: (ns, y, p, bin) => progressWords(bin),
		words() {
			const all = sum(selected.all.time);
			return "Operations in progress over time. " +
				SHARES.map((s, i) => `${s.name} ${percentText(selected.all.time[i], all)}`).join(", ");
		},
	});
}

/* The parts of an operation's bar: [share, from, to] in ns since its begin; in the order of the shares if the order of
 * its time is not known. */
function partsOf(e) {
	const parts = [];
	let at = 0;
	if (e.segments) {
		for (const [stratum, ns] of e.segments) {
			parts.push([SHARES.findIndex(s => s.strata.includes(STRATA[stratum])), at, at + ns]);
			at += ns;
		}
		if (at < e.total)
			parts.push([SHARES.length - 1, at, e.total]);
		return parts;
	}
	e.time.forEach((ns, s) => {
		if (ns)
			parts.push([s, at, at + ns]);
		at += ns;
	});
	return parts;
}

function drawLane(p, e, y, height, colours) {
	const c = p.ctx, left = p.left, right = left + p.inner;
	for (const [s, from, to] of partsOf(e)) {
		const a = Math.max(p.x(e.begin + from), left), b = Math.min(p.x(e.begin + to), right);
		c.globalAlpha = state.share >= 0 && s !== state.share ? 0.2 : 1;
		c.fillStyle = colours[s];
		if (b > a)
			c.fillRect(a, y, b - a, height);
	}
	c.globalAlpha = 1;
	const x = Math.max(p.x(e.begin), left);
	if (Math.min(p.x(e.end), right) - x < 1.5) {
		c.fillStyle = colours[e.time.indexOf(Math.max(...e.time))];
		c.fillRect(Math.min(x, right - 1.5), y, 1.5, height);
	}
	if (e.id === state.open) {
		c.strokeStyle = colour("--ink");
		c.strokeRect(x - 1, y - 1, Math.max(Math.min(p.x(e.end), right) - x, 2) + 2, height + 2);
	}
}

function exampleWords(e) {
	return `${timeText(e.total)} ${e.combo.call} ${e.combo.file}, ${e.combo.process}`;
}

const LANES = 9, LANE = 11, LANES_DRAWN = 400;

function lanesPanel(parent) {
	let placed = [];
	const at = (ns, y, p) => {
		const lane = Math.floor((y - p.high) / LANE), near = 3 / p.inner * (state.to - state.from);
		return placed.find(([e, l]) => l === lane && e.begin - near <= ns && Math.max(e.end, e.begin) + near >= ns)?.[0];
	};
	const choose = step => () => {
		const list = placed.map(([e]) => e), i = list.findIndex(e => e.id === state.open);
		if (list.length)
			show({ open: list[(i + step + list.length) % list.length].id });
	};
	return new Picture(parent, {
		name: "lanes", title: model.live ? "Operations in progress for long" : "Longest operations",
		height: () => 4 + Math.max(1, Math.max(-1, ...placed.map(([, l]) => l)) + 1) * LANE + 20, axis: true,
		prepare() {
			const shown = selected.examples.slice(0, LANES_DRAWN);
			placed = lanesOf(shown, LANES, 2 / 1000 * (state.to - state.from));
		},
		draw(p) {
			const colours = shareColours();
			p.note.textContent = `${countText(placed.length)} of those in view, each from its begin to its end`;
			for (const [e, lane] of [...placed].reverse())
				drawLane(p, e, p.high + lane * LANE, LANE - 2, colours);
		},
		read(ns, y, p) {
			const e = at(ns, y, p);
			return e ? exampleWords(e) : "no operation of the longest here";
		},
		pick(ns, y, p) {
			const e = at(ns, y, p);
			if (e)
				show({ open: e.id === state.open ? "" : e.id });
		},
		keys: { Enter: choose(1), n: choose(1), p: choose(-1) },
		words: () => `The ${placed.length} longest operations in view. ` +
			placed.slice(0, 3).map(([e]) => exampleWords(e)).join("; ") + ". Keys n and p choose the next and the one before.",
	});
}
