// SPDX-License-Identifier: GPL-2.0-only
// panel_bar.js - what is selected, in a bar that stays in sight: the part of the time, filters, the link; the shares
// as a strip; and the command for a terminal.

function rangeText() {
	const time = model.label || timeText, length = timeText(state.to - state.from);
	return selected.isWhole ? `all ${length}` : `${time(state.from)} to ${time(state.to)} (${length})`;
}

/* Copies text; says so on the button. */
async function copyText(text, button) {
	const said = button.textContent;
	let done = true;
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = make("textarea", { "aria-hidden": true });
		area.value = text;
		document.body.append(area);
		area.select();
		done = document.execCommand("copy");
		area.remove();
	}
	button.textContent = done ? "copied" : "the browser refused";
	setTimeout(() => { button.textContent = said; }, 1500);
}

function chip(text, clear) {
	return make("button", { type: "button", class: "chip", "aria-label": `remove ${text}`, onclick: clear }, text, " ×");
}

function chips() {
	const list = Object.entries(state.filters).map(([key, value]) => chip(`${key}: ${value}`, () => filterBy(key, value)));
	if (state.share >= 0)
		list.push(chip("only " + SHARES[state.share].name, () => show({ share: -1 })));
	if (state.cell)
		list.push(chip(`cell: ${timeText(halfBegin(state.cell[1]))} to ${timeText(halfBegin(state.cell[1] + 1))}`, () => show({ cell: null })));
	return list;
}

function barPanel(parent) {
	const text = make("b", { id: "range", "aria-live": "polite" }), list = make("span", { class: "chips" });
	const whole = make("button", { type: "button", onclick: () => show({ ...stateOf(model), by: state.by, system: state.system }) }, "show all");
	const link = make("button", { type: "button" }, "copy link"), pause = make("button", { type: "button", id: "pause" }, "pause");
	const system = make("input", { type: "checkbox", id: "system", onchange: () => show({ system: system.checked }) });
	const has = model.live || model.combos.some(c => c.isPseudo);
	link.addEventListener("click", () => copyText(location.href, link));
	pause.addEventListener("click", () => model.live.pause(pause));
	const lost = make("span", { class: "lost", id: "part-lost" });
	parent.append(make("div", { class: "range" }, text, lost, list,
		make("label", { hidden: !has }, system, " with /proc, /sys"), whole, model.live ? pause : link));
	return { draw() {
		const { all, threads } = selected, time = timeOf(threads.time, state.share);
		text.textContent = `${rangeText()}: ${all.about ? "about " : ""}${timeText(time)} in I/O, ${countText(all.count)} operations`;
		const words = lossWords(model.losses, LOST_KINDS, selected.first, selected.end);
		lost.textContent = words && `lost at the times marked: ${words}`;
		list.replaceChildren(...chips());
		whole.hidden = selected.isWhole && !list.childElementCount && !state.open && !state.find && !state.frame;
		system.checked = state.system;
	} };
}

/* A bar to scale: the shares in their order; @part of the width. */
function shareBar(time, part) {
	const all = sum(time), bar = make("span", { class: "bar", role: "img", "aria-label":
		SHARES.map((s, i) => time[i] ? `${s.name} ${percentText(time[i], all)}` : "").filter(Boolean).join(", ") || "no time" });
	time.forEach((ns, i) => {
		if (!ns || (state.share >= 0 && i !== state.share))
			return;
		const piece = make("i", { class: SHARES[i].letter });
		piece.style.width = 100 * part * ns / (state.share >= 0 ? time[state.share] : all) + "%";
		bar.append(piece);
	});
	return bar;
}

function stripOf(time) {
	const all = sum(time), key = make("ul", { class: "key" }), strip = make("div", { class: "strip" });
	time.forEach((ns, i) => {
		if (!ns)
			return;
		const part = make("i", { class: SHARES[i].letter, title: SHARES[i].name });
		part.style.width = 100 * ns / all + "%";
		part.classList.toggle("pale", state.share >= 0 && state.share !== i);
		strip.append(part);
		key.append(make("li", {}, make("button", { type: "button", "aria-pressed": String(state.share === i),
			title: `only ${SHARES[i].name}: ${SHARES[i].strata.join(", ")}`,
			onclick: () => show({ share: state.share === i ? -1 : i }) },
			make("i", { class: SHARES[i].letter }), SHARES[i].name + " ", make("b", {}, percentText(ns, all)), " " + timeText(ns))));
	});
	return [strip, key];
}

/* The strip of threads' time, and that of asynchronous requests. */
function stripPanel(box) {
	return { draw() {
		const { threads, requests } = selected, parts = sum(threads.time) ? stripOf(threads.time) : [];
		if (requests.count)
			parts.push(make("p", { class: "async" }, `time of asynchronous requests: ${timeText(sum(requests.time))}, ` +
				`${(sum(requests.time) / (state.to - state.from)).toPrecision(3)} in flight on average`), ...stripOf(requests.time));
		box.replaceChildren(...parts);
	} };
}

function commandPanel(parent) {
	const code = make("code", { id: "command" }), copy = make("button", { type: "button" }, "copy");
	copy.addEventListener("click", () => copyText(code.textContent, copy));
	parent.append(make("p", { class: "command" }, "The same in a terminal: ", code, " ", copy));
	return { draw() {
		code.textContent = commandOf(state, model, data);
	} };
}
