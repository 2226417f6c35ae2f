// SPDX-License-Identifier: GPL-2.0-only
// panel_offsets.js - where reads and writes of a file or a disk went: time across, the offset upwards. Ranges without
// accesses have no height.

const MAPS_SHOWN = 6, MAP_HEIGHT = 96, MAP_LEAST = 10;

/* The cells of a map, and the ranges with accesses in their order. */
function mapOf(m) {
	const numbers = new Packed(m.cells).all(), cells = [];
	for (let i = 0; i < numbers.length; i += 4)
		cells.push({ time: numbers[i], range: numbers[i + 1], reads: numbers[i + 2], writes: numbers[i + 3] });
	const ranges = [...new Set(cells.map(c => c.range))].sort((a, b) => a - b);
	return { ...m, cells, ranges, accesses: sum(cells.map(c => c.reads + c.writes)) };
}

function drawMap(p, m) {
	const c = p.ctx, height = (p.low - p.high) / m.ranges.length, read = colour("--mark"), written = colour("--D");
	const place = new Map(m.ranges.map((r, i) => [r, i]));
	for (const cell of m.cells) {
		const from = Math.max(cell.time * m.interval_ns, p.from), to = Math.min((cell.time + 1) * m.interval_ns, p.to);
		if (from >= to)
			continue;
		const x = p.x(from), w = Math.max(p.x(to) - x, 1.5), y = p.low - (place.get(cell.range) + 1) * height;
		const reads = w * cell.reads / (cell.reads + cell.writes);
		c.fillStyle = read;
		c.fillRect(x, y, reads, Math.max(height, 1.5));
		c.fillStyle = written;
		c.fillRect(x + reads, y, w - reads, Math.max(height, 1.5));
	}
	// a line where ranges are left out
	c.fillStyle = colour("--line");
	m.ranges.forEach((r, i) => {
		if (i && r > m.ranges[i - 1] + 1)
			c.fillRect(p.left, p.low - i * height, p.inner, 1);
	});
	c.fillStyle = colour("--soft");
	c.textAlign = "right";
	c.textBaseline = "middle";
	c.fillText(bytesText((m.ranges[m.ranges.length - 1] + 1) * m.range_bytes), p.left - 6, p.high + 6);
	c.fillText(bytesText(m.ranges[0] * m.range_bytes), p.left - 6, p.low - 6);
}

function mapPanel(parent, m) {
	const name = (m.is_disk ? "disk " : "") + (m.name === null ? UNKNOWN : m.name);
	const picture = new Picture(parent, {
		name: "map", title: "", height: MAP_HEIGHT,
		draw: p => drawMap(p, m),
		read(ns, y, p) {
			const range = m.ranges[Math.floor((p.low - y) / (p.low - p.high) * m.ranges.length)];
			const cell = m.cells.find(c => c.time === Math.floor(ns / m.interval_ns) && c.range === range) || { reads: 0, writes: 0 };
			return `${countText(cell.reads)} reads and ${countText(cell.writes)} writes from ${bytesText((range || 0) * m.range_bytes)} on`;
		},
		words: () => `Offsets over time of ${name}: ${m.words}`,
	});
	picture.title.classList.add("path");
	picture.title.title = name;
	picture.title.append(make("bdi", {}, pathShown(name)));
	picture.note.textContent = m.words + (m.since_ns ? `; not drawn before ${timeText(m.since_ns)}` : "");
	return picture;
}

function offsetPanels(parent, offsets) {
	const box = make("div", { class: "maps" });
	parent.append(make("h2", {}, "Offsets"), make("ul", { class: "key" }, make("li", {}, make("i", { class: "reads" }), "reads"),
		make("li", {}, make("i", { class: "D" }), "writes")), box);
	// a map of a few accesses says no more than its words
	const maps = offsets.map(mapOf).filter(m => m.cells.length && m.accesses >= MAP_LEAST).slice(0, MAPS_SHOWN);
	parent.hidden = !maps.length;
	return maps.map(m => mapPanel(box, m));
}
