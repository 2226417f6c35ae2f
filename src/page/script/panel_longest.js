// SPDX-License-Identifier: GPL-2.0-only
// panel_longest.js - the longest operations of the selection: a line each, with the order of its time. An open one
// has all that is known of it.

const LONGEST_FIRST = 10;

/* The shares of an operation in their order, @part of the width. */
function orderBar(e, part) {
	const bar = make("span", { class: "bar", role: "img", "aria-label": SHARES.map((s, i) => e.time[i] ?
		`${s.name} ${percentText(e.time[i], e.total)}` : "").filter(Boolean).join(", ") });
	for (const [s, from, to] of partsOf(e)) {
		const piece = make("i", { class: SHARES[s].letter });
		piece.style.width = 100 * part * (to - from) / e.total + "%";
		bar.append(piece);
	}
	return bar;
}

/* What is known of an operation: what C wrote of the slowest ones; of others, the shares of its time. */
function openPart(e) {
	const known = e.detail >= 0 ? document.querySelectorAll("#slowest .slow > li")[e.detail] : null;
	if (known)
		return make("div", { class: "open" }, ...[...known.childNodes].map(c => c.cloneNode(true)));
	const words = SHARES.map((s, i) => e.time[i] ? `${s.name} ${timeText(e.time[i])}` : "").filter(Boolean).join(", ");
	return make("div", { class: "open" }, make("p", {}, `${e.combo.operation}, begun at ${model.label ? model.label(e.begin) : timeText(e.begin)}, ` +
		`${timeText(e.total)} long${e.error ? `, failed with error ${e.error}` : ""}: ${words}`),
		make("p", {}, e.combo.file), make("p", {}, `${e.combo.process}, pid ${e.combo.pid}, thread ${e.tid}, disk ${e.combo.disk}`));
}

function longestLine(e, most) {
	const on = e.id === state.open, name = e.combo.file;
	const line = make("button", { type: "button", class: "line", "aria-expanded": String(on), "data-id": e.id, "data-v": e.total,
		onclick: () => show({ open: on ? "" : e.id }) },
		make("b", {}, timeText(e.total)), make("span", { class: "call" }, e.combo.call), orderBar(e, e.total / most),
		make("span", { class: "path", title: name }, make("bdi", {}, pathShown(name))), make("span", { class: "who" }, e.combo.process),
		make("span", { class: "when" }, model.label ? model.label(e.begin) : timeText(Math.max(e.begin, 0))));
	return make("li", {}, line, on ? openPart(e) : null);
}

function longestPanel(parent) {
	const list = make("ol", { id: "longest" }), more = make("p", { class: "more" });
	let shown = LONGEST_FIRST;
	const draw = () => {
		const all = selected.cellExamples, first = all.slice(0, shown);
		const open = all.find(e => e.id === state.open) || model.examples.find(e => e.id === state.open);
		if (open && !first.includes(open))
			first.push(open);
		list.replaceChildren(...first.map(e => longestLine(e, first[0].total)));
		const rest = all.length - Math.min(shown, all.length);
		more.replaceChildren(...rest ? [make("button", { type: "button", onclick: () => { shown += 20; draw(); } }, `${countText(rest)} more`),
			" kept on this page"] : !all.length ? ["no operation of this selection is kept on this page"] : []);
	};
	parent.append(make("h2", {}, "Longest operations"), list, more);
	return { draw };
}
