// SPDX-License-Identifier: GPL-2.0-only
// panel_disks.js - a row for each disk: bytes read upwards, bytes written downwards, a line for requests in flight.

const DISKS_SHOWN = 6;

/* A sum of a disk's requests in a bin; @codes: of these kinds, null: of all. */
function diskSum(disk, i, name, codes) {
	let n = 0;
	for (const kind of disk.kinds)
		n += kind.cells[i] && (!codes || codes.includes(kind.code)) ? kind.cells[i][name] : 0;
	return n;
}

const isWrite = code => code !== "R";

/* For each bin shown: bytes read and written a second, and requests in flight. */
function diskRates(disk, first, end) {
	const rates = [];
	for (let i = first; i < end; i++) {
		const length = model.bins[i].length, bytes = diskSum(disk, i, "bytes"), read = diskSum(disk, i, "bytes", ["R"]);
		rates.push({ read: read / length * 1e9, write: (bytes - read) / length * 1e9, flight: diskSum(disk, i, "flight") / length });
	}
	return rates;
}

function diskPanel(parent, disk) {
	let rates = [], most = { bytes: 1, flight: 1 }, first = 0;
	const prepare = () => {
		first = selected.first;
		rates = diskRates(disk, selected.first, selected.end);
		most = { bytes: Math.max(1, ...rates.map(r => Math.max(r.read, r.write))), flight: Math.max(1e-9, ...rates.map(r => r.flight)) };
	};
	const words = () => {
		const length = state.to - state.from, bytes = { R: 0, W: 0 };
		let flight = 0;
		for (let i = selected.first; i < selected.end; i++) {
			bytes.R += diskSum(disk, i, "bytes", ["R"]);
			bytes.W += diskSum(disk, i, "bytes");
			flight += diskSum(disk, i, "flight");
		}
		return `reads ${bytesText(bytes.R / length * 1e9)}/s, writes ${bytesText((bytes.W - bytes.R) / length * 1e9)}/s, most ` +
			`${bytesText(most.bytes)}/s; line: in flight, ${(flight / length).toFixed(2)} on average, most ${most.flight.toFixed(1)}`;
	};
	return new Picture(parent, {
		name: "disk", title: "disk " + disk.name, height: 54, prepare,
		draw(p) {
			const c = p.ctx, middle = (p.low + p.high) / 2, half = (p.low - p.high) / 2 - 1;
			p.note.textContent = words();
			c.fillStyle = colour("--soft");
			c.textAlign = "right";
			c.textBaseline = "middle";
			c.fillText("reads", p.left - 6, middle - half / 2);
			c.fillText("writes", p.left - 6, middle + half / 2);
			c.fillStyle = colour("--line");
			c.fillRect(p.left, middle, p.inner, 1);
			c.fillStyle = colour("--bytes");
			p.eachBin((bin, x, w) => {
				const r = rates[bin.i - first];
				c.fillRect(x, middle - r.read / most.bytes * half, w, r.read / most.bytes * half);
				c.fillRect(x, middle + 1, w, r.write / most.bytes * half);
			});
			c.strokeStyle = colour("--mark");
			c.lineWidth = 1.5;
			c.beginPath();
			p.eachBin((bin, x, w) => {
				const y = p.low - rates[bin.i - first].flight / most.flight * (p.low - p.high - 1);
				c.lineTo(x, y);
				c.lineTo(x + w, y);
			});
			c.stroke();
			c.lineWidth = 1;
		},
		read(ns, y, p, bin) {
			const r = rates[bin.i - first];
			return r ? `reads ${bytesText(r.read)}/s, writes ${bytesText(r.write)}/s, ${r.flight.toFixed(2)} in flight` : "";
		},
		words: () => `Disk ${disk.name} over time: ${words()}`,
	});
}

/* Requests of the part of the time, by disk and kind. */
function requestRows() {
	const rows = [];
	for (const disk of model.disks) {
		for (const kind of disk.kinds) {
			const s = Object.fromEntries(RQ_SUMS.map(n => [n, selected.isWhole && kind.before ? kind.before[n] : 0]));
			for (let i = selected.first; i < selected.end; i++)
				for (const n of RQ_SUMS)
					s[n] += kind.cells[i] ? kind.cells[i][n] : 0;
			if (s.count)
				rows.push({ disk: disk.name, kind: KINDS[kind.code] || kind.code, ...s });
		}
	}
	return rows;
}
