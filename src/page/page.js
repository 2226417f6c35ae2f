// SPDX-License-Identifier: GPL-2.0-only
// The script of a page: pictures over time from the page's JSON, and what a click does to its tables. The live page
// gets the same data from its server, second by second. Text becomes part of the page as text only.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const STRATA = data.strata, SHARES = data.shares;
const ON_CPU = SHARES.find(s => s.letter === "C").strata;
const KINDS = Object.fromEntries(data.kinds.map(k => [k.code, k.name]));
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 5]];
const LINES = ["--mark", "--l", "--k", "--r", "--D", "--soft"];

/* Numbers as text, as the tool writes them. */

function three(v, units, step) {
	let i = 0;
	for (; i < units.length - 1 && v >= step - 0.5; i++)
		v /= step;
	return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0) + units[i];
}

function timeText(ns) {
	if (ns < 1000)
		return Math.round(ns) + " ns";
	return ns < 999.5e9 ? three(ns / 1e3, [" us", " ms", " s"], 1000) : Math.round(ns / 1e9) + " s";
}

function bytesText(n) {
	return n < 1024 ? Math.round(n) + " B" : three(n / 1024, [" KiB", " MiB", " GiB", " TiB", " PiB"], 1024);
}

/* Times of one axis have one unit: that of @most. */
function axisTime(most) {
	const [size, unit, digits] = most < 1e3 ? [1, "ns", 0] : most < 1e6 ? [1e3, "us", 2] : most < 1e9 ? [1e6, "ms", 2] : [1e9, "s", 2];
	return ns => ns ? `${Number((ns / size).toFixed(digits))} ${unit}` : "0";
}

function countText(n) {
	return n < 1e6 ? Math.round(n).toLocaleString("en-US") : three(n / 1e6, ["M", "G", "T"], 1000);
}

function percentText(part, whole) {
	const v = 100 * part / whole;
	if (!whole)
		return "-";
	return !part || v > 0.5 ? Math.round(v) + " %" : v < 0.05 ? "<0.1 %" : v.toFixed(1) + " %";
}

/* A name may have characters that a reader does not see: they are shown as the terminal shows them. */
function safe(text) {
	return String(text).replace(/[\\\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, c =>
		c === "\\" ? "\\\\" : Array.from(new TextEncoder().encode(c), b => "\\x" + b.toString(16).padStart(2, "0")).join(""));
}

/* Elements. */

function make(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(name, value === true ? "" : value);
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}

function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* The model: intervals, and for each row of operations or requests a number for each interval. */

const sum = list => list.reduce((a, b) => a + b, 0);
const zeros = n => new Array(n).fill(0);

class Row {
	constructor(from, n) {
		this.isRequest = from.isRequest;
		this.what = from.what;
		this.where = from.where;
		this.count = zeros(n);
		this.errors = zeros(n);
		this.bytes = zeros(n);
		this.total = zeros(n);
		this.threads = zeros(n); // of the total, the time of threads
		this.strata = {};
		this.heat = Array.from({ length: n }, () => new Map());
	}
	get name() {
		return this.isRequest ? `${this.where || "?"} ${this.what}` : this.what + (this.where ? " " + this.where : "");
	}
	share(share, i) {
		return sum(share.strata.map(s => this.strata[s] ? this.strata[s][i] : 0));
	}
	within(list, first, end) {
		return sum(list.slice(first, end));
	}
}

function modelOfReport(data) {
	const n = data.intervals, model = { n, start: [], length: [], rows: [], all: new Row({}, n) };
	for (let i = 0; i < n; i++) {
		model.start.push(i * data.interval_ns);
		model.length.push(Math.min(data.interval_ns, Math.max(data.duration_ns - i * data.interval_ns, 1)));
	}
	model.end = data.duration_ns;
	Object.assign(model.all, { count: data.all.count, total: data.all.total, strata: data.all.strata });
	for (const r of data.rows) {
		const row = new Row({ isRequest: r.is_request, what: safe(r.what), where: r.where && safe(r.where) }, n);
		Object.assign(row, { count: r.count, errors: r.errors, bytes: r.bytes, total: r.total, strata: r.strata });
		r.heat.cells.forEach((cells, half) => {
			for (let i = 0; i < cells.length; i += 2)
				row.heat[cells[i]].set(r.heat.low + half, cells[i + 1]);
		});
		model.rows.push(row);
	}
	if (model.n > 1 && model.length[model.n - 1] < data.interval_ns / 4)
		lastJoin(model);
	return model;
}

/* Joins the last interval to the one before: a rate in a very short one says nothing. */
function lastJoin(model) {
	const last = --model.n;
	model.length[last - 1] += model.length.pop();
	model.start.pop();
	for (const r of [model.all, ...model.rows]) {
		for (const list of [r.count, r.errors, r.bytes, r.total, ...Object.values(r.strata)])
			if (list.length > last)
				list[last - 1] += list.pop();
		for (const [half, n] of r.heat.pop())
			r.heat[last - 1].set(half, (r.heat[last - 1].get(half) || 0) + n);
	}
}

/* The half-octave of a time, as in show/page_json.h, and where it begins. */
function halfOf(ns) {
	if (ns < 32)
		return ns >> 4;
	const log2 = Math.floor(Math.log2(ns));
	return (log2 - 4) * 2 + (ns >= 1.5 * 2 ** log2 ? 1 : 0);
}

function halfBegin(half) {
	const log2 = Math.floor(half / 2) + 4;
	return half < 2 ? half * 16 : half % 2 ? 1.5 * 2 ** log2 : 2 ** log2;
}

/* The part of the time that is shown. All pictures follow this part. */

const view = { from: 0, to: 0, followers: [] };
let model = null;

function wholeShown() {
	return view.from <= model.start[0] && view.to >= model.end;
}

function show(from, to) {
	const least = model.length[0] || 1;
	view.from = Math.max(model.start[0], Math.min(from, model.end - least));
	view.to = Math.min(model.end, Math.max(to, view.from + least));
	redraw();
}

function redraw() {
	view.followers.forEach(f => f());
}

/* The intervals shown: from the first up to the end. */
function shown() {
	let first = model.start.findIndex((s, i) => s + model.length[i] > view.from), end = model.n;
	if (first < 0)
		first = 0;
	while (end > first + 1 && model.start[end - 1] >= view.to)
		end--;
	return [first, end];
}

/* Pictures: a canvas with the time across. */

const MARGIN = { left: 74, right: 10, top: 8, bottom: 22 };

function niceStep(span, most) {
	const rough = span / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough));
	return power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
}

