// A list of videos. The first ones have their place from the start, the rest follows on request;
// timelines are drawn when they come near the screen and taken away when they leave, so that
// thousands of videos stay quick.
function makeList(element, comparison, names) {
  const ways = comparison.ways.map((way) => way.name);
  let chosen = comparison.main;
  const items = comparison.videos.map((video, index) => {
    const article = make("article", "video");
    const head = make("header");
    head.append(make("h3", "", video.name), make("span", "figures"));
    const tracks = make("div", "tracks");
    tracks.style.height = `calc(var(--row) * ${video.tracks.length})`;
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
    [names.truth, ...ways].forEach((name, row) => {
      const line = make("div", "line");
      line.dataset.row = String(row);
      const label = make("span", "", name);
      label.title = name;
      const track = unpack(video.tracks[row]);
      line.append(label, makeTrack(`${video.name}, ${name}`, track, { ticks: row ? null : video.timestamps, moved }));
      line.classList.toggle("chosen", names.marks && row === chosen + 1);
      tracks.append(line);
    });
    tracks.append(now);
  }

  function clear(article) {
    const tracks = article.querySelector(".tracks");
    if (tracks.contains(document.activeElement)) return;
    for (const canvas of tracks.querySelectorAll("canvas")) forget(canvas);
    tracks.replaceChildren();
  }

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) (entry.isIntersecting ? draw : clear)(entry.target);
  }, { rootMargin: "400px 0px" });
  for (const article of items) near.observe(article);

  const orders = {
    worst: () => comparison.ways[chosen].order,
    best: () => [...comparison.ways[chosen].order].reverse(),
    name: () => comparison.videos.map((_, index) => index),
    length: () => comparison.videos.map((_, index) => index)
      .sort((a, b) => comparison.videos[b].frames - comparison.videos[a].frames),
  };

  const more = make("button", "more");
  more.type = "button";
  let all = false, wished = {};
  more.addEventListener("click", () => { all = true; show(wished); });

  function show(wishes = {}) {
    const { way = chosen, order = "worst", find = "" } = wishes;
    wished = wishes;
    chosen = way;
    const wanted = find.trim().toLowerCase();
    const shown = orders[order]().filter((i) => comparison.videos[i].name.toLowerCase().includes(wanted));
    const rest = all ? 0 : Math.max(shown.length - names.first, 0);
    const placed = shown.slice(0, shown.length - rest);
    for (const index of placed) {
      const video = comparison.videos[index];
      const scores = video.scores[chosen].map((value, i) => `${data.scoreNames[i]} ${value.toFixed(1)}`);
      items[index].querySelector(".figures").textContent = [length(video.frames), ...scores.slice(2)].join(" · ");
      for (const line of items[index].querySelectorAll(".line")) {
        line.classList.toggle("chosen", names.marks && Number(line.dataset.row) === chosen + 1);
      }
    }
    more.textContent = rest === 1 ? "Show 1 more video" : `Show ${rest} more videos`;
    element.replaceChildren(...placed.map((index) => items[index]), ...(rest ? [more] : []));
    return shown.length;
  }

  return { show, size: items.length };
}
