// SPDX-License-Identifier: GPL-2.0-only
// panel_callers.js - user stacks as a flame graph: functions of programs, the outermost on top, and below the innermost
// ones their operations and the shares of their time. Width is time. Stacks have no time, file and process here, so
// filters by these do not apply, and the panel says so.

// parts narrower than CALLERS_LEAST of the width are in one with their number; below CALLERS_NAMED is no room for a name
const CALLERS_LEAST = 0.003, CALLERS_NAMED = 0.03;

/* The functions, callers before what they call. own: times of the operations that a function made itself, more: of those
 * below the functions that are not on the page, called, all by kind of operations. */
function callersOf(data, shares) {
	const p = new Packed(data.nodes), nodes = [];
	const times = () => Array.from({ length: p.next() }, () => ({ operation: p.next(), time: p.shares(shares) }));
	while (p.more) {
		const id = nodes.length, caller = nodes[id - p.next()], name = p.next();
		const node = { id, caller: id ? caller : null, name: id ? data.names[name - 1] : "all functions", callees: [], own: times(), called: p.next(), more: [] };
		node.more = node.called ? times() : [];
		nodes.push(node);
		if (id)
			caller.callees.push(node);
	}
	return { nodes, words: data.words, operations: data.operations.map(o => ({ ...o, text: o.op ? opName(o.op, o.fs) : "(other operations)" })) };
}

/* Which kinds of operations a state selects, and in words what it selects that stacks do not have. @isWhole: all of the time
 * is selected. */
function callersChosen(callers, state, model, isWhole) {
	const { operation, ...others } = state.filters, known = model.names.operations, wanted = known.find(o => o.text === operation);
	const pseudo = new Set(known.filter(o => o.isPseudo || o.is_pseudo).map(o => o.fs));
	const isWanted = o => wanted && o.op && (o.fs || "") === (wanted.fs || "") && (wanted.name === o.op || wanted.name.startsWith(o.op + " "));
	const missing = [...isWhole ? [] : ["time"], ...Object.keys(others)];
	return { kinds: callers.operations.map(o => (!operation || isWanted(o)) && (state.system || !o.fs || !pseudo.has(o.fs))),
		missing: missing.length ? `Stacks on this page have no ${missing.join(", no ")}: the picture shows the whole recording.` : "" };
}

/* The time of each function with all that it called, by share, for the @kinds of operations. */
function callersTimes(callers, kinds, shares) {
	const times = callers.nodes.map(() => new Array(shares).fill(0));
	const add = (to, from) => from.forEach((ns, i) => { to[i] += ns; });
	for (const node of [...callers.nodes].reverse()) {
		for (const { operation, time } of [...node.own, ...node.more])
			if (kinds[operation])
				add(times[node.id], time);
		if (node.caller)
			add(times[node.caller.id], times[node.id]);
	}
	return times;
}

/* The time below functions whose name has @find, each operation once. */
function callersFound(callers, find, ns) {
	const inside = [], wanted = find.toLowerCase();
	let found = 0;
	for (const node of callers.nodes) {
		inside[node.id] = node.caller !== null && (inside[node.caller.id] || node.name.toLowerCase().includes(wanted));
		if (inside[node.id] && !inside[node.caller.id])
			found += ns(node);
	}
	return found;
}

/* What is drawn below a function, widest first: functions and operations; those narrower than @least ns are one part with
 * the functions that are not on the page. */
function callersBelow(node, times, kinds, share, least) {
	const parts = node.callees.map(c => ({ node: c, time: times[c.id] }));
	parts.push(...node.own.filter(o => kinds[o.operation]).map(o => ({ operation: o.operation, time: o.time })));
	const rest = { n: 0, time: times[node.id].map(() => 0) };
	const add = (time, n) => {
		rest.n += n;
		time.forEach((ns, i) => { rest.time[i] += ns; });
	};
	node.more.filter(o => kinds[o.operation]).forEach((o, i) => add(o.time, i ? 0 : node.called));
	for (const part of parts)
		if (timeOf(part.time, share) < least && timeOf(part.time, share))
			add(part.time, 1);
	const shown = parts.filter(part => timeOf(part.time, share) >= least && timeOf(part.time, share)).sort((a, b) => timeOf(b.time, share) - timeOf(a.time, share));
	return timeOf(rest.time, share) ? [...shown, rest] : shown;
}