class Picture {
	// of: title, height, draw(picture), read(interval, y), table() or null
	constructor(parent, of) {
		this.of = of;
		this.canvas = make("canvas", { tabindex: 0, role: "img", height: of.height });
		this.reading = make("div", { class: "read", "aria-live": "polite" });
		this.caption = make("figcaption", {}, of.title);
		this.figure = make("figure", {}, this.caption, this.canvas, this.reading);
		this.drag = null;
		parent.append(this.figure);
		if (of.table)
			this.figure.append(this.details());
		this.listen();
		view.followers.push(() => this.draw());
		new ResizeObserver(() => this.draw()).observe(this.canvas);
	}
	details() {
		const box = make("details", {}, make("summary", {}, "as a table"));
		const fill = () => {
			if (box.open) {
				box.querySelector(".scroll")?.remove();
				box.append(make("div", { class: "scroll" }, this.of.table()));
			}
		};
		box.addEventListener("toggle", fill);
		view.followers.push(fill);
		return box;
	}
	x(ns) {
		return MARGIN.left + (ns - view.from) / (view.to - view.from) * this.inner;
	}
	timeAt(x) {
		return view.from + Math.min(Math.max((x - MARGIN.left) / this.inner, 0), 1) * (view.to - view.from);
	}
	draw() {
		const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 15;
		const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.of.height * scale;
		if (!width || !model.n)
			return;
		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.height = height + "px";
		const c = this.ctx = this.canvas.getContext("2d");
		c.scale(ratio, ratio);
		c.font = `${12 * scale}px system-ui, sans-serif`;
		MARGIN.left = 74 * scale;
		MARGIN.bottom = 22 * scale;
		this.inner = width - MARGIN.left - MARGIN.right;
		this.low = height - MARGIN.bottom;
		this.high = MARGIN.top;
		this.of.draw(this);
		this.axis();
		if (this.drag) {
			const a = this.x(this.drag.from), b = this.x(this.drag.to);
			c.globalAlpha = 0.25;
			c.fillStyle = colour("--mark");
			c.fillRect(Math.min(a, b), this.high, Math.abs(b - a), this.low - this.high);
			c.globalAlpha = 1;
		}
		this.canvas.setAttribute("aria-label", this.of.words ? this.of.words() : this.of.title);
	}
	axis() {
		const c = this.ctx, step = niceStep(view.to - view.from, this.inner / 90), text = model.label || axisTime(view.to);
		c.fillStyle = colour("--soft");
		c.strokeStyle = colour("--line");
		c.textBaseline = "top";
		c.textAlign = "center";
		c.beginPath();
		for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
			const x = Math.round(this.x(t)) + 0.5;
			c.moveTo(x, this.low);
			c.lineTo(x, this.low + 4);
			if (x > MARGIN.left - 1 && x < MARGIN.left + this.inner - 12)
				c.fillText(text(t), Math.max(x, MARGIN.left), this.low + 6);
		}
		c.moveTo(MARGIN.left, this.low + 0.5);
		c.lineTo(MARGIN.left + this.inner, this.low + 0.5);
		c.stroke();
	}
	// Lines and labels of an axis upwards, from 0 to @most.
	upwards(most, text, binary) {
		const c = this.ctx, lines = (this.low - this.high) / 30;
		const step = binary ? 2 ** Math.ceil(Math.log2(most / lines)) : niceStep(most, lines);
		c.fillStyle = colour("--soft");
		c.strokeStyle = colour("--line");
		c.textBaseline = "middle";
		c.textAlign = "right";
		c.beginPath();
		for (let v = 0; v <= most * 1.0001; v += step) {
			const y = Math.round(this.low - v / most * (this.low - this.high)) + 0.5;
			c.moveTo(MARGIN.left, y);
			c.lineTo(MARGIN.left + this.inner, y);
			c.fillText(text(v), MARGIN.left - 6, y);
		}
		c.stroke();
	}
	listen() {
		const at = e => this.timeAt(e.clientX - this.canvas.getBoundingClientRect().left);
		this.canvas.addEventListener("pointerdown", e => {
			if (e.button)
				return;
			this.canvas.setPointerCapture(e.pointerId);
			this.drag = { from: at(e), to: at(e) };
		});
		this.canvas.addEventListener("pointermove", e => {
			if (this.drag) {
				this.drag.to = at(e);
				this.draw();
			}
			this.read(at(e), e.clientY - this.canvas.getBoundingClientRect().top);
		});
		this.canvas.addEventListener("pointerup", () => this.dragged());
		this.canvas.addEventListener("pointercancel", () => {
			this.drag = null;
			this.draw();
		});
		this.canvas.addEventListener("dblclick", () => show(model.start[0], model.end));
		this.canvas.addEventListener("keydown", e => this.key(e));
	}
	dragged() {
		const d = this.drag;
		this.drag = null;
		if (d && Math.abs(this.x(d.to) - this.x(d.from)) > 4)
			show(Math.min(d.from, d.to), Math.max(d.from, d.to));
		else
			this.draw();
	}
	key(e) {
		const span = view.to - view.from, middle = (view.from + view.to) / 2;
		const moves = {
			ArrowLeft: [view.from - span / 4, view.to - span / 4],
			ArrowRight: [view.from + span / 4, view.to + span / 4],
			"+": [middle - span / 4, middle + span / 4],
			"=": [middle - span / 4, middle + span / 4],
			"-": [middle - span, middle + span],
			Escape: [model.start[0], model.end],
			Home: [model.start[0], model.start[0] + span],
			End: [model.end - span, model.end],
		};
		if (!moves[e.key] || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		let [from, to] = moves[e.key];
		if (e.key.startsWith("Arrow") && from < model.start[0])
			[from, to] = [model.start[0], model.start[0] + span];
		if (e.key.startsWith("Arrow") && to > model.end)
			[from, to] = [model.end - span, model.end];
		show(from, to);
		this.read((view.from + view.to) / 2, this.of.height / 2);
	}
	read(ns, y) {
		let i = model.start.findIndex((s, k) => ns < s + model.length[k]);
		if (i < 0)
			i = model.n - 1;
		const when = model.label ? model.label(model.start[i]) : "at " + timeText(model.start[i]);
		this.reading.textContent = `${when}: ${this.of.read(i, y, this, ns)}`;
	}
}

