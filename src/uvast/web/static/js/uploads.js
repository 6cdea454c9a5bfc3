/** Files on their way to the server. */

import { upload } from "./api.js";
import { fill, h, textButton } from "./dom.js";

/** @param {string} accept @param {(files: File[]) => void} chosen */
export function chooseFiles(accept, chosen) {
  const input = h("input", { type: "file", multiple: true, accept });
  input.addEventListener("change", () => chosen([...input.files]));
  input.click();
}

/**
 * Lets people drop files anywhere on the page: a browser would leave the page to show the file. Text
 * goes into fields as always; with a dialog open, only the dialog's own field takes a file.
 * @param {(files: File[]) => void} dropped
 */
export function dropTarget(dropped) {
  const { body } = document;
  const over = (on) => body.classList.toggle("drop", on);
  const isAsking = () => document.querySelector("dialog[open]");
  const isOurs = ({ dataTransfer, target }) => (
    dataTransfer.types.includes("Files") && !target.matches?.('input[type="file"]')
  );
  body.addEventListener("dragover", (event) => {
    if (!isOurs(event)) return;
    event.preventDefault();
    if (isAsking()) event.dataTransfer.dropEffect = "none";
    else over(true);
  });
  body.addEventListener("dragleave", (event) => body.contains(event.relatedTarget) || over(false));
  body.addEventListener("drop", (event) => {
    if (!isOurs(event)) return;
    event.preventDefault();
    over(false);
    if (!isAsking()) dropped([...event.dataTransfer.files]);
  });
}

/** Sends videos one at a time and shows the progress in every view. */
export class Uploads {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {File[]} everything added since the queue was last empty */
    this.files = [];
    this.isBusy = false;
    this.words = h("span", { role: "status" });
    this.bar = h("progress", { max: 1 });
    this.progress = h("div", { class: "notice", hidden: true }, this.words, this.bar);
    this.faults = h("div", { role: "alert" });
    this.element = h("div", { class: "uploads" }, this.progress, this.faults);
  }

  /** @param {File[]} files */
  async send(files) {
    this.files.push(...files);
    if (this.isBusy) return;
    this.isBusy = true;
    for (let place = 0; place < this.files.length; place++) await this.#send(place);
    this.files = [];
    this.isBusy = false;
    this.progress.hidden = true;
  }

  async #send(place) {
    const file = this.files[place];
    const show = (share) => {
      const n = this.files.length;
      fill(this.words, `Adding ${file.name}${n > 1 ? ` (${place + 1} of ${n})` : ""}`);
      this.bar.value = share;
    };
    show(0);
    this.bar.setAttribute("aria-label", file.name);
    this.progress.hidden = false;
    await upload("/api/videos", file, show).then(
      (answer) => answer.known && this.#tell(answer.known, false),
      (error) => this.#failed(file, error),
    );
    await this.store.load().catch(() => {});
  }

  /**
   * Stays until it is dismissed: nobody keeps watching while a hundred files are sent. All that
   * failed share one bar, which scrolls: a hundred bars would leave no room for the page.
   */
  #failed(file, error) {
    const { message } = error;
    const told = message.startsWith(file.name) ? message : `${file.name}: ${message}`;
    this.#tell(told, true);
  }

  #tell(told, isFault) {
    const sentence = h("span", { class: isFault ? "fault" : "" }, told);
    if (this.told?.isConnected) {
      this.told.append(sentence);
      return;
    }
    this.told = h("div", { class: "told" }, sentence);
    const dismiss = textButton("Dismiss", () => bar.remove());
    const bar = h("div", { class: "notice" }, this.told, dismiss);
    this.faults.append(bar);
  }
}
