// The time spent in each action, in one video or in all.
function addUp(tracks) {
  const times = data.classes.map(() => ({ segments: 0, frames: 0 }));
  for (const runs of tracks) {
    for (let i = 0; i < runs.length; i += 2) {
      if (runs[i] < 0) continue;
      // neighbours with the same action are one segment
      if (runs[i] !== runs[i - 2]) times[runs[i]].segments += 1;
      times[runs[i]].frames += runs[i + 1];
    }
  }
  return times;
}

function makeTimes(comparison) {
  const select = byId("time-video"), table = byId("time-table");
  const known = comparison.videos.some((video) => video.truth);
  const names = comparison.videos.map((video) => (video.split === undefined ? video.name : `${video.name}, split ${video.split}`));
  select.append(new Option("all videos", "all"), ...names.map((name, i) => new Option(name, String(i))));
  select.parentElement.hidden = names.length < 2;
  table.tHead.rows[0].lastElementChild.hidden = !known;
  // a video that several splits test counts once
  const once = comparison.videos.filter((one, i, all) => all.findIndex((other) => other.name === one.name) === i);
  let chosen = comparison.main;

  function fill() {
    const videos = select.value === "all" ? once : [comparison.videos[Number(select.value)]];
    const found = addUp(videos.map((video) => video.tracks[chosen]));
    const true_ = addUp(videos.filter((video) => video.truth).map((video) => video.truth));
    const total = found.reduce((sum, one) => sum + one.frames, 0);
    const actions = found.map((_, action) => action).filter((i) => found[i].segments || true_[i].segments);
    actions.sort((a, b) => found[b].frames - found[a].frames);
    table.tBodies[0].replaceChildren(...actions.map((action) => {
      const { segments: n, frames } = found[action], share = frames / total * 100;
      const row = make("tr"), name = make("th"), last = make("td", "number");
      name.scope = "row";
      name.append(swatch(action), data.classes[action].name);
      last.append(percentBar(share), make("span", "figure", `${share.toFixed(1)} %`));
      const cells = [n, n ? length(frames) : "–", n ? length(frames / n) : "–"].map((text) => make("td", "number", text));
      row.append(name, ...cells, last);
      if (known) row.append(make("td", "number", true_[action].segments ? length(true_[action].frames) : "–"));
      return row;
    }));
  }

  select.addEventListener("change", fill);
  return (decoding) => { chosen = decoding; fill(); };
}