/* The strata of all operations, one on the other. */

function strataPicture(parent) {
	const at = (share, i) => model.all.share(share, i) / model.length[i];
	const parts = i => SHARES.filter(s => model.all.share(s, i)).map(s => `${s.name} ${at(s, i).toFixed(2)}`).join(", ");
	new Picture(parent, {
		title: "Operations in progress at a time, on average, by what they did (an operation counts where it ended)",
		height: 220,
		draw(p) {
			const [first, end] = shown();
			let most = 0;
			for (let i = first; i < end; i++)
				most = Math.max(most, sum(SHARES.map(s => at(s, i))));
			most = most || 1;
			p.upwards(most, v => String(Number(v.toPrecision(3))));
			for (let i = first; i < end; i++) {
				const x = p.x(Math.max(model.start[i], view.from));
				const w = p.x(Math.min(model.start[i] + model.length[i], view.to)) - x;
				let y = p.low;
				for (const s of SHARES) {
					const h = at(s, i) / most * (p.low - p.high);
					p.ctx.fillStyle = colour("--" + s.letter);
					p.ctx.fillRect(x, y - h, w + 0.4, h);
					y -= h;
				}
			}
		},
		read: i => parts(i) || "no operation",
		words() {
			const [first, end] = shown(), all = model.all.within(model.all.total, first, end);
			return "Strata over time. " + SHARES.map(s => {
				let ns = 0;
				for (let i = first; i < end; i++)
					ns += model.all.share(s, i);
				return `${s.name} ${percentText(ns, all)}`;
			}).join(", ");
		},
		table() {
			const [first, end] = shown(), body = make("tbody");
			for (let i = first; i < end; i++)
				body.append(make("tr", {}, make("td", {}, model.label ? model.label(model.start[i]) : timeText(model.start[i])),
					make("td", { class: "n" }, countText(model.all.count[i])),
					...SHARES.map(s => make("td", { class: "n" }, timeText(model.all.share(s, i))))));
			return make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "from"), make("th", { class: "n" }, "operations"),
				...SHARES.map(s => make("th", { class: "n" }, s.name)))), body);
		},
	});
	parent.append(make("ul", { class: "key" }, ...SHARES.map(s => make("li", {}, make("i", { class: s.letter }, s.letter), s.name))));
}

/* The requests of each disk. */

function disksOf() {
	const disks = new Map();
	for (const row of model.rows.filter(r => r.isRequest))
		disks.set(row.where, [...(disks.get(row.where) || []), row]);
	return [...disks].slice(0, LINES.length);
}

function linesPicture(parent, title, value, text, binary) {
	const at = (rows, i) => sum(rows.map(r => value(r, i))) / model.length[i];
	new Picture(parent, {
		title,
		height: 120,
		draw(p) {
			const [first, end] = shown(), disks = disksOf();
			let most = 0;
			for (const [, rows] of disks)
				for (let i = first; i < end; i++)
					most = Math.max(most, at(rows, i));
			most = most || 1;
			p.upwards(most, text, binary);
			disks.forEach(([, rows], n) => {
				p.ctx.strokeStyle = colour(LINES[n]);
				p.ctx.lineWidth = 1.6;
				p.ctx.setLineDash(DASHES[n]);
				p.ctx.beginPath();
				for (let i = first; i < end; i++) {
					const y = p.low - at(rows, i) / most * (p.low - p.high);
					p.ctx.lineTo(p.x(Math.max(model.start[i], view.from)), y);
					p.ctx.lineTo(p.x(Math.min(model.start[i] + model.length[i], view.to)), y);
				}
				p.ctx.stroke();
				p.ctx.setLineDash([]);
				p.ctx.lineWidth = 1;
			});
		},
		read: i => disksOf().map(([disk, rows]) => `${disk} ${text(at(rows, i))}`).join(", ") || "no request",
		words() {
			const [first, end] = shown();
			return title + ". " + disksOf().map(([disk, rows]) => {
				let most = 0;
				for (let i = first; i < end; i++)
					most = Math.max(most, at(rows, i));
				return `${disk} at most ${text(most)}`;
			}).join(", ");
		},
	});
}

