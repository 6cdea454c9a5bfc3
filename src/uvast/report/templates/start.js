// Puts the parts together; each is there only if the report has it.
function line(name, content) {
  const element = make("div", "line");
  element.append(make("span", "", name), content);
  return element;
}

function fillLegend() {
  const legend = byId("legend");
  legend.open = data.classes.length <= 20;
  legend.querySelector("ul").append(...data.classes.map((one, action) => {
    const item = make("li");
    item.append(swatch(action), make("span", "", one.name));
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
    const bar = make("span", "bar"), part = make("i");
    part.style.width = `${f50 ?? 0}%`;
    bar.append(part);
    bar.setAttribute("aria-hidden", "true");
    const shown = (value) => (value === null ? "–" : value.toFixed(1));
    main.append(bar, make("span", "figure", shown(f50)));
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

function startComparison(comparison) {
  const select = byId("way"), order = byId("order"), find = byId("find");
  const list = makeList(byId("video-list"), comparison, { truth: "ground truth", marks: true, first: 24 });
  const confusion = makeConfusion(byId("matrix"));
  select.append(...comparison.ways.map((way, i) => new Option(way.name, String(i))));
  select.value = String(comparison.main);
  select.parentElement.hidden = comparison.ways.length === 1;
  const rows = document.querySelectorAll("#scores tbody tr");
  const arrange = () => {
    const shown = list.show({ way: Number(select.value), order: order.value, find: find.value });
    byId("found").textContent = find.value ? `${shown} of ${list.size} videos` : `${list.size} videos`;
  };
  const choose = () => {
    const way = comparison.ways[Number(select.value)];
    fillSummary(way.scores);
    fillClasses(way.classes);
    fillMistakes(way.confusion);
    confusion(way.confusion);
    rows.forEach((row, i) => row.classList.toggle("chosen", rows.length > 1 && i === Number(select.value)));
    arrange();
  };
  select.addEventListener("change", choose);
  order.addEventListener("change", arrange);
  find.addEventListener("input", arrange);
  fillLegend();
  choose();
}

function startAttention(attention) {
  const rows = unpack(attention.true);
  const truth = makeTrack(`${attention.video}, ground truth`, rows);
  byId("attention-maps").append(
    line("ground truth", truth), ...attention.maps.map((one) => line(one.title, makeMap(one, rows))),
  );
}

if (data.comparison) startComparison(data.comparison);
if (data.attention) startAttention(data.attention);
if (data.pseudoLabels) makeList(byId("pseudo-list"), data.pseudoLabels, { truth: "ground truth", marks: false, first: 6 }).show();
addEventListener("scroll", hideTip, { passive: true });
