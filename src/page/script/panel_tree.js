// SPDX-License-Identifier: GPL-2.0-only
// panel_tree.js - where the time was in the tree process > directories > file > call: width is time.

// a part narrower than TREE_NAMED has no room for a name, even on a wide screen
const TREE_DEPTH = 7, TREE_LEAST = 0.003, TREE_NAMED = 0.03;

function treePart(node, all, share) {
	const time = node.sums.time, ns = timeOf(time, share), most = time.indexOf(Math.max(...time));
	const words = `${node.name}: ${timeText(ns)}, ${percentText(ns, all)}, mostly ${SHARES[most].name}`;
	const part = make(node.filter ? "button" : "span", { type: node.filter ? "button" : null, class: "part " + SHARES[most].letter, title: words,
		onclick: node.filter ? () => filterBy(...node.filter) : () => {} }, ns / all >= TREE_NAMED ? make("bdi", {}, node.name) : null);
	if (node.filter)
		part.setAttribute("aria-label", words);
	return part;
}

function treeNode(node, all, share, depth) {
	const box = make("div", { class: "node" }), below = make("div", { class: "below" });
	const children = [...node.children.values()].map(c => [c, timeOf(c.sums.time, share)]).sort((a, b) => b[1] - a[1]);
	const own = timeOf(node.sums.time, share);
	if (depth)
		box.append(treePart(node, all, share));
	let left = own;
	for (const [child, ns] of children) {
		if (ns / all < TREE_LEAST || depth >= TREE_DEPTH)
			break;
		const sub = treeNode(child, all, share, depth + 1);
		sub.style.width = 100 * ns / own + "%";
		below.append(sub);
		left -= ns;
	}
	if (below.childElementCount)
		box.append(below);
	return box;
}

function treePanel(parent) {
	const box = make("div", { class: "tree" });
	parent.append(make("h2", {}, "Where in the tree of files"),
		make("p", { class: "hint" }, "Process, directories, file, call. Width is time in I/O. Click a part to see only it."), box);
	return { draw() {
		const tree = treeOf(model, selected, state.share), all = timeOf(tree.sums.time, state.share);
		parent.hidden = !all;
		box.replaceChildren(...all ? [treeNode(tree, all, state.share, 0)] : []);
	} };
}
