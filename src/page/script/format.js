// SPDX-License-Identifier: GPL-2.0-only
// format.js - numbers as text, as the tool writes them, and scales. Knows neither the page nor its data.
"use strict";

const sum = list => list.reduce((a, b) => a + b, 0);

function three(v, units, step) {
	let i = 0;
	for (; i < units.length - 1 && v >= step - 0.5; i++)
		v /= step;
	return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0) + units[i];
}

function timeText(ns) {
	if (ns < 1000)
		return Math.round(ns) + " ns";
	return ns < 999.5e9 ? three(ns / 1e3, [" us", " ms", " s"], 1000) : Math.round(ns / 1e9) + " s";
}

function bytesText(n) {
	return n < 1024 ? Math.round(n) + " B" : three(n / 1024, [" KiB", " MiB", " GiB", " TiB", " PiB"], 1024);
}

const grouped = new Intl.NumberFormat("en-US");

function countText(n) {
	return n < 1e6 ? grouped.format(Math.round(n)) : three(n / 1e6, ["M", "G", "T"], 1000);
}

function percentText(part, whole) {
	const v = 100 * part / whole;
	if (!whole)
		return "-";
	return !part || v > 0.5 ? Math.round(v) + " %" : v < 0.05 ? "<0.1 %" : v.toFixed(1) + " %";
}

const plural = n => n === 1 ? "" : "s";

/* Times of one axis have one unit: that of @most; with digits enough for a @step. */
function axisTime(most, step) {
	const [size, unit] = most < 1e3 ? [1, "ns"] : most < 1e6 ? [1e3, "us"] : most < 1e9 ? [1e6, "ms"] : [1e9, "s"];
	const digits = Math.min(Math.max(Math.ceil(-Math.log10((step || most / 100) / size) - 1e-9), 0), 9);
	return ns => ns ? `${Number((ns / size).toFixed(digits))} ${unit}` : "0";
}

/* A name may have characters that a reader does not see: they are shown as the terminal shows them. */
function safe(text) {
	return String(text).replace(/[\\\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, c =>
		c === "\\" ? "\\\\" : Array.from(new TextEncoder().encode(c), b => "\\x" + b.toString(16).padStart(2, "0")).join(""));
}

/* The distance of lines on an axis: 1, 2 or 5 times a power of ten, for at most about @most lines. */
function niceStep(span, most) {
	const rough = span / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough));
	return power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
}

/* The half octave of a time, as in analyse/latencies.h, and where it begins. */
function halfOf(ns) {
	if (ns < 32)
		return ns >= 16 ? 1 : 0;
	const log2 = Math.floor(Math.log2(ns));
	return Math.min((log2 - 4) * 2 + (ns >= 1.5 * 2 ** log2 ? 1 : 0), HALVES - 1);
}

function halfBegin(half) {
	const log2 = Math.floor(half / 2) + 4;
	return half < 2 ? half * 16 : half % 2 ? 1.5 * 2 ** log2 : 2 ** log2;
}

const HALVES = 74; // the last one has no end

/* A colour between two, as hexadecimal numbers. */
function mix(few, many, part) {
	const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)), a = rgb(few), b = rgb(many);
	return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * part)).join(",")})`;
}

/* A path where room is short and its end is shown: without the inode that names one file of several at this path. */
const pathShown = path => path.replace(/ \(inode \d+ on [^()]*\)$/, "");

/* Text for a cell of CSV; a spreadsheet would compute what begins with "=". */
function csvCell(s) {
	s = String(s);
	return /^[=+\-@\t\r]/.test(s) && isNaN(s) ? `"'${s.replace(/"/g, '""')}"` : /[",\n]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
}

/* A word for a shell. */
function shellWord(text) {
	return /^[\w./:=+,@%-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
