// SPDX-License-Identifier: GPL-2.0-only
// begin.js - begins what this page is: a live page, a report, or tables alone.

if (data.live)
	live();
else if (data.combos !== undefined)
	report();
else
	document.querySelectorAll("#tables table").forEach(enhance);
