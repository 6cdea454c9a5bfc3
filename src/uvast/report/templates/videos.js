// A list of videos. The first ones are shown at once, the rest on request. Timelines are drawn when
// they come near the screen and removed when they leave it, so that thousands of videos stay fast.
function makeList(element, comparison, { marks, first }) {
  const names = comparison.decodings.map((one) => one.name);
  let chosen = comparison.main, heights = false;

  function rows(video) {
    const found = [];
    if (video.truth) found.push({ name: "ground truth", track: segments(video.truth) });
    if (video.clicks) found.push({ name: "clicks", track: clicks(video.clicks, video.frames) });
    video.tracks.forEach((runs, i) => found.push({ name: names[i], track: segments(runs, video.sure?.[i]), decoding: i }));
    return found;
  }

  const items = comparison.videos.map((video, index) => {
    const article = make("article", "video");
    const head = make("header");
    head.append(make("h3", "", video.name));
    if (video.split !== undefined) head.append(make("span", "badge", `split ${video.split}`));
    if (video.inTraining) head.append(make("span", "badge warn", "used in training"));
    head.append(make("span", "figures"));
    const tracks = make("div", "tracks");
    const n = video.tracks.length + (video.truth ? 1 : 0) + (video.clicks ? 1 : 0);
    tracks.style.setProperty("--rows", String(n));
    if (video.strip) {
      tracks.classList.add("pictured");
      tracks.style.setProperty("--shape", String(cellShape(video.strip)));
    }
    article.append(head, tracks);
    article.dataset.index = String(index);
    return article;
  });

  function draw(article) {
    const video = comparison.videos[Number(article.dataset.index)];
    const tracks = article.querySelector(".tracks");
    if (tracks.childElementCount) return;
    const now = make("span", "now");
    now.hidden = true;
    const moved = (share) => {
      now.hidden = share === null;
      if (share !== null) now.style.left = `calc(var(--label) + (100% - var(--label)) * ${share})`;
    };
    for (const { name, track, decoding } of rows(video)) {
      const row = line(name, makeTrack(`${video.name}, ${name}`, track, { moved, heights }));
      row.firstChild.title = name;
      if (decoding !== undefined) row.dataset.decoding = String(decoding);
      tracks.append(row);
    }
    if (video.strip) tracks.append(line("", makeStrip(video, moved)));
    tracks.append(line("", makeAxis(video.frames)), now);
    mark(article);
  }

  function mark(article) {
    for (const row of article.querySelectorAll(".line")) {
      row.classList.toggle("chosen", marks && row.dataset.decoding === String(chosen));
    }
  }

  function clear(article, force = false) {
    const tracks = article.querySelector(".tracks");
    if (!force && tracks.contains(document.activeElement)) return;
    for (const canvas of tracks.querySelectorAll("canvas")) forget(canvas);
    tracks.replaceChildren();
  }

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) (entry.isIntersecting ? draw : clear)(entry.target);
  }, { rootMargin: "400px 0px" });
  for (const article of items) near.observe(article);

  const byName = comparison.videos.map((_, index) => index);
  const orders = {
    worst: () => comparison.decodings[chosen].order,
    best: () => [...comparison.decodings[chosen].order].reverse(),
    name: () => byName,
    length: () => [...byName].sort((a, b) => comparison.videos[b].frames - comparison.videos[a].frames),
  };

  const more = make("button", "more");
  more.type = "button";
  let all = false, wished = {};
  more.addEventListener("click", () => { all = true; show(wished); });

  function figures(video) {
    const found = [length(video.frames)];
    if (video.scores) video.scores[chosen].slice(2).forEach((value, i) => found.push(`${data.scoreNames[i + 2]} ${value.toFixed(1)}`));
    const sure = video.sure?.[chosen];
    if (!video.scores && sure?.length) found.push(`${certainty(segments(video.tracks[chosen], sure)).toFixed(0)} % sure`);
    return found.join(" · ");
  }

  function show(wishes = {}) {
    const { decoding = chosen, order = "worst", find = "", confidence = heights } = wishes;
    wished = wishes;
    chosen = decoding;
    if (confidence !== heights) {
      heights = confidence;
      for (const article of items) {
        if (!article.querySelector(".tracks").childElementCount) continue;
        clear(article, true);
        draw(article);
      }
    }
    const wanted = find.trim().toLowerCase();
    const shown = orders[order]().filter((i) => comparison.videos[i].name.toLowerCase().includes(wanted));
    const rest = all ? 0 : Math.max(shown.length - first, 0);
    const placed = shown.slice(0, shown.length - rest);
    for (const index of placed) {
      items[index].querySelector(".figures").textContent = figures(comparison.videos[index]);
      mark(items[index]);
    }
    more.textContent = rest === 1 ? "Show 1 more video" : `Show ${rest} more videos`;
    element.replaceChildren(...placed.map((index) => items[index]), ...(rest ? [more] : []));
    return shown.length;
  }

  return { show, size: items.length };
}

// The mean over frames, in percent.
function certainty(track) {
  const sum = track.sure.reduce((total, value, i) => total + value * (track.ends[i] - track.starts[i]), 0);
  return sum / track.frames;
}
