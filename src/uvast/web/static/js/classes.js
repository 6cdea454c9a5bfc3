/** The table of classes: add, rename, merge, recolour, key, background, delete. */

import { ask, dialog } from "./asking.js";
import { button, h, icon, renew, textButton } from "./dom.js";
import { field } from "./exchange.js";
import { commandOf } from "./keys.js";

/** @param {import("./store.js").Store} store */
export function editClasses(store) {
  const rows = h("div", { class: "class-table" });
  const name = h(
    "input",
    {
      type: "text",
      placeholder: "New class",
      "aria-label": "Name of the new class",
      maxlength: 200,
    },
  );
  const form = h(
    "form",
    { class: "row" },
    name,
    h("button", { type: "submit", class: "main" }, "Add"),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (name.value.trim() && (await store.changeClasses({ do: "add", name: name.value.trim() }))) {
      name.value = "";
    }
    name.focus();
  });
  const update = () => {
    const { classes } = store;
    renew(rows, classes, () => classes.map((one) => row(store, one)));
  };
  const box = dialog(
    "Classes",
    form,
    rows,
    h(
      "p",
      { class: "hint" },
      "The letter or digit is the key of the class. ",
      "Renaming and merging change all videos; undo reverses both. ",
      "Background is what happens between actions; it is left out of scores.",
    ),
  );
  box.addEventListener("close", store.on("project", update));
  box.classList.add("wide");
  update();
  name.focus();
}

function row(store, one) {
  const change = (what, more) => store.changeClasses({ do: what, name: one.name, ...more });
  const colour = h(
    "input",
    { type: "color", value: one.colour, "aria-label": `Colour of ${one.name}` },
  );
  colour.addEventListener("change", () => change("recolour", { to: colour.value }));
  const key = h(
    "input",
    {
      class: "key",
      type: "text",
      maxlength: 1,
      value: one.key,
      "aria-label": `Key of ${one.name}`,
    },
  );
  key.addEventListener("focus", () => key.select());
  key.addEventListener("change", () => setKey(store, one, key, change));
  const background = h(
    "input",
    { type: "checkbox", checked: one.background, "aria-label": `${one.name} is background` },
  );
  background.addEventListener("change", () => change("background", { value: background.checked }));
  const remove = button(`Delete ${one.name}`, () => removeClass(store, one, change), icon("bin"));
  remove.classList.add("quiet");
  return h(
    "div",
    { class: "class-row" },
    colour,
    h("span", { class: "name" }, one.name),
    key,
    h("label", { class: "check" }, background, "background"),
    textButton(
      "Rename",
      () => renameClass(one, change),
      { "aria-label": `Rename ${one.name}` },
    ),
    textButton(
      "Merge",
      () => mergeClass(store, one, change),
      { "aria-label": `Merge ${one.name}`, disabled: store.classes.length < 2 },
    ),
    remove,
  );
}

async function setKey(store, one, input, change) {
  const key = input.value.toLowerCase();
  const command = key && commandOf(key, store.classes);
  if (command) {
    const sentence = `The key ${key} belongs to “${command.title}”: choose another.`;
    store.tell("problem", { sentence });
    input.value = one.key;
  } else if (!(await change("key", { to: key }))) input.value = one.key;
}

async function renameClass(one, change) {
  const to = await ask(
    `Rename ${one.name}`,
    { value: one.name, label: "New name", okay: "Rename" },
  );
  if (to !== null && to.trim() && to.trim() !== one.name) change("rename", { to: to.trim() });
}

function mergeClass(store, one, change) {
  const choice = h(
    "select",
    { "aria-label": "Class that stays" },
    store.classes.filter((other) => other.name !== one.name).map(
      (other) => h("option", { value: other.name }, other.name),
    ),
  );
  const merge = textButton(
    "Merge",
    () => (change("merge", { to: choice.value }), box.close()),
    { class: "main" },
  );
  const box = dialog(
    `Merge ${one.name}`,
    field(`Change every ${one.name} to`, choice),
    h("footer", {}, merge),
  );
}

/** Does not ask first: the server refuses if the class has events, and undo brings it back. */
async function removeClass(store, one, change) {
  const isGone = await change("delete", {});
  if (isGone) store.tell("note", `Deleted ${one.name}; undo brings it back.`);
}
