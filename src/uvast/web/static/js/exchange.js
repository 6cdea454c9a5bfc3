/** Imports and exports labels of other tools. */

import { get, LONG, post, upload } from "./api.js";
import { dialog } from "./asking.js";
import { fill, h, textButton } from "./dom.js";
import { count } from "./times.js";

/** @param {import("./store.js").Store} store @param {import("./notices.js").Notices} notices */
export async function importLabels(store, notices) {
  const formats = await get("/api/formats").catch(() => []);
  const file = h("input", { type: "file", "aria-label": "Annotation file" });
  const format = select(
    "Format",
    [["", "Detect automatically"], ...formats.map((one) => [one.name, one.title])],
  );
  const video = select(
    "Video",
    [["", "As the file says"], ...store.project.videos.map((one) => [one.name, one.name])],
  );
  const overlaps = select(
    "Overlaps",
    [
      ["error", "Refuse the file"],
      ["first", "Keep the first"],
      ["last", "Keep the last"],
      ["longest", "Keep the longest"],
    ],
  );
  const existing = select(
    "Existing labels",
    [["refuse", "Refuse the file"], ["add", "Keep both"], ["replace", "Replace them"]],
  );
  const rate = h(
    "input",
    { type: "text", placeholder: "as the video says", "aria-label": "Frames per second" },
  );
  const fault = h("p", { class: "fault", role: "alert" });
  const send = async () => {
    if (!file.files.length) return fill(fault, "Choose a file first.");
    const query = new URLSearchParams({
      author: store.author,
      overlaps: overlaps.value,
      existing: existing.value,
    });
    for (const [name, field] of Object.entries({ format, video, rate })) {
      if (field.value) query.set(name, field.value);
    }
    try {
      const answer = await upload(`/api/import?${query}`, file.files[0]);
      notices.note(
        [
          `Imported ${count(answer.videos.length, "video")}; undo takes it back.`,
          ...sentences(answer.notes),
        ].join(" "),
      );
      await store.load();
      box.close();
    } catch (error) {
      fill(fault, error.message);
    }
  };
  const box = dialog(
    "Import labels",
    field("File", file),
    field("Format", format),
    field("Video", video),
    field("Overlapping labels", overlaps),
    field("Existing labels", existing),
    field("Frames per second", rate),
    fault,
    h("footer", {}, textButton("Import", send, { class: "main" })),
  );
}

/** @param {import("./store.js").Store} store @param {import("./notices.js").Notices} notices */
export async function exportLabels(store, notices) {
  const formats = (await get("/api/formats").catch(() => [])).filter((one) => one.writes);
  const format = select("Format", formats.map((one) => [one.name, one.title]));
  const what = select(
    "What",
    [["labels", "What people said"], ["predictions", "What the model says"]],
  );
  const fault = h("p", { class: "fault", role: "alert" });
  const send = async () => {
    try {
      const wanted = { format: format.value, what: what.value };
      const answer = await post("/api/export", wanted, LONG);
      h("a", { href: answer.address, download: answer.name }).click();
      if (answer.notes?.length) notices.note(sentences(answer.notes).join(" "));
      box.close();
    } catch (error) {
      fill(fault, error.message);
    }
  };
  const box = dialog(
    "Export",
    field("Format", format),
    field("What", what),
    fault,
    h("footer", {}, textButton("Download", send, { class: "main" })),
  );
}

/** What got lost on the way, each ended by a full stop. @param {string[]} [notes] */
function sentences(notes = []) {
  return notes.map((one) => (/[.?!]$/.test(one) ? one : `${one}.`));
}

/** @param {string} label @param {[string, string][]} options */
export function select(label, options) {
  return h(
    "select",
    { "aria-label": label },
    options.map(([value, text]) => h("option", { value }, text)),
  );
}

/** @param {string} label @param {HTMLElement} input */
export function field(label, input) {
  return h("label", { class: "field" }, h("span", {}, label), input);
}
