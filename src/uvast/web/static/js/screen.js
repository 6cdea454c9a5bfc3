/**
 * What a video looks like: itself, the server's pictures while a proxy is made, or its features.
 */

import { addressOf, getBytes, post } from "./api.js";
import { fill, h, setStyle, textButton } from "./dom.js";
import { FrameTable } from "./frames.js";
import { HeatMap } from "./heat.js";
import { SilentPlayer, VideoPlayer } from "./player.js";

const NOT_PLAYED = "This browser cannot play the video, so you see single pictures.";
const NOT_EXACT = "Frames are counted at an even rate until you reload the page";
const RATELESS = "These features have no rate, so there is no time to click at: write "
  + "frames_per_second = 15, or whatever it is, into the project's dataset.toml.";
const CUT_OFF = "The connection was lost; you see single pictures until the app responds again.";

export class Screen {
  /**
   * @param {import("./store.js").Store} store
   * @param {() => void} onchange when the frame changes, or playing starts or stops
   */
  constructor(store, onchange) {
    this.store = store;
    this.onchange = onchange;
    this.element = h("div", { class: "screen" }, h("p", { class: "screen-note" }, "Opening…"));
    this.player = null;
    this.table = null;
    this.media = undefined;
  }

  close() {
    this.isClosed = true;
    this.player?.close();
    this.stopListening?.();
  }

  /** Whether the player belongs to the video that was shown last. */
  get isReady() {
    return Boolean(this.player) && this.player.table === this.table;
  }

  /** @param {any} state of the video */
  async show(state) {
    const media = state.media ?? (state.has_video ? "pictures" : "features");
    const isSame = state.name === this.name;
    if (this.isClosed) return;
    if (isSame && media === this.media) {
      this.onproxy?.(state.proxy);
      return;
    }
    if (!isSame) this.table = null;
    Object.assign(this, { name: state.name, media });
    const table = this.table ?? (await this.#tableOf(state));
    if (this.isClosed || this.name !== state.name || this.media !== media) return;
    this.table = table;
    this.#replace(() => {
      if (state.media) this.#video(state);
      else if (state.has_video) this.#pictures(state);
      else this.#features(state);
    });
  }

  /** The times of the frames: from the server, else at an even rate and with a notice. */
  async #tableOf(state) {
    if (!state.has_video) return evenTable(state);
    try {
      const bytes = await getBytes(addressOf("times", state.name, { v: state.v }));
      if (bytes.byteLength) return new FrameTable(new Float64Array(bytes), state.seconds ?? 0);
    } catch (error) {
      this.store.tell("problem", { sentence: `${NOT_EXACT}: ${error.message}` });
    }
    return evenTable(state);
  }

  /** Makes another player, which continues where this video's last one was. */
  #replace(build) {
    const { table, frame, rate, loop } = this.player ?? {};
    this.player?.close();
    this.stopListening?.();
    this.onproxy = null;
    build();
    if (table === this.table) Object.assign(this.player, { frame, rate, loop });
    this.player.onchange();
  }

  #pictureOf(state) {
    return (index) => addressOf(
      "frame",
      state.name,
      { index, width: Math.min(1280, state.width || 1280), v: state.v },
    );
  }

  #video(state) {
    const video = h(
      "video",
      {
        src: state.media,
        preload: "auto",
        playsinline: true,
        tabindex: "-1",
        disablepictureinpicture: true,
      },
    );
    const picture = h("img", { class: "exact", alt: "", hidden: true });
    video.addEventListener("error", () => video.getAttribute("src") && this.#failed(state, video));
    fill(this.element, video, picture);
    this.player = new VideoPlayer(
      video,
      picture,
      this.table,
      this.#pictureOf(state),
      this.onchange,
    );
  }

  /** Shows single pictures instead of the video; until the app is back, if that was the reason. */
  #failed(state, video) {
    const isAway = video.error?.code === MediaError.MEDIA_ERR_NETWORK || !this.store.connected;
    this.#replace(() => this.#pictures(state, isAway ? CUT_OFF : NOT_PLAYED));
    if (!isAway) return;
    this.stopListening = this.store.on("status", () => {
      if (this.store.connected) this.#replace(() => this.#video(state));
    });
  }

  #features(state) {
    const map = state.has_features ? new HeatMap(state.name, state.seconds ?? 0) : null;
    const why = state.fault ?? (state.seconds ? null : RATELESS);
    fill(this.element, map?.element, why && h("div", { class: "screen-note" }, why));
    this.player = new SilentPlayer(this.table, () => {
      map?.show(this.player.seconds);
      this.onchange();
    });
    map?.show(0);
  }

  /** Single pictures, while the server makes a copy that plays. */
  #pictures(state, sentence = null) {
    const picture = h("img", { class: "exact", alt: "" });
    const message = h("div", { class: "screen-note" });
    fill(this.element, picture, message);
    let [wanted, loading] = [-1, false];
    const address = this.#pictureOf(state);
    const load = async () => {
      if (loading || wanted === player.frame) return;
      loading = true;
      wanted = player.frame;
      picture.src = address(wanted);
      await picture.decode().catch(() => {});
      loading = false;
      load();
    };
    const player = new SilentPlayer(this.table, () => {
      load();
      this.onchange();
    });
    this.player = player;
    if (sentence) fill(message, sentence);
    else this.#proxy(state, message);
  }

  /** Asks for a proxy and shows its progress. */
  async #proxy(state, message) {
    const bar = h("progress", { max: 1, "aria-label": "Progress of the copy" });
    const again = textButton("Make the copy again", () => start());
    const failed = (why) => fill(
      message,
      `The copy for the browser failed: ${why ?? "no reason given"}`,
      again,
    );
    let number = state.proxy?.job;
    let failure = null;
    const start = async () => {
      fill(
        message,
        "Browsers cannot play this file. A copy that plays is being made; ",
        "you can work with single pictures meanwhile.",
        bar,
      );
      try {
        number = (
          await post("/api/jobs", { kind: "proxy", video: state.name, author: this.store.author })
        ).number;
      } catch (error) {
        failed(error.message);
      }
    };
    this.stopListening = this.store.on("job", async (news) => {
      if (news.job !== number) return;
      if (news.progress !== null && news.progress !== undefined) bar.value = news.progress;
      if (news.state === "done") await this.store.refetch(state.name).catch(() => {});
    });
    this.onproxy = (proxy) => { // comes with the video's state, also after a reconnection
      const isOver = proxy?.state === "failed" || proxy?.state === "cancelled";
      if (!isOver || proxy.job !== number || failure === number) return;
      failure = number;
      failed(proxy.error ?? "see its log under Train.");
    };
    this.onproxy(state.proxy);
    if (failure === null) await start();
  }

  /** Makes the screen as wide as possible without cropping. @param {any} state */
  shape(state) {
    setStyle(this.element, { "--shape": String((state.width || 16) / (state.height || 9)) });
  }
}

/** A table of frames of equal length. */
function evenTable(state) {
  const seconds = state.seconds ?? 0;
  const rate = state.frames_per_second || 25;
  return FrameTable.even(state.n_frames || Math.ceil(seconds * rate), rate, seconds);
}