function disksKey(parent) {
	const list = make("ul", { class: "key" });
	const fill = () => list.replaceChildren(...disksOf().map(([disk], n) => {
		const c = make("canvas", { width: 56, height: 24, "aria-hidden": true }), ctx = c.getContext("2d");
		ctx.scale(2, 2);
		ctx.strokeStyle = colour(LINES[n]);
		ctx.setLineDash(DASHES[n]);
		ctx.lineWidth = 2;
		ctx.beginPath();
		ctx.moveTo(0, 6);
		ctx.lineTo(28, 6);
		ctx.stroke();
		return make("li", {}, c, disk || "?");
	}));
	parent.append(list);
	fill();
	return fill;
}

/* Maps of latency: time across, latency upwards by its logarithm, a colour for the count. */

function mix(few, many, part) {
	const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)), a = rgb(few), b = rgb(many);
	return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * part)).join(",")})`;
}

function heatPicture(parent, title, isRequest) {
	const select = make("select", { "aria-label": title }), box = make("div");
	let row = null, range = [0, 0];
	const scan = () => {
		let low = Infinity, high = -1, most = 0;
		const [first, end] = shown();
		for (let i = 0; i < model.n; i++)
			for (const [half, n] of row ? row.heat[i] : []) {
				low = Math.min(low, half);
				high = Math.max(high, half);
				most = i >= first && i < end ? Math.max(most, n) : most;
			}
		range = high < 0 ? [0, 0] : [low, high + 1];
		return most;
	};
	const refill = () => {
		const rows = model.rows.filter(r => r.isRequest === isRequest), names = rows.map(r => r.name);
		if (select.options.length !== names.length || names.some((n, i) => select.options[i].text !== n)) {
			const chosen = select.value;
			select.replaceChildren(...names.map(n => make("option", {}, n)));
			if (names.includes(chosen))
				select.value = chosen;
		}
		row = rows[Math.max(names.indexOf(select.value), 0)] || null;
	};
	parent.append(box);
	refill();
	box.append(make("label", {}, title + " ", select));
	const picture = new Picture(box, {
		title: "How many took how long, in each interval",
		height: 220,
		draw(p) {
			refill();
			const most = scan(), [first, end] = shown(), c = p.ctx, rows = range[1] - range[0] || 1;
			const few = colour("--few"), many = colour("--many"), height = (p.low - p.high) / rows;
			for (let i = first; i < end; i++) {
				const x = p.x(Math.max(model.start[i], view.from));
				const w = p.x(Math.min(model.start[i] + model.length[i], view.to)) - x;
				for (const [half, n] of row ? row.heat[i] : []) {
					c.fillStyle = mix(few, many, most > 1 ? Math.log(n) / Math.log(most) : 1);
					c.fillRect(x, p.low - (half - range[0] + 1) * height, w + 0.3, height + 0.3);
				}
			}
			c.fillStyle = colour("--soft");
			c.textBaseline = "middle";
			c.textAlign = "right";
			const step = Math.max(2, Math.ceil(18 / height / 2) * 2);
			for (let half = Math.ceil(range[0] / 2) * 2; half <= range[1]; half += step)
				c.fillText(timeText(halfBegin(half)), MARGIN.left - 6, p.low - (half - range[0]) * height);
		},
		read(i, y, p) {
			const half = range[0] + Math.floor((p.low - y) / (p.low - p.high) * (range[1] - range[0]));
			const n = row && row.heat[i].get(half) || 0;
			return `${countText(n)} took ${timeText(halfBegin(half))} to ${timeText(halfBegin(half + 1))}`;
		},
		words() {
			const [first, end] = shown();
			return row ? `Latency of ${row.name} over time: ${countText(row.within(row.count, first, end))}, from ` +
				`${timeText(halfBegin(range[0]))} to ${timeText(halfBegin(range[1]))}` : "none";
		},
		table() {
			const body = make("tbody"), [first, end] = shown();
			for (let half = range[1] - 1; half >= range[0]; half--) {
				let n = 0;
				for (let i = first; i < end; i++)
					n += row ? row.heat[i].get(half) || 0 : 0;
				body.append(make("tr", {}, make("td", {}, `${timeText(halfBegin(half))} to ${timeText(halfBegin(half + 1))}`),
					make("td", { class: "n" }, countText(n))));
			}
			return make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "time"), make("th", { class: "n" }, "count"))), body);
		},
	});
	select.addEventListener("change", () => picture.draw());
}

/* Where reads and writes went: time across, the offset upwards. */

function offsetsPicture(parent, maps) {
	const title = m => (m.is_disk ? "disk " : "") + (m.name === null ? "?" : safe(m.name));
	const select = make("select", { "aria-label": "file or disk" }, ...maps.map(m => make("option", {}, title(m))));
	const words = make("p", {}), cellsAt = new Map();
	let m = maps[0], most = 1, ranges = 1;
	const choose = () => {
		m = maps[select.selectedIndex];
		cellsAt.clear();
		most = ranges = 1;
		for (let i = 0; i < m.cells.length; i += 4) {
			cellsAt.set(m.cells[i] * 64 + m.cells[i + 1], [m.cells[i + 2], m.cells[i + 3]]);
			most = Math.max(most, m.cells[i + 2] + m.cells[i + 3]);
			ranges = Math.max(ranges, m.cells[i + 1] + 1);
		}
		words.textContent = m.words + (m.since_ns ? `; not drawn before ${timeText(m.since_ns)}` : "");
	};
	const strong = n => 0.35 + 0.65 * (most > 1 ? Math.log(n) / Math.log(most) : 1);
	parent.append(make("label", {}, "File or disk ", select), words);
	choose();
	const picture = new Picture(parent, {
		title: "Offsets of reads and writes",
		height: 240,
		draw(p) {
			const c = p.ctx, height = (p.low - p.high) / ranges;
			for (const [key, n] of cellsAt) {
				const from = Math.max(Math.floor(key / 64) * m.interval_ns, view.from);
				const to = Math.min(Math.floor(key / 64) * m.interval_ns + m.interval_ns, view.to, model.end);
				if (from >= to)
					continue;
				const x = p.x(from), y = p.low - (key % 64 + 1) * height, w = Math.max(p.x(to) - x, 1), h = Math.max(height, 1);
				const reads = w * n[0] / (n[0] + n[1]);
				c.globalAlpha = strong(n[0] + n[1]);
				c.fillStyle = colour("--C");
				c.fillRect(x, y, reads, h);
				c.fillStyle = colour("--l");
				c.fillRect(x + reads, y, w - reads, h);
			}
			c.globalAlpha = 1;
			c.fillStyle = colour("--soft");
			c.textBaseline = "middle";
			c.textAlign = "right";
			for (let i = 0; i <= ranges; i += Math.max(1, 2 ** Math.ceil(Math.log2(ranges / 8))))
				c.fillText(i ? bytesText(i * m.range_bytes) : "0", MARGIN.left - 6, Math.max(p.low - i * height, p.high + 5));
		},
		read(i, y, p, ns) {
			const range = Math.floor((p.low - y) / (p.low - p.high) * ranges);
			const n = cellsAt.get(Math.floor(ns / m.interval_ns) * 64 + range) || [0, 0];
			return `${countText(n[0])} reads and ${countText(n[1])} writes from ${bytesText(range * m.range_bytes)} on`;
		},
		words: () => `Offsets over time of ${title(m)}: ${m.words}`,
	});
	parent.append(make("ul", { class: "key" }, make("li", {}, make("i", { class: "C" }, " "), "reads"),
		make("li", {}, make("i", { class: "l" }, " "), "writes")));
	select.addEventListener("change", () => {
		choose();
		picture.draw();
	});
}

/* Tables: sort, filter, copy. */

function cellValue(cell) {
	return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
}

function sortTable(table, column) {
	const heads = [...table.tHead.rows[0].cells], head = heads[column], was = head.getAttribute("aria-sort");
	// figures begin with the largest, text with A
	const down = was ? was === "ascending" : head.classList.contains("n");
	heads.forEach(h => h.removeAttribute("aria-sort"));
	head.setAttribute("aria-sort", down ? "descending" : "ascending");
	sortRows(table, column, down);
}

function sortRows(table, column, down) {
	const body = table.tBodies[0];
	const rows = [...body.rows].sort((a, b) => {
		const x = cellValue(a.cells[column]), y = cellValue(b.cells[column]);
		if (typeof x !== typeof y)
			return typeof x === "string" ? 1 : -1;
		const order = typeof x === "string" ? x.localeCompare(y) : x - y;
		return down ? -order : order;
	});
	body.append(...rows);
}

function csvText(table) {
	const quote = s => /^[=+\-@\t\r]/.test(s) && isNaN(s) ? `"'${s.replace(/"/g, '""')}"` : /[",\n]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
	const heads = [...table.tHead.rows[0].cells];
	const titles = heads.flatMap(h => h.dataset.name === "strata" ? STRATA.map(s => s + "_ns") : [h.dataset.name || h.textContent.trim()]);
	const rows = [...table.tBodies[0].rows].filter(r => !r.hidden).map(r => [...r.cells].flatMap((cell, i) =>
		heads[i].dataset.name === "strata" ? (cell.dataset.strata || "").split(" ") : [cell.dataset.v ?? (cell.textContent === "-" ? "" : cell.textContent)]));
	return [titles, ...rows].map(r => r.map(quote).join(",")).join("\n") + "\n";
}

