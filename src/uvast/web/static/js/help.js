/** The help card: what to do, and all keys, which can be changed here. */

import { dialog } from "./asking.js";
import { COMMANDS } from "./commands.js";
import { fill, h, textButton } from "./dom.js";
import { bindings, keyName, keyText, rebind, resetKeys } from "./keys.js";

const REMEDY = "Give that one another key first.";

/** @param {{name: string, key: string}[]} classes whose keys are taken */
export function showHelp(classes) {
  const groups = h("div", { class: "key-groups" });
  const update = (fault = null) => {
    const all = bindings(classes);
    const names = [...new Set(COMMANDS.map((one) => one.group))];
    fill(
      groups,
      names.map(
        (name) => h(
          "section",
          {},
          h("h3", {}, name),
          COMMANDS.filter((one) => one.group === name).map((one) => row(one, all[one.id], classes, update)),
        ),
      ),
    );
    fill(problem, fault);
  };
  const problem = h("p", { class: "fault", role: "alert" });
  const box = dialog("Help",
    h(
      "p",
      {},
      "Play the video and press a class's key once in each action; any moment of it will do. ",
      "The lane below shows at once where the actions may begin and end. ",
      "Train learns from the clicks of all videos; ",
      "Review shows you where the model is least sure.",
    ),
    h(
      "p",
      {},
      "Shift and a class's key relabel what is selected. Drag clicks and edges; the wheel zooms, ",
      "Shift and the wheel scroll; a right click relabels, a double click zooms to a segment. ",
      "Striped stretches are unlabelled, which is not the same as background.",
    ),
    problem, groups,
    h(
      "footer",
      {},
      h("span", { class: "hint" }, "Press a key's button, then the new key."),
      textButton("Reset all keys", () => {
        const taken = resetKeys(classes);
        update(taken && `${keyText(taken.key)} is the key of “${taken.name}”. ${REMEDY}`);
      }),
    ),
  );
  box.classList.add("wide", "help");
  update();
}

function row(command, keys, classes, update) {
  const change = textButton(keys.map(keyText).join("  or  ") || "no key", () => {
    change.textContent = "press a key";
    change.focus();
    change.addEventListener("keydown", (event) => {
      const key = keyName(event);
      if (!key) return;
      event.preventDefault();
      event.stopPropagation();
      end.abort();
      const isLeft = key === "Escape" && command.id !== "escape";
      const holder = isLeft ? null : rebind(command.id, key, classes);
      update(holder && `That key belongs to “${holder}”. ${REMEDY}`);
    }, { signal: end.signal });
  }, {
    class: "keycap",
    "aria-label": `Key of: ${command.title}, now ${keys.map(keyText).join(" or ") || "none"}`,
  });
  const end = new AbortController();
  return h("div", { class: "key-row" }, h("span", {}, command.title), change);
}
