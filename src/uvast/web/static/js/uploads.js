/** Files on their way to the server. */

import { upload } from "./api.js";
import { fill, h } from "./dom.js";

/** @param {string} accept @param {(files: File[]) => void} chosen */
export function chooseFiles(accept, chosen) {
  const input = h("input", { type: "file", multiple: true, accept });
  input.addEventListener("change", () => chosen([...input.files]));
  input.click();
}

/**
 * Files may be dropped here.
 * @param {HTMLElement} element
 * @param {(files: File[]) => void} dropped
 */
export function dropTarget(element, dropped) {
  const over = (on) => element.classList.toggle("drop", on);
  element.addEventListener("dragover", (event) => (event.preventDefault(), over(true)));
  element.addEventListener(
    "dragleave",
    (event) => element.contains(event.relatedTarget) || over(false),
  );
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    over(false);
    dropped([...event.dataTransfer.files]);
  });
}

/** Videos, one after the other, with their progress. */
export class Uploads {
  /** @param {import("./store.js").Store} store @param {import("./notices.js").Notices} notices */
  constructor(store, notices) {
    Object.assign(this, { store, notices });
    this.element = h("div", { class: "uploads", role: "status" });
  }

  /** @param {File[]} files */
  async send(files) {
    for (const [place, file] of files.entries()) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": file.name });
      const which = files.length > 1 ? ` (${place + 1} of ${files.length})` : "";
      fill(this.element, h("span", {}, `Adding ${file.name}${which}`), bar);
      try {
        await upload("/api/videos", file, (share) => (bar.value = share));
      } catch (error) {
        this.notices.note(`${file.name}: ${error.message}`, "bad");
      }
      await this.store.load().catch(() => {});
    }
    fill(this.element);
  }
}