async function copyTable(table, button) {
	const said = button.textContent;
	let done = true;
	try {
		await navigator.clipboard.writeText(csvText(table));
	} catch {
		const area = make("textarea", {});
		area.value = csvText(table);
		document.body.append(area);
		area.select();
		done = document.execCommand("copy");
		area.remove();
	}
	button.textContent = done ? "copied" : "the browser refused";
	setTimeout(() => { button.textContent = said; }, 1500);
}

function enhance(table) {
	[...table.tHead.rows[0].cells].forEach((head, i) => {
		if (head.dataset.name === "strata")
			return;
		const button = make("button", { type: "button", onclick: () => sortTable(table, i) }, ...head.childNodes);
		head.replaceChildren(button);
	});
	const filter = make("input", { type: "search", size: 18, placeholder: "filter", "aria-label": `filter ${table.caption.textContent}` });
	filter.addEventListener("input", () => filterTable(table, filter.value));
	const copy = make("button", { type: "button" }, "copy as CSV");
	copy.addEventListener("click", () => copyTable(table, copy));
	const tools = make("div", { class: "tools" }, make("h3", { "aria-hidden": true }, table.caption.textContent), filter, copy);
	table.closest(".scroll").before(tools);
	return { filter, tools };
}

function filterTable(table, text) {
	const wanted = text.toLowerCase();
	for (const row of table.tBodies[0].rows)
		row.hidden = ![...row.cells].some(c => c.dataset.v === undefined && c.textContent.toLowerCase().includes(wanted));
}

