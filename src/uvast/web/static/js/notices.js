/** Messages to the user: bars for what needs an answer, notes that disappear by themselves. */

import { fill, h, textButton } from "./dom.js";
import { count } from "./times.js";

const SECONDS = 6;
/** What people read in a second, so that long notes stay longer. */
const LETTERS_A_SECOND = 12;

export class Notices {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.trouble = h("div", { class: "notice trouble", role: "alert", hidden: true });
    this.conflicts = h("div", { role: "alert" });
    this.notes = h("div", { class: "notes", role: "status" });
    this.saved = h("span", { class: "saved", role: "status" });
    const bars = [this.trouble, this.conflicts, store.uploads.element];
    this.element = h("div", { class: "notices" }, bars, this.notes);
    store.on("status", () => this.#status());
    store.on("note", (sentence) => this.note(sentence));
    store.on("problem", (problem) => this.#problem(problem));
    store.on("turned", (answer) => this.#turned(answer));
    window.addEventListener("beforeunload", (event) => {
      if (store.outbox.n || store.uploads.isBusy) event.preventDefault();
    });
  }

  /** Shows a note that disappears by itself. @param {string} sentence @param {string} [kind] */
  note(sentence, kind = "") {
    this.#comeForward();
    const note = h("div", { class: `notice note ${kind}` }, sentence);
    this.notes.append(note);
    while (this.notes.children.length > 3) this.notes.firstChild.remove();
    const seconds = kind === "short" ? 2 : Math.max(SECONDS, sentence.length / LETTERS_A_SECOND);
    setTimeout(() => note.remove(), seconds * 1000);
  }

  /** Moves the notes to the topmost dialog: what is behind one is dimmed, covered and not read. */
  #comeForward() {
    const box = [...document.querySelectorAll("dialog[open]")].at(-1);
    const place = box ?? this.element;
    if (this.notes.parentNode === place) return;
    place.append(this.notes);
    box?.addEventListener("close", () => this.#comeForward(), { once: true });
  }

  /** Names the videos if the change is not visible here. */
  #turned({ what, kind, videos }) {
    const names = Object.keys(videos);
    const isHere = !names.length || names.includes(this.store.present());
    const where = isHere ? "" : ` in ${names.length > 1 ? count(names.length, "video") : names[0]}`;
    this.note(`${what === "undo" ? "Undone" : "Redone"}: ${kind}${where}`, where ? "" : "short");
  }

  #problem({ sentence, conflict, again }) {
    if (!conflict) {
      this.note(sentence, "bad");
      return;
    }
    const bar = h("div", { class: "notice conflict" });
    fill(
      bar,
      h("span", {}, `${sentence}. Your change was not made.`),
      again && textButton("Make it anyway", () => (bar.remove(), again())),
      textButton("Leave it", () => bar.remove()),
    );
    this.conflicts.append(bar);
  }

  #status() {
    const { outbox, connected } = this.store;
    const error = outbox.trouble;
    if (error) {
      const what = `${count(outbox.n, "change")} ${outbox.n === 1 ? "is" : "are"}`;
      const pending = outbox.n ? ` ${what} not saved yet; keep this page open.` : "";
      fill(
        this.trouble,
        h("span", {}, error.message, /[.?!]$/.test(error.message) ? "" : ".", pending),
        textButton("Try again", () => outbox.retry()),
      );
    } else if (!connected) fill(
      this.trouble,
      h(
        "span",
        {},
        this.store.refusal || "The app is not responding. Is it still running in its terminal?",
        " This page reconnects by itself.",
      ),
    );
    this.trouble.hidden = !error && connected;
    this.#saved(outbox, error, connected);
  }

  #saved(outbox, error, connected) {
    const [text, kind] = error
      ? [`${outbox.n} not saved`, "bad"]
      : outbox.n ? ["saving…", "busy"]
      : !connected ? ["no connection", "bad"]
      : [outbox.savedAt ? "saved" : "", "good"];
    this.saved.textContent = text;
    this.saved.className = `saved ${kind}`;
    this.saved.title = outbox.savedAt
      ? `Last saved at ${new Date(outbox.savedAt).toLocaleTimeString()}`
      : "";
  }
}