/* Draws into @box what @chosen has: times, kinds, all (ns of the width), and the function at the top. */
class CallersPicture {
	constructor(callers, chosen, read) {
		Object.assign(this, { callers, read, ...chosen });
	}
	words(name, time) {
		const ns = timeOf(time, state.share), whole = this.whole, all = sum(time);
		const shares = time.map((v, i) => [v, i]).filter(([v, i]) => v && (state.share < 0 || i === state.share)).sort((a, b) => b[0] - a[0]);
		return `${name}: ${timeText(ns)}, ${percentText(ns, whole)}; ` + shares.slice(0, 3).map(([v, i]) => `${SHARES[i].name} ${percentText(v, all)}`).join(", ");
	}
	part(kind, name, time, width, node) {
		const words = this.words(name, time), label = name.startsWith("0x") ? name : name.replace(/ \[[^[\]]*\]$/, "");
		const read = () => this.read(words);
		const part = make(node ? "button" : "span", { type: node ? "button" : null, role: node ? null : "img", class: "part " + kind, title: words, "aria-label": words,
			tabindex: -1, "data-node": node ? node.id : null, "data-v": timeOf(time, state.share), onfocus: read, onpointerenter: read,
			onclick: node ? () => show({ frame: node.id === state.frame && node.caller ? node.caller.id : node.id }) : () => {} },
			width >= CALLERS_NAMED ? make("bdi", {}, label) : null);
		if (node && state.find && node.caller && name.toLowerCase().includes(state.find.toLowerCase()))
			part.classList.add("found");
		return part;
	}
	// @box gets @children side by side, as wide as their time
	below(box, children, ns) {
		const row = make("div", { class: "below" });
		for (const [child, time] of children) {
			child.style.width = 100 * timeOf(time, state.share) / ns + "%";
			row.append(child);
		}
		if (children.length)
			box.append(row);
		return box;
	}
	// an operation, or functions that are not drawn, with the shares of their time
	leaf(part, name) {
		const ns = timeOf(part.time, state.share), box = make("div", { class: "node" }, this.part(part.node ? "frame" : "kind", name, part.time, ns / this.all));
		const shares = part.time.map((v, i) => [v, i]).filter(([v, i]) => v && (state.share < 0 || i === state.share)).sort((a, b) => b[0] - a[0]);
		return this.below(box, shares.map(([v, i]) => {
			const time = part.time.map((x, k) => k === i ? x : 0);
			return [make("div", { class: "node" }, this.part(SHARES[i].letter, SHARES[i].name, time, v / this.all)), time];
		}), ns);
	}
	node(node) {
		const time = this.times[node.id], ns = timeOf(time, state.share), box = make("div", { class: "node" }, this.part("frame", node.name, time, ns / this.all, node));
		return this.below(box, callersBelow(node, this.times, this.kinds, state.share, CALLERS_LEAST * this.all).map(part =>
			[part.node ? this.node(part.node) : part.n ? this.leaf(part, `${countText(part.n)} more`) : this.leaf(part, this.callers.operations[part.operation].text), part.time]), ns);
	}
	// the function at the top, below its callers
	tree(top) {
		let box = this.node(top);
		for (let node = top.caller; node; node = node.caller) {
			box.style.width = "100%";
			const part = this.part("frame caller", node.name, this.times[node.id], 1, node);
			box = make("div", { class: "node" }, part, make("div", { class: "below" }, box));
		}
		return box;
	}
}

/* The part that an arrow leads to from @part, or null. */
function callersNext(part, key) {
	const box = part.parentElement, own = b => b && b.querySelector(":scope > .part");
	if (key === "ArrowDown")
		return own(box.querySelector(":scope > .below > .node"));
	if (key === "ArrowUp")
		return own(box.parentElement.closest(".node"));
	return own(key === "ArrowRight" ? box.nextElementSibling : key === "ArrowLeft" ? box.previousElementSibling : null);
}

function callersPanel(parent) {
	const callers = model.callers, box = make("div", { class: "tree flame", role: "group", "aria-label": "callers, the outermost first" });
	const missing = make("p", { class: "note" }), read = make("p", { class: "read" }), found = make("p", { class: "note", "aria-live": "polite" });
	let drawn = "";
	parent.append(make("h2", {}, "Callers"), make("p", { class: "hint" }, "Functions of programs, the outermost on top; below the innermost, operations and where their time was. " +
		"Width is time, widest first. Click a function to see it alone. Keys: arrows, Enter, Escape."),
		make("ul", { class: "notes" }, ...callers.words.map(w => make("li", {}, w))), missing, found, read, box);
	box.addEventListener("keydown", e => {
		const next = e.key.startsWith("Arrow") ? callersNext(e.target, e.key) : null;
		if (next)
			next.focus();
		if (next || e.key.startsWith("Arrow"))
			e.preventDefault();
		if (e.key === "Escape" && state.frame)
			show({ frame: 0 });
	});
	return { draw() {
		const { kinds, missing: words } = callersChosen(callers, state, model, selected.isWhole);
		const asked = JSON.stringify([kinds, state.share, state.frame, state.find, words]);
		if (asked === drawn)
			return;
		drawn = asked;
		const times = callersTimes(callers, kinds, SHARES.length), ns = node => timeOf(times[node.id], state.share);
		const chosen = callers.nodes[state.frame], top = chosen && ns(chosen) ? chosen : callers.nodes[0], whole = ns(callers.nodes[0]);
		const had = box.contains(document.activeElement);
		missing.textContent = words;
		missing.hidden = !words;
		found.hidden = !state.find || !whole;
		found.textContent = found.hidden ? "" : `${percentText(callersFound(callers, state.find, ns), whole)} of this time is below functions with “${state.find}” in their names`;
		read.textContent = whole ? "" : "no stack of this selection";
		const picture = new CallersPicture(callers, { times, kinds, all: ns(top), whole }, text => { read.textContent = text; });
		box.replaceChildren(...whole ? [picture.tree(top)] : []);
		const first = box.querySelector(`[data-node="${top.id}"]`);
		if (first) {
			first.tabIndex = 0;
			if (!had)
				picture.read(first.title);
			else
				first.focus();
		}
	} };
}