/* The bar of letters, as C code writes it. */
function bar(strata, total) {
	const ns = SHARES.map(s => ({ s, ns: sum(s.strata.map(n => strata[n] || 0)) })).filter(x => x.ns).sort((a, b) => b.ns - a.ns);
	const e = make("span", { class: "bar", role: "img", "aria-label": ns.map(x => `${x.s.name} ${percentText(x.ns, total)}`).join(", ") });
	let before = 0, at = 0;
	for (const x of ns) {
		before += x.ns;
		const end = Math.floor(before * 20 / total + 0.5);
		if (end > at)
			e.append(make("i", { class: x.s.letter }, x.s.letter.repeat(end - at)));
		at = Math.max(at, end);
	}
	return e;
}

function strataCell(strata, total) {
	return make("td", { "data-strata": STRATA.map(s => strata[s] || 0).join(" ") }, total ? bar(strata, total) : "");
}

/* The part of the time that is shown, and the operations and requests in it. */

function partTable(id, isRequest) {
	const [first, end] = shown(), rows = model.rows.filter(r => r.isRequest === isRequest);
	const sums = rows.map(r => ({
		r, count: r.within(r.count, first, end), errors: r.within(r.errors, first, end), bytes: r.within(r.bytes, first, end),
		total: r.within(r.total, first, end),
		strata: Object.fromEntries(Object.entries(r.strata).map(([s, list]) => [s, r.within(list, first, end)])),
	})).filter(s => s.count).sort((a, b) => b.total - a.total);
	const number = (v, text) => make("td", { class: "n", "data-v": v }, text);
	const body = make("tbody", {}, ...sums.map(s => make("tr", {}, make("td", {}, s.r.name), number(s.count, countText(s.count)),
		number(s.errors, countText(s.errors)), number(s.bytes, s.bytes ? bytesText(s.bytes) : "-"),
		number(s.total / s.count, timeText(s.total / s.count)), number(s.total, timeText(s.total)), strataCell(s.strata, s.total))));
	const heads = ["count", "errors", "bytes", "mean_ns", "total_ns"], titles = ["count", "failed", "bytes", "mean", "total"];
	return make("table", { id }, make("caption", {}, isRequest ? "Requests in this part" : "Operations in this part"),
		make("thead", {}, make("tr", {}, make("th", { scope: "col" }, isRequest ? "disk and request" : "operation"),
			...heads.map((h, i) => make("th", { scope: "col", class: "n", "data-name": h }, titles[i])),
			make("th", { scope: "col", "data-name": "strata" }, "where it went"))), body);
}

function partShown(parent, others) {
	const text = make("span", { "aria-live": "polite" }), whole = make("button", { type: "button" }, "show all");
	const range = make("div", { class: "range", hidden: true }, text, whole), tables = make("div");
	whole.addEventListener("click", () => show(model.start[0], model.end));
	parent.before(range);
	parent.append(tables);
	view.followers.push(() => {
		range.hidden = wholeShown();
		tables.replaceChildren();
		if (range.hidden)
			return;
		const time = model.label || timeText, end = model.label ? "all" : timeText(model.end);
		text.textContent = `shown: ${time(view.from)} to ${time(view.to)} of ${end}; ${others}`;
		for (const isRequest of [false, true])
			tables.append(make("div", { class: "scroll" }, partTable(isRequest ? "part-requests" : "part-ops", isRequest)));
	});
}

function hint(parent) {
	parent.append(make("p", { class: "hint" }, "Drag to zoom, double-click for all. Keys: + and -, arrows, Escape."));
}

function pictures() {
	const times = document.getElementById("times"), heat = document.getElementById("heat");
	strataPicture(times);
	linesPicture(times, "Bytes per second, by disk", (r, i) => r.bytes[i] * 1e9, v => v ? bytesText(v) + "/s" : "0", true);
	linesPicture(times, "Requests in flight, on average, by disk", (r, i) => r.total[i], v => String(Number(v.toPrecision(3))));
	view.followers.push(disksKey(times));
	hint(times);
	heatPicture(heat, "Operations", false);
	heatPicture(heat, "Requests", true);
}

/* A report. */

function report(data) {
	document.querySelectorAll("#tables table").forEach(enhance);
	if (!data.intervals)
		return;
	model = modelOfReport(data);
	view.from = 0;
	view.to = model.end;
	partShown(document.getElementById("times"), "the tables below are of all");
	pictures();
	if (data.offsets.length)
		offsetsPicture(document.getElementById("offsets"), data.offsets);
	redraw();
}

/* The live page: a second after the other, as `iostrata breakdown --json` has it. */

const KEPT = 600;

function rowsGrow(rows) {
	for (const r of rows) {
		[r.count, r.errors, r.bytes, r.total, r.threads, ...Object.values(r.strata)].forEach(list => list.push(0));
		r.heat.push(new Map());
	}
}

function rowsForget(rows) {
	for (const r of rows)
		[r.count, r.errors, r.bytes, r.total, r.threads, r.heat, ...Object.values(r.strata)].forEach(list => list.shift());
}

