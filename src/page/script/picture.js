// SPDX-License-Identifier: GPL-2.0-only
// picture.js - elements, and a canvas with the time across: all such pictures have one axis, one crosshair, and the
// same keys and gestures.

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

/* Colours by name. The browser computes the style of the page anew for each one read, so each is read once for a
 * redraw. */
const coloursRead = new Map();

function colour(name) {
	if (!coloursRead.has(name))
		coloursRead.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
	return coloursRead.get(name);
}

/* The colours of all shares, in their order, as they are now. */
const shareColours = () => SHARES.map(s => colour("--" + s.letter));

/* Makes a canvas as sharp as the screen, and empty; returns its context, or null if it is not shown. */
function canvasBegin(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1, c = canvas.getContext("2d");
	if (!width)
		return null;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.height = height + "px";
	}
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.clearRect(0, 0, width, height);
	c.font = "12px system-ui, sans-serif";
	return c;
}

/* Crosshair: where the pointer is, ns, in all pictures; -1: nowhere. */
let cross = -1;

class Picture {
	// of: title; height or a function; draw(picture); read(ns, y): a line of text; words(): for readers of screens;
	// pick(ns, y): a click, true if it was for something; keys: of the keyboard, and what they do; from(), to(): the
	// part of the time, if it is not the one of the state
	constructor(parent, of) {
		this.of = of;
		this.canvas = make("canvas", { tabindex: 0, role: "img" });
		this.title = make("span", {}, of.title);
		this.note = make("span", { class: "note" });
		this.reading = make("span", { class: "read", "aria-live": "polite" });
		this.line = make("div", { class: "cross", hidden: true });
		this.figure = make("figure", { class: of.name }, make("figcaption", {}, this.title, " ", this.note, this.reading),
			make("div", { class: "canvas" }, this.canvas, this.line));
		this.drag = null;
		this.width = 0;
		parent.append(this.figure);
		this.listen();
		Picture.all.push(this);
	}
	// Reads what the browser has to compute from the page, of all pictures, before anything is drawn: a read after a
	// change of the page makes the browser lay the page out anew.
	static measure() {
		coloursRead.clear();
		for (const p of Picture.all)
			p.width = p.canvas.clientWidth;
	}
	get from() {
		return this.of.from ? this.of.from() : state.from;
	}
	get to() {
		return this.of.to ? this.of.to() : state.to;
	}
	x(ns) {
		return this.left + (ns - this.from) / (this.to - this.from) * this.inner;
	}
	timeAt(x) {
		return this.from + Math.min(Math.max((x - this.left) / this.inner, 0), 1) * (this.to - this.from);
	}
	draw() {
		const height = typeof this.of.height === "function" ? this.of.height() : this.of.height;
		this.ctx = canvasBegin(this.canvas, this.width, height);
		if (!this.ctx || !model.bins.length)
			return;
		this.left = this.width < 500 ? 58 : 66;
		this.inner = this.width - this.left - 6;
		this.high = 4;
		this.low = height - (this.of.axis ? 20 : 3);
		this.of.draw(this);
		if (this.of.axis)
			this.axis();
		if (this.drag && !this.drag.own)
			this.shade(Math.min(this.drag.from, this.drag.to), Math.max(this.drag.from, this.drag.to));
		this.canvas.setAttribute("aria-label", this.of.words());
	}
	// the vertical line where the pointer is, over the picture
	crosshair() {
		this.line.hidden = cross < this.from || cross > this.to || this.drag !== null || !this.ctx;
		if (!this.line.hidden)
			this.line.style.left = this.x(cross) + "px";
	}
	shade(from, to) {
		const a = this.x(from), b = this.x(to);
		this.ctx.globalAlpha = 0.25;
		this.ctx.fillStyle = colour("--mark");
		this.ctx.fillRect(a, this.high, b - a, this.low - this.high);
		this.ctx.globalAlpha = 1;
	}
	// A bar on the axis, where events were lost.
	lost() {
		this.ctx.fillStyle = colour("--lost");
		this.eachBin((bin, x, w) => {
			if (model.losses[bin.i])
				this.ctx.fillRect(x, this.low - 2, Math.max(w, 2), 5);
		});
	}
	axis() {
		const c = this.ctx, step = niceStep(this.to - this.from, this.inner / 90), text = model.label || axisTime(this.to, step);
		c.fillStyle = colour("--soft");
		c.strokeStyle = colour("--line");
		c.textBaseline = "top";
		c.textAlign = "center";
		c.beginPath();
		for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
			const x = Math.round(this.x(t)) + 0.5;
			c.moveTo(x, this.low);
			c.lineTo(x, this.low + 4);
			if (x < this.left + this.inner - 14)
				c.fillText(text(t), x, this.low + 6);
		}
		c.moveTo(this.left, this.low + 0.5);
		c.lineTo(this.left + this.inner, this.low + 0.5);
		c.stroke();
		this.lost();
	}
	// Lines and labels of an axis upwards, from 0 to @most.
	upwards(most, text, binary) {
		const c = this.ctx, lines = (this.low - this.high) / 34;
		const step = binary ? 2 ** Math.ceil(Math.log2(most / lines)) : niceStep(most, lines);
		c.fillStyle = colour("--soft");
		c.strokeStyle = colour("--line");
		c.textBaseline = "middle";
		c.textAlign = "right";
		c.beginPath();
		for (let v = 0; v <= most * 1.0001; v += step) {
			const y = Math.round(this.low - v / most * (this.low - this.high)) + 0.5;
			c.moveTo(this.left, y);
			c.lineTo(this.left + this.inner, y);
			c.fillText(text(v), this.left - 6, Math.min(Math.max(y, 6), this.low));
		}
		c.stroke();
	}
	// Calls draw(bin, x, width) for each bin shown.
	eachBin(draw) {
		const [first, end] = binsShown(model, this.from, this.to);
		for (let i = first; i < end; i++) {
			const bin = model.bins[i], x = Math.max(this.x(bin.start), this.left);
			const to = Math.min(this.x(bin.start + bin.length), this.left + this.inner);
			draw(bin, x, Math.max(to - x, 0.5));
		}
	}
	listen() {
		const box = () => this.canvas.getBoundingClientRect(), at = e => this.timeAt(e.clientX - box().left);
		this.canvas.addEventListener("pointerdown", e => {
			if (e.button)
				return;
			this.canvas.setPointerCapture(e.pointerId);
			this.drag = { from: at(e), to: at(e), x: e.clientX, own: this.of.grab && this.of.grab(at(e), this) };
		});
		this.canvas.addEventListener("pointermove", e => {
			if (this.drag) {
				this.drag.to = at(e);
				if (this.drag.own)
					this.drag.own(at(e));
				this.draw();
			}
			this.look(at(e), e.clientY - box().top);
		});
		this.canvas.addEventListener("pointerup", e => this.dragged(e, at(e), e.clientY - box().top));
		this.canvas.addEventListener("pointercancel", () => {
			this.drag = null;
			this.draw();
		});
		this.canvas.addEventListener("pointerleave", () => this.look(-1, 0));
		this.canvas.addEventListener("dblclick", () => show({ from: model.begin, to: model.end }));
		this.canvas.addEventListener("keydown", e => this.key(e));
	}
	look(ns, y) {
		cross = ns;
		this.reading.textContent = ns < 0 || !model.bins.length ? "" : this.text(ns, y);
		for (const p of Picture.all)
			p.crosshair();
	}
	text(ns, y) {
		const bin = model.bins[binAt(model, ns)], lost = lossWords(model.losses, LOST_KINDS, bin.i, bin.i + 1);
		return `${model.label ? model.label(bin.start) : "at " + timeText(bin.start)}: ${this.of.read(ns, y, this, bin)}` +
			(lost && `; lost here: ${lost}`);
	}
	dragged(e, ns, y) {
		const d = this.drag;
		this.drag = null;
		if (d && Math.abs(e.clientX - d.x) > 4) {
			if (!d.own)
				show({ from: Math.min(d.from, ns), to: Math.max(d.from, ns) });
		} else if (this.of.pick) {
			this.of.pick(ns, y, this);
		}
		this.draw();
	}
	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const own = this.of.keys && this.of.keys[e.key];
		if (own) {
			e.preventDefault();
			own(this);
			return;
		}
		const part = partOfKey(e.key, state, model);
		if (!part)
			return;
		e.preventDefault();
		show(part);
		this.look((state.from + state.to) / 2, this.low / 2);
	}
}
Picture.all = [];

/* The part of the time that a key shows; null: it is no such key. */
function partOfKey(key, part, model) {
	const span = part.to - part.from, middle = (part.from + part.to) / 2;
	const moves = {
		ArrowLeft: [part.from - span / 4, part.to - span / 4],
		ArrowRight: [part.from + span / 4, part.to + span / 4],
		"+": [middle - span / 4, middle + span / 4],
		"=": [middle - span / 4, middle + span / 4],
		"-": [middle - span, middle + span],
		Escape: [model.begin, model.end],
		Home: [model.begin, model.begin + span],
		End: [model.end - span, model.end],
	};
	if (!moves[key])
		return null;
	let [from, to] = moves[key];
	if (key.startsWith("Arrow") && from < model.begin)
		[from, to] = [model.begin, model.begin + span];
	if (key.startsWith("Arrow") && to > model.end)
		[from, to] = [model.end - span, model.end];
	return { from, to };
}
