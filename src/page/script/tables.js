// SPDX-License-Identifier: GPL-2.0-only
// tables.js - tables that C wrote: sort, filter, copy.

function cellValue(cell) {
	return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
}

function sortTable(table, column) {
	const heads = [...table.tHead.rows[0].cells], head = heads[column], was = head.getAttribute("aria-sort");
	// figures begin with the largest, text with A
	const down = was ? was === "ascending" : head.classList.contains("n");
	heads.forEach(h => h.removeAttribute("aria-sort"));
	head.setAttribute("aria-sort", down ? "descending" : "ascending");
	const rows = [...table.tBodies[0].rows].sort((a, b) => {
		const x = cellValue(a.cells[column]), y = cellValue(b.cells[column]);
		if (typeof x !== typeof y)
			return typeof x === "string" ? 1 : -1;
		const order = typeof x === "string" ? x.localeCompare(y) : x - y;
		return down ? -order : order;
	});
	table.tBodies[0].append(...rows);
}

function csvText(table) {
	const heads = [...table.tHead.rows[0].cells];
	const titles = heads.flatMap(h => h.dataset.name === "strata" ? STRATA.map(s => s + "_ns") : [h.dataset.name || h.textContent.trim()]);
	const rows = [...table.tBodies[0].rows].filter(r => !r.hidden).map(r => [...r.cells].flatMap((cell, i) =>
		heads[i].dataset.name === "strata" ? (cell.dataset.strata || "").split(" ") : [cell.dataset.v ?? (cell.textContent === "-" ? "" : cell.textContent)]));
	return [titles, ...rows].map(r => r.map(csvCell).join(",")).join("\n") + "\n";
}

function filterTable(table, text) {
	const wanted = text.toLowerCase();
	for (const row of table.tBodies[0].rows)
		row.hidden = ![...row.cells].some(c => c.dataset.v === undefined && c.textContent.toLowerCase().includes(wanted));
}

function enhance(table) {
	[...table.tHead.rows[0].cells].forEach((head, i) => {
		if (head.dataset.name !== "strata")
			head.replaceChildren(make("button", { type: "button", onclick: () => sortTable(table, i) }, ...head.childNodes));
	});
	const name = table.caption.textContent, filter = make("input", { type: "search", size: 18, placeholder: "filter", "aria-label": `filter ${name}` });
	const copy = make("button", { type: "button" }, "copy as CSV");
	filter.addEventListener("input", () => filterTable(table, filter.value));
	copy.addEventListener("click", () => copyText(csvText(table), copy));
	table.closest(".scroll").before(make("div", { class: "tools" }, make("h3", { "aria-hidden": true }, name), filter, copy));
}
