// SPDX-License-Identifier: GPL-2.0-only
// panel_heat.js - the map of latencies: time across, latency upwards by its logarithm, a colour for the count.

const heatRow = () => model.latencies.find(r => r.name === state.row) || model.latencies[0] || null;

/* The lowest half octave and the one after the highest of a row, and the largest count of a cell in view. */
function heatRange(row, first, end) {
	let low = Infinity, high = -1, most = 0;
	row.heat.forEach((bin, i) => {
		for (const [half, n] of bin) {
			low = Math.min(low, half);
			high = Math.max(high, half);
			most = i >= first && i < end ? Math.max(most, n) : most;
		}
	});
	return high < 0 ? { low: 0, high: 1, most: 0 } : { low, high: high + 1, most };
}

const HEAT_HEIGHT = 9, HEAT_MOST = 170;

function heatPanel(parent) {
	const select = make("select", { "aria-label": "operations or requests whose latencies are shown" });
	let row = null, range = { low: 0, high: 1, most: 0 };
	const prepare = () => {
		row = heatRow();
		range = row ? heatRange(row, selected.first, selected.end) : { low: 0, high: 1, most: 0 };
		const names = model.latencies.map(r => r.name);
		if (select.options.length !== names.length || names.some((n, i) => select.options[i].text !== n))
			select.replaceChildren(...names.map(n => make("option", {}, n)));
		select.value = row ? row.name : "";
	};
	const halfAt = (y, p) => range.low + Math.floor((p.low - y) / (p.low - p.high) * (range.high - range.low));
	const cells = () => row ? row.heat.flatMap((bin, i) => i < selected.first || i >= selected.end ? [] : [...bin.keys()].map(h => [i, h])) : [];
	const choose = step => () => {
		const list = cells().sort((a, b) => b[1] - a[1] || a[0] - b[0]);
		const i = list.findIndex(c => state.cell && c[0] === state.cell[0] && c[1] === state.cell[1]);
		if (list.length)
			show({ cell: list[(i + step + list.length) % list.length], row: row.name });
	};
	const picture = new Picture(parent, {
		name: "heat", title: "Latency of ", axis: true, prepare,
		height: () => Math.min(Math.max(60, (range.high - range.low) * HEAT_HEIGHT), HEAT_MOST) + 24,
		draw(p) {
			const c = p.ctx, height = (p.low - p.high) / (range.high - range.low), few = colour("--few"), many = colour("--many");
			p.note.textContent = row ? `${countText(sum(row.heat.slice(selected.first, selected.end).map(b => sum([...b.values()]))))} in view, at ` +
				`their end; 1 to ${countText(range.most)} in a cell` : "none";
			p.eachBin((bin, x, w) => {
				for (const [half, n] of row ? row.heat[bin.i] : []) {
					const y = p.low - (half - range.low + 1) * height;
					c.fillStyle = mix(few, many, range.most > 1 ? Math.log(n) / Math.log(range.most) : 0);
					c.fillRect(x, y, Math.max(w - 0.3, 1.5), height - 0.5);
					if (state.cell && state.cell[0] === bin.i && state.cell[1] === half) {
						c.strokeStyle = colour("--ink");
						c.strokeRect(x - 1.5, y - 1.5, Math.max(w, 3) + 3, height + 3);
					}
				}
			});
			c.fillStyle = colour("--soft");
			c.textBaseline = "middle";
			c.textAlign = "right";
			const step = Math.max(2, Math.ceil(16 / height / 2) * 2);
			for (let half = Math.ceil(range.low / 2) * 2; half <= range.high; half += step)
				c.fillText(timeText(halfBegin(half)), p.left - 6, Math.max(p.low - (half - range.low) * height, 8));
		},
		read(ns, y, p, bin) {
			const half = halfAt(y, p), n = row && row.heat[bin.i].get(half) || 0;
			return `${countText(n)} took ${timeText(halfBegin(half))} to ${timeText(halfBegin(half + 1))}`;
		},
		pick(ns, y, p) {
			const cell = [binAt(model, ns), halfAt(y, p)], same = state.cell && cell[0] === state.cell[0] && cell[1] === state.cell[1];
			if (row && row.heat[cell[0]].has(cell[1]))
				show({ cell: same ? null : cell, row: row.name });
		},
		keys: { n: choose(1), p: choose(-1), Enter: choose(1) },
		words: () => row ? `Latency of ${row.name} over time, from ${timeText(halfBegin(range.low))} to ` +
			`${timeText(halfBegin(range.high))}. Keys n and p choose a cell, slowest first.` : "no latencies",
	});
	picture.title.append(select);
	select.addEventListener("change", () => show({ row: select.value, cell: null }));
	return picture;
}
