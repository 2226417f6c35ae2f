// SPDX-License-Identifier: GPL-2.0-only
// unpack.js - numbers as show/page_pack.c packs them: LEB128 in base64.

class Packed {
	constructor(text) {
		const bytes = atob(text || "");
		this.bytes = Uint8Array.from(bytes, c => c.charCodeAt(0));
		this.at = 0;
	}
	get more() {
		return this.at < this.bytes.length;
	}
	next() {
		let n = 0, factor = 1, byte;
		do {
			byte = this.bytes[this.at++];
			n += (byte & 127) * factor;
			factor *= 128;
		} while (byte & 128);
		return n;
	}
	signed() {
		const n = this.next();
		return n % 2 ? -(n + 1) / 2 : n / 2;
	}
	// @n numbers
	list(n) {
		return Array.from({ length: n }, () => this.next());
	}
	// the rest
	all() {
		const list = [];
		while (this.more)
			list.push(this.next());
		return list;
	}
	// a set of shares, and the times of those in it; as a list of @n
	shares(n) {
		const set = this.next();
		return Array.from({ length: n }, (_, i) => Math.floor(set / 2 ** i) % 2 ? this.next() : 0);
	}
}
