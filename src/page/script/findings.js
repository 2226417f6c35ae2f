// SPDX-License-Identifier: GPL-2.0-only
// findings.js - what slow operations have in common: C wrote it as text, here each property becomes a link that chooses
// the operations with it.

const PROPERTY_KEYS = { file: "file", directory: "directory", disk: "disk", process: "pid", comm: "process", cgroup: "cgroup" };

/* What a finding's link shows, as far as the page knows it: the operation and the key. Without a key, the time at which
 * many of the operations were. */
function stateOfFinding(model, finding) {
	const state = stateOf(model), key = PROPERTY_KEYS[finding.property], from = finding.from, to = Math.min(finding.to, model.end);
	const names = model.names.operations.filter(o => o.name === finding.op).map(o => o.text);
	if (names.length === 1)
		state.filters.operation = names[0];
	if (names.length)
		state.row = model.latencies.find(r => names.includes(r.name))?.name || "";
	if (key && model.combos.some(c => c[key] === finding.value)) {
		state.filters[key] = finding.value;
		state.by = key;
	} else if (from < to && (from > model.begin || to < model.end)) {
		const [first, end] = binsShown(model, from, to), last = model.bins[end - 1];
		state.from = model.bins[first].start;
		state.to = last.start + last.length;
	}
	return state;
}

function findingsLink() {
	for (const item of document.querySelectorAll("#findings li")) {
		const { op, property, value, from, to } = item.dataset, words = item.querySelector("span");
		const wanted = stateOfFinding(model, { op, property, value, from: from - data.from_ns, to: to - data.from_ns });
		words.replaceWith(make("a", { href: "#" + hashOf(wanted, model, SHARES) }, ...words.childNodes));
	}
}
