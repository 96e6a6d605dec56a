// Charts: names are text to plotly, and what a chart says of itself wins over what all charts share.

import assert from "node:assert/strict";
import test from "node:test";
import { CONFIG, layoutOf, plain } from "../../dashboard/static/rw/charts.js";

test("markup and entities in a name reach plotly as text", () => {
    assert.equal(plain('<a href="javascript:alert(1)">x</a> &lt;b&gt;'), '&lt;a href="javascript:alert(1)">x&lt;/a> &amp;lt;b&amp;gt;');
    assert.equal(plain(7), "7");
});

test("no chart offers to send its data anywhere", () => {
    assert.equal(CONFIG.showSendToCloud, false);
    assert.equal(CONFIG.plotlyServerURL, "");
});

test("what a chart says of an axis is added to what all axes share", () => {
    const layout = layoutOf({ line: "#111111", text: "#eeeeee" }, { xaxis: { title: { text: "round" } }, height: 200 });
    assert.deepEqual([layout.xaxis.title.text, layout.xaxis.gridcolor, layout.yaxis.gridcolor], ["round", "#111111", "#111111"]);
    assert.equal(layout.height, 200);
});
