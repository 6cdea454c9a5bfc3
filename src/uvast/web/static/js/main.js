/** The page: picks the view by the address, turns keys into commands, holds the top bar. */

import { AnnotateView } from "./annotate.js";
import { ask, closeMenu } from "./asking.js";
import { button, fill, h, icon, sorry, textButton } from "./dom.js";
import { annotateAddress } from "./guide.js";
import { showHelp } from "./help.js";
import { JobsView } from "./jobs.js";
import { commandOf, isWriting, keyName, keyText, shiftedKey } from "./keys.js";
import { Notices } from "./notices.js";
import { ReviewView } from "./review.js";
import { Store } from "./store.js";
import { applyTheme, turnTheme } from "./theme.js";
import { dropTarget } from "./uploads.js";
import { VideosView } from "./videos.js";

const VIEWS = { videos: VideosView, annotate: AnnotateView, jobs: JobsView, review: ReviewView };
const SECONDS_TO_RETRY = 3;
const TITLES = { videos: "Videos", annotate: "Annotate", jobs: "Train", review: "Review" };

class Page {
  constructor() {
    this.store = new Store();
    this.notices = new Notices(this.store);
    this.badge = h("span", { class: "badge", hidden: true });
    this.links = Object.entries(TITLES).map(([view, title]) => (
      h("a", { "data-view": view, hidden: true }, title, view === "jobs" ? this.badge : null)
    ));
    this.nav = h("nav", { "aria-label": "Views" }, this.links);
    this.project = h("span", { class: "project" });
    this.author = textButton(
      "",
      () => this.#askAuthor(),
      { class: "quiet author", title: "Your name is saved with each of your changes" },
    );
    this.main = h("main", { tabindex: "-1" });
    this.store.present = () => this.view?.workspace?.name;
    const turn = button("Light or dark", () => this.#turn(), icon("theme"));
    const help = button("Help and keys (?)", () => this.#help(), icon("help"));
    [turn, help].forEach((one) => one.classList.add("quiet"));
    const top = h(
      "header",
      { class: "top" },
      h("a", { class: "brand", href: "#/videos" }, "uvast"),
      this.project,
      this.nav,
      this.notices.saved,
      this.author,
      turn,
      help,
    );
    document.body.append(top, this.notices.element, this.main);
    dropTarget((files) => this.store.uploads.send(files));
    this.view = null;
  }

  async begin() {
    await this.store.listen();
    while (!(await this.#load())) {
      await new Promise((go) => setTimeout(go, SECONDS_TO_RETRY * 1000));
    }
    this.store.on("project", () => this.#head());
    this.#head();
    window.addEventListener("hashchange", () => this.#route());
    window.addEventListener("keydown", (event) => this.#key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener(
      "change",
      () => this.view?.recolour?.(),
    );
    this.#route();
  }

  /** @returns {Promise<boolean>} whether the project has loaded */
  async #load() {
    try {
      await this.store.load();
      return true;
    } catch (error) {
      fill(this.main, sorry("The project cannot be shown", error.message));
      return false;
    }
  }

  #head() {
    const { project, author } = this.store;
    this.project.textContent = project.name;
    this.project.title = project.path;
    this.author.textContent = author || "Your name";
    const [present, name] = this.#address();
    const last = present === "annotate"
      ? name
      : this.last ?? project.next?.video ?? project.videos[0]?.name;
    const running = project.jobs.filter(
      (one) => one.state === "running" || one.state === "queued",
    ).length;
    this.badge.textContent = String(running);
    this.badge.hidden = !running;
    for (const link of this.links) { // changed in place: somebody may be pressing one
      const { view } = link.dataset;
      link.href = view === "annotate" && last ? annotateAddress(last) : `#/${view}`;
      link.hidden = view === "annotate" && !last;
      if (view === present) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${TITLES[present]}${name ? `: ${name}` : ""} – ${project.name}`;
  }

  /** The view and what it shows. */
  #address() {
    const [view, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
    return VIEWS[view] && (view !== "annotate" || rest[0]) ? [view, ...rest] : ["videos"];
  }

  async #route() {
    const [view, ...path] = this.#address();
    this.view?.close?.();
    closeMenu();
    for (const box of document.querySelectorAll("dialog")) box.close();
    if (view === "annotate") this.last = path[0];
    this.view = new VIEWS[view](this.store, path, this.notices);
    fill(this.main, this.view.element);
    // from here on, Enter and Space belong to the view
    if (this.nav.contains(document.activeElement)) this.main.focus({ preventScroll: true });
    this.#head();
    await this.view.mount?.();
  }

  async #askAuthor() {
    const name = await ask(
      "Your name",
      { value: this.store.author, label: "It is saved with each of your changes", okay: "Save" },
    );
    if (name !== null) this.store.author = name.trim();
  }

  #help() {
    showHelp(this.store.classes);
  }

  #turn() {
    this.notices.note(`Colours: ${turnTheme()}`, "short");
    this.view?.recolour?.();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (isWriting(event)) return;
    const name = keyName(event);
    const command = commandOf(name, this.store.classes);
    if (command?.id === "accept" && event.repeat) return; // each one needs a look
    const done = command ? this.#command(command.id) : this.#classKey(event, name);
    if (done) event.preventDefault();
  }

  #command(id) {
    if (id === "help") this.#help();
    else if (id === "undo" || id === "redo") this.store.turn(id);
    else return Boolean(this.view?.command?.(id));
    return true;
  }

  #classKey(event, name) {
    if (event.repeat || !this.view?.classKey) return false;
    const of = (key) => key
      && this.store.classes.find((one) => one.key.toLowerCase() === key);
    const [plain, shifted] = [of(name), of(shiftedKey(event))];
    if (!plain && !shifted) return this.#noClass(name);
    this.view.classKey((plain || shifted).name, !plain);
    return true;
  }

  /** Says why nothing happens: a new project has no classes yet, and a key is easily missed. */
  #noClass(key) {
    if (/^[a-z0-9]$/.test(key)) this.notices.note(`No class has the key ${keyText(key)}.`, "short");
    return false;
  }
}

/** A part of the address as people read it; typed by hand, it may have a bare `%`. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

applyTheme();
new Page().begin();
