// SPDX-License-Identifier: GPL-2.0-only
// panel_table.js - one table of operations by any of the keys: bars to scale, search, ten rows, more on demand. A click
// on a row filters everything by it.

const ROWS_FIRST = 10, ROWS_MORE = 50;

/* Sets or, if it is set already, removes a filter. */
function filterBy(key, value) {
	const filters = { ...state.filters };
	if (filters[key] === value)
		delete filters[key];
	else
		filters[key] = value;
	show({ filters, cell: null });
}

const COLUMNS = [
	{ name: "total_ns", title: "time", value: r => r.ns, text: timeText },
	{ name: "share", title: "share", value: r => r.part, text: v => percentText(v, 1) },
	{ name: "count", title: "count", value: r => r.sums.count, text: countText },
	{ name: "errors", title: "failed", value: r => r.sums.errors, text: n => n ? countText(n) : "-" },
	{ name: "mean_ns", title: "mean", value: r => r.sums.count ? r.sums.ended / r.sums.count : null, text: timeText },
	{ name: "p99_ns", title: "p99", value: r => r.p99, text: timeText },
	{ name: "max_ns", title: "max", value: r => r.sums.count ? r.sums.max : null, text: timeText },
	{ name: "bytes", title: "bytes", value: r => r.sums.bytes, text: n => n ? bytesText(n) : "-" },
];

/* The 99th percentile of a row, and whether the page knows only what it is at most. A filter by another key chooses some
 * operations of a row, whose percentile is not known. */
function p99Of(row) {
	const others = Object.keys(state.filters).some(k => k !== state.by);
	if (others)
		return { p99: null, atMost: false };
	const exact = selected.isWhole ? model.p99[state.by].get(row.name) ?? null : null;
	if (exact !== null || state.by !== "operation")
		return { p99: exact, atMost: false };
	return { p99: p99AtMost(model, row.name, selected.first, selected.end, row.sums.max), atMost: true };
}

/* The rows of the table, in its order. */
function tableRows(sorted) {
	const all = timeOf(selected.all.time, state.share);
	const rows = rowsOf(selected.groups, state.share).map(r => ({ ...r, ...p99Of(r), part: all ? r.ns / all : 0 }));
	const wanted = state.find.toLowerCase(), found = rows.filter(r => r.name.toLowerCase().includes(wanted));
	if (sorted.name === "name")
		return found.sort((a, b) => a.name < b.name ? -1 : 1);
	const column = COLUMNS.find(c => c.name === sorted.name);
	return found.sort((a, b) => (column.value(b) ?? -1) - (column.value(a) ?? -1));
}

function tableRow(row, most) {
	const about = row.sums.about ? "≈ " : "", on = state.filters[state.by] === row.name;
	const name = make("button", { type: "button", title: row.name, "aria-pressed": String(on), onclick: () => filterBy(state.by, row.name) });
	// the end of a path tells files apart
	name.append(make("bdi", {}, row.name));
	return make("tr", { class: on ? "on" : null }, make("th", { scope: "row" }, name),
		make("td", { class: "where", "data-shares": row.sums.time.join(" ") }, shareBar(row.sums.time, row.ns / (most || 1))),
		...COLUMNS.map(c => {
			const v = c.value(row), text = v === null ? "-" : c.text(v);
			const before = c.name === "p99_ns" ? row.atMost ? "≤ " : "" : about;
			return make("td", { class: "n " + c.name, "data-v": v, "data-title": c.title }, text === "-" ? text : before + text);
		}));
}

function tablePanel(parent) {
	const tabs = make("div", { class: "tabs", role: "group", "aria-label": "table by" });
	const find = make("input", { type: "search", size: 14, "aria-label": "find rows", placeholder: "find",
		oninput: () => show({ find: find.value }) });
	const csv = make("button", { type: "button" }, "copy as CSV");
	const head = make("tr"), body = make("tbody"), more = make("p", { class: "more" });
	const table = make("table", { id: "who" }, make("caption", { class: "hidden" }, "operations by key"), make("thead", {}, head), body);
	const sorted = { name: "total_ns" };
	let rows = [], shown = ROWS_FIRST, of = "";
	const headCell = (name, title, number) => make("th", { scope: "col", class: number ? "n " + name : null, "data-name": name,
		"aria-sort": sorted.name === name ? name === "name" ? "ascending" : "descending" : null },
		make("button", { type: "button", onclick: () => { sorted.name = name; draw(); } }, title));
	const draw = () => {
		const key = state.by + JSON.stringify(state.filters);
		shown = key === of ? shown : ROWS_FIRST;
		of = key;
		rows = tableRows(sorted);
		const most = Math.max(...rows.map(r => r.ns), 0), rest = rows.slice(shown);
		head.replaceChildren(headCell("name", state.by), make("th", { scope: "col" }, "where it went"),
			...COLUMNS.map(c => headCell(c.name, c.title, true)));
		body.replaceChildren(...rows.slice(0, shown).map(r => tableRow(r, most)));
		more.replaceChildren(...rest.length ? [make("button", { type: "button", onclick: () => { shown += ROWS_MORE; draw(); } },
			`${countText(rest.length)} more`), ` with ${timeText(sum(rest.map(r => r.ns)))}`] : []);
		tabs.replaceChildren(...KEYS.filter(k => !model.keys || model.keys.includes(k)).map(k => make("button", { type: "button", "aria-pressed": String(state.by === k),
			onclick: () => show({ by: k }) }, k)));
		if (find.value !== state.find)
			find.value = state.find;
	};
	csv.addEventListener("click", () => copyText(csvOf(rows), csv));
	parent.append(make("h2", {}, "Who and what"), make("div", { class: "tools" }, tabs, find, csv), make("div", { class: "scroll" }, table), more);
	return { draw };
}

/* All rows, not only those shown. */
function csvOf(rows) {
	const atMost = rows.some(r => r.atMost);
	const titles = [state.by, ...COLUMNS.map(c => atMost && c.name === "p99_ns" ? "p99_at_most_ns" : c.name), ...SHARES.map(s => s.name.replace(/ /g, "_") + "_ns")];
	return [titles, ...rows.map(r => [r.name, ...COLUMNS.map(c => c.value(r) ?? ""), ...r.sums.time])]
		.map(line => line.map(csvCell).join(",")).join("\n") + "\n";
}