/* Adds @of, a row of the JSON, to the last interval of @row. */
function rowAdd(row, of, strata) {
	const i = row.count.length - 1;
	row.count[i] += of.count;
	row.errors[i] += of.errors;
	row.bytes[i] += of.bytes;
	row.total[i] += sum(Object.values(strata));
	row.threads[i] += of.thread_ns || 0;
	for (const [name, ns] of Object.entries(strata)) {
		row.strata[name] = row.strata[name] || zeros(i + 1);
		row.strata[name][i] += ns || 0;
	}
	for (const [low, , n] of of.hist || [])
		row.heat[i].set(halfOf(low), (row.heat[i].get(halfOf(low)) || 0) + n);
}

function rowOf(names) {
	let row = model.rows.find(r => r.isRequest === names.isRequest && r.what === names.what && r.where === names.where);
	if (!row) {
		row = new Row(names, model.n);
		model.rows.push(row);
	}
	return row;
}

const opName = op => safe(op.op + (op.call ? " " + op.call : ""));

function secondAdd(b) {
	const end = Date.parse(b.time) * 1e6;
	if (!model.n)
		model.zero = end - b.duration_ns;
	if (model.n && end - model.zero <= model.end)
		return false;
	model.start.push(end - model.zero - b.duration_ns);
	model.length.push(b.duration_ns);
	model.n++;
	model.end = end - model.zero;
	rowsGrow([model.all, model.threads, ...model.rows]);
	for (const op of b.ops) {
		rowAdd(rowOf({ isRequest: false, what: opName(op), where: op.fs && safe(op.fs) }), op, op.strata);
		rowAdd(model.all, { ...op, hist: null }, op.strata);
		// of asynchronous requests, threads have the strata on the CPU
		rowAdd(model.threads, { ...op, hist: null }, op.thread_ns === op.total_ns ? op.strata :
			Object.fromEntries(ON_CPU.map(s => [s, op.strata[s] || 0])));
	}
	for (const r of b.requests || [])
		rowAdd(rowOf({ isRequest: true, what: KINDS[r.op] || safe(r.op), where: safe(r.dev) }), r,
			{ tag: r.tag_ns || 0, queue: r.queue_ns || 0, device: r.device_ns });
	if (model.n > KEPT) {
		[model.start, model.length].forEach(list => list.shift());
		model.n--;
		rowsForget([model.all, model.threads, ...model.rows]);
	}
	return true;
}

/* The answer for the part that is shown. */
function sentence() {
	const [first, end] = shown(), { io, inFlight } = timesOf(model.rows, first, end), time = sum(model.length.slice(first, end));
	const ops = model.rows.filter(r => !r.isRequest);
	const most = ops.map(r => ({ r, ns: r.within(r.threads, first, end), all: r.within(r.total, first, end) })).sort((a, b) => b.ns - a.ns)[0];
	if (!io && !inFlight)
		return `no I/O in ${timeText(time)}`;
	const cause = SHARES.find(s => 2 * sum(s.strata.map(n => most.r.strata[n] ? most.r.within(most.r.strata[n], first, end) : 0)) > most.ns);
	return `${wholeShown() ? "in the last" : "in these"} ${timeText(time)}: ${timeText(io)} in I/O` +
		(io ? `, ${percentText(most.ns, io)} of it ${most.r.name}` : "") + (io && cause && most.ns === most.all ? `, mostly ${cause.mostly}` : "") +
		(inFlight ? `; asynchronous requests: ${(inFlight / time).toPrecision(3)} in flight on average` : "");
}

/* The time of threads in I/O, and the time in flight of requests of io_uring and libaio. Only their rows have other time than that of threads. */
function timesOf(rows, first, end) {
	const times = rows.filter(r => !r.isRequest).map(r => [r.within(r.threads, first, end), r.within(r.total, first, end)]);
	return { io: sum(times.map(t => t[0])), inFlight: sum(times.filter(t => t[0] !== t[1]).map(t => t[1])) };
}

function sharesFill() {
	const [first, end] = shown(), io = model.threads.within(model.threads.total, first, end);
	const strata = Object.fromEntries(Object.entries(model.threads.strata).map(([n, list]) => [n, model.threads.within(list, first, end)]));
	const words = SHARES.map(s => ({ s, ns: sum(s.strata.map(n => strata[n] || 0)) })).filter(x => 100 * x.ns >= io && x.ns)
		.sort((a, b) => b.ns - a.ns).map(x => `${x.s.letter} ${x.s.name} ${percentText(x.ns, io)}`);
	document.getElementById("shares").replaceChildren(...io ? [bar(strata, io), " " + words.join(", ")] : []);
}

/* A table that is filled again and again, and keeps its order and its filter. */
class LiveTable {
	// columns: name in JSON, title, kind (text, count, bytes, time, strata), value(row) if it is not the member
	constructor(parent, id, title, columns) {
		this.columns = columns;
		this.table = make("table", { id }, make("caption", {}, title), make("thead", {}, make("tr", {}, ...columns.map(c =>
			make("th", { scope: "col", class: this.isNumber(c) ? "n" : null, "data-name": c.name }, c.title)))), make("tbody"));
		parent.append(make("div", { class: "scroll" }, this.table));
		this.filter = enhance(this.table).filter;
	}
	isNumber(c) {
		return c.kind !== "text" && c.kind !== "strata";
	}
	cell(c, row) {
		const v = c.value ? c.value(row) : row[c.name];
		const text = { count: countText, bytes: n => n ? bytesText(n) : "-", time: timeText, id: String };
		if (c.kind === "strata")
			return strataCell(row.strata, row.total_ns);
		if (v === null || v === undefined)
			return make("td", { class: this.isNumber(c) ? "n" : null }, "-");
		return c.kind === "text" ? make("td", {}, safe(v)) : make("td", { class: "n", "data-v": v }, text[c.kind](v));
	}
	fill(rows) {
		const heads = [...this.table.tHead.rows[0].cells], sorted = heads.findIndex(h => h.hasAttribute("aria-sort"));
		this.table.tBodies[0].replaceChildren(...rows.slice(0, 100).map(r => make("tr", {}, ...this.columns.map(c => this.cell(c, r)))));
		if (sorted >= 0)
			sortRows(this.table, sorted, heads[sorted].getAttribute("aria-sort") === "descending");
		filterTable(this.table, this.filter.value);
	}
}

