// Starts the parts of the page; a report may lack some of them.
function fillLegend() {
  const legend = byId("legend");
  legend.open = data.classes.length <= 20;
  const actions = data.classes.map((_, action) => action);
  const shown = [data.comparison, data.pseudoLabels].flatMap((one) => one?.videos ?? []);
  const runs = shown.flatMap((video) => [video.truth ?? [], ...video.tracks]);
  if (runs.some((one) => one.some((action, i) => i % 2 === 0 && action < 0))) actions.push(-1);
  legend.querySelector("ul").append(...actions.map((action) => {
    const item = make("li");
    item.append(swatch(action), make("span", "", nameOf(action)));
    return item;
  }));
}

function fillSummary(scores) {
  byId("summary").replaceChildren(...scores.map((value, i) => {
    const item = make("div");
    item.append(make("dt", "", data.scoreNames[i]), make("dd", "", value.toFixed(1)));
    return item;
  }));
}

function fillClasses(classes) {
  const worst = [...classes].sort((a, b) => (a[3] ?? 101) - (b[3] ?? 101));
  byId("class-table").tBodies[0].replaceChildren(...worst.map(([action, f10, f25, f50, truth, predicted]) => {
    const row = make("tr"), name = make("th"), main = make("td", "number");
    name.scope = "row";
    name.append(swatch(action), data.classes[action].name);
    const shown = (value) => (value === null ? "–" : value.toFixed(1));
    main.append(percentBar(f50 ?? 0), make("span", "figure", shown(f50)));
    row.append(name, main, ...[shown(f25), shown(f10), truth, predicted].map((text) => make("td", "number", text)));
    return row;
  }));
}

function fillMistakes(confusion) {
  const found = [];
  confusion.forEach((row, truth) => row.forEach((frames, predicted) => {
    if (truth !== predicted && frames) found.push({ truth, predicted, frames });
  }));
  const total = confusion.flat().reduce((sum, value) => sum + value, 0);
  found.sort((a, b) => b.frames - a.frames);
  byId("mistakes").replaceChildren(...found.slice(0, 10).map(({ truth, predicted, frames }) => {
    const item = make("li", "", `${data.classes[truth].name} taken for ${data.classes[predicted].name} `);
    const share = frames / total * 100;
    item.append(make("span", "", `${share < 0.1 ? "< 0.1" : share.toFixed(1)} % of all frames`));
    return item;
  }));
}

function fillOrders(comparison) {
  const scored = comparison.scores.length > 0, sure = comparison.videos.some((video) => video.sure);
  const ends = scored ? ["worst", "best"] : ["least sure", "surest"];
  const options = [["name", "by name"], ["length", "longest first"]];
  if (scored || sure) options.unshift(["worst", `${ends[0]} first`], ["best", `${ends[1]} first`]);
  byId("order").append(...options.map(([value, text]) => new Option(text, value)));
  byId("confidence").parentElement.hidden = !sure;
  byId("confidence").checked = sure && !scored;
}

function startComparison(comparison) {
  const select = byId("decoding"), order = byId("order"), find = byId("find"), confidence = byId("confidence");
  const list = makeList(byId("video-list"), comparison, { marks: comparison.decodings.length > 1, first: 24 });
  const scored = comparison.scores.length > 0;
  const confusion = scored ? makeConfusion(byId("matrix")) : null, times = makeTimes(comparison);
  select.append(...comparison.decodings.map((one, i) => new Option(one.name, String(i))));
  select.value = String(comparison.main);
  select.parentElement.hidden = comparison.decodings.length === 1;
  byId("summary").hidden = !scored;
  const rows = document.querySelectorAll("#scores tbody tr");
  const arrange = () => {
    const wishes = { decoding: Number(select.value), order: order.value, find: find.value, confidence: confidence.checked };
    const shown = list.show(wishes);
    byId("found").textContent = find.value ? `${shown} of ${list.size} videos` : `${list.size} ${list.size === 1 ? "video" : "videos"}`;
  };
  const choose = () => {
    if (scored) {
      const scores = comparison.scores[Number(select.value)];
      fillSummary(scores.means);
      fillClasses(scores.classes);
      fillMistakes(scores.confusion);
      confusion(scores.confusion);
    }
    times(Number(select.value));
    rows.forEach((row, i) => row.classList.toggle("chosen", rows.length > 1 && i === Number(select.value)));
    arrange();
  };
  select.addEventListener("change", choose);
  for (const one of [order, confidence]) one.addEventListener("change", arrange);
  find.addEventListener("input", arrange);
  fillLegend();
  fillOrders(comparison);
  choose();
}

function startAttention(attention) {
  const rows = segments(attention.true);
  const truth = makeTrack(`${attention.video}, ground truth`, rows);
  byId("attention-maps").append(
    line("ground truth", truth), ...attention.maps.map((one) => line(one.title, makeMap(one, rows))),
    line("", makeAxis(attention.frames)),
  );
}

if (data.comparison) startComparison(data.comparison);
if (data.attention) startAttention(data.attention);
if (data.pseudoLabels) makeList(byId("pseudo-list"), data.pseudoLabels, { marks: true, first: 6 }).show();
addEventListener("scroll", hideTip, { passive: true });