function liveTables() {
	const tables = document.getElementById("tables"), busy = document.getElementById("busy");
	const figures = [{ name: "count", title: "count", kind: "count" }, { name: "errors", title: "failed", kind: "count" },
		{ name: "bytes", title: "bytes", kind: "bytes" }];
	const times = [{ name: "p99_ns", title: "p99", kind: "time" }, { name: "max_ns", title: "max", kind: "time" }];
	return {
		busy: new LiveTable(busy, "in-progress", "Operations that have not ended, oldest first", [
			{ name: "op", title: "operation", kind: "text" }, { name: "fs", title: "fs", kind: "text" },
			{ name: "age_ns", title: "for", kind: "time" }, { name: "stratum", title: "in", kind: "text" },
			{ name: "dev", title: "disk", kind: "text" },
			{ name: "comm", title: "process", kind: "text" }, { name: "pid", title: "pid", kind: "id" },
			{ name: "file", title: "file", kind: "text" }]),
		ops: new LiveTable(tables, "ops", "Operations of the last second", [
			{ name: "op", title: "operation", kind: "text", value: opName }, { name: "fs", title: "fs", kind: "text" },
			{ name: "key", title: "key", kind: "text", value: r => r.container || r.key }, { name: "comm", title: "name", kind: "text" },
			...figures, { name: "mean_ns", title: "mean", kind: "time" }, ...times, { name: "total_ns", title: "total", kind: "time" },
			{ name: "strata", title: "where it went", kind: "strata" }]),
		requests: new LiveTable(tables, "requests", "Requests of the last second", [
			{ name: "dev", title: "disk", kind: "text" }, { name: "op", title: "requests", kind: "text", value: r => KINDS[r.op] || r.op },
			...figures, { name: "tag_mean_ns", title: "tag", kind: "time" }, { name: "queue_mean_ns", title: "queue", kind: "time" },
			{ name: "device_mean_ns", title: "device", kind: "time" }, ...times]),
		// made with the first request: most machines have none
		servers: () => new LiveTable(tables, "servers", "Requests to servers of the last second", [
			{ name: "server", title: "server", kind: "text" }, { name: "mount", title: "mount", kind: "text" },
			{ name: "op", title: "request", kind: "text" }, figures[0], figures[1], { name: "sent_bytes", title: "sent", kind: "bytes" },
			{ name: "received_bytes", title: "received", kind: "bytes" }, { name: "server_mean_ns", title: "mean", kind: "time" }, ...times]),
	};
}

function notesFill(b, lost) {
	// a call that ends, and was in progress before the run, is no loss
	const items = Object.entries(lost).filter(([name, n]) => n && name !== "unmatched_end")
		.map(([name, n]) => `lost since this page was opened: ${countText(n)} (${name})`);
	if (b.missing.length)
		items.push(`not measured: ${b.missing.join(", ")}`);
	document.getElementById("notes").replaceChildren(...(items.length ? items : ["nothing lost"]).map(t => make("li", {}, t)));
}

function live() {
	const about = document.getElementById("about"), lost = {};
	let tables = null, served = null, last = null;
	model = { n: 0, start: [], length: [], rows: [], all: new Row({ isRequest: false }, 0), threads: new Row({ isRequest: false }, 0), end: 0 };
	model.label = ns => new Date((model.zero + ns) / 1e6).toLocaleTimeString("en-GB");
	const begin = () => {
		partShown(document.getElementById("times"), "the tables below are of the last second");
		pictures();
		view.followers.push(() => {
			document.getElementById("sentence").textContent = sentence();
			sharesFill();
		});
		tables = liveTables();
	};
	const take = b => {
		const follow = !model.n || view.to >= model.end, whole = !model.n || wholeShown(), span = view.to - view.from;
		if (!secondAdd(b))
			return;
		if (!tables)
			begin();
		last = b;
		for (const [name, n] of Object.entries(b.lost))
			lost[name] = (lost[name] || 0) + n;
		view.to = follow ? model.end : Math.max(view.to, model.start[0] + model.length[0]);
		view.from = whole ? model.start[0] : follow ? view.to - span : Math.max(view.from, model.start[0]);
		about.textContent = `${b.kernel ? "Linux " + safe(b.kernel) + ", " : ""}${safe(b.time)}, live`;
		notesFill(b, lost);
		tables.busy.fill(b.in_progress);
		tables.ops.fill(b.ops);
		tables.requests.fill(b.requests || []);
		served = served || (b.servers && tables.servers());
		if (served)
			served.fill(b.servers || []);
		redraw();
	};
	const events = new EventSource("events");
	events.onmessage = e => take(JSON.parse(e.data));
	events.onerror = () => { about.textContent = `no connection${last ? ", the figures are of " + safe(last.time) : ""}`; };
}

for (const media of ["(prefers-color-scheme: dark)", "print"])
	matchMedia(media).addEventListener("change", redraw);
if (data.live)
	live();
else
	report(data);
