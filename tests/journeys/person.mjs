/** Person at a browser, run by Node: does what a person does, and counts each action. */
import assert from "node:assert/strict";
import process from "node:process";
import { input, openBrowser } from "../browser/open_browser.mjs";

const WAIT = { timeout: 20_000 };

/** What a person does in one tab. Opening an address, a click, a filled field and a key are one action each; looking is none. */
class Person {
  #page;
  actions = 0;

  constructor(page) {
    this.#page = page;
  }

  async opens(address) {
    this.actions++;
    await this.#page.goto(address);
  }

  async clicks(role, name, options = {}) {
    this.actions++;
    const { within = this.#page, ...more } = options;
    await within.getByRole(role, { name, ...more }).filter({ visible: true }).first().click(WAIT);
  }

  async fills(label, text) {
    this.actions++;
    await this.#page.getByLabel(label).filter({ visible: true }).first().fill(text, WAIT);
  }

  async selects(label, option) {
    this.actions++;
    await this.#page.getByLabel(label).filter({ visible: true }).first().selectOption(option, WAIT);
  }

  async presses(key) {
    this.actions++;
    await this.#page.keyboard.press(key);
  }

  /** Waits for words that are on the screen without scrolling sideways. Returns their place. */
  async sees(words) {
    const place = this.#page.getByText(words).filter({ visible: true }).first();
    await place.waitFor(WAIT);
    return place;
  }

  /** The same within the part that holds other words, such as the row of a job. */
  async seesBeside(part, words) {
    const place = this.#page.locator(part).filter({ hasText: words }).filter({ visible: true });
    await place.first().waitFor(WAIT);
    return place.first();
  }

  async isGone(words) {
    await this.#page.getByText(words).filter({ visible: true }).first()
      .waitFor({ ...WAIT, state: "detached" });
  }

  /** Whether nothing has to be moved sideways to be read. */
  async readsAllOfTheWidth() {
    const { wide, screen } = await this.#page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      screen: document.documentElement.clientWidth,
    }));
    assert.ok(wide <= screen, `the page is ${wide} wide on a screen of ${screen}`);
  }

  get page() {
    return this.#page;
  }
}

const journeys = {
  /** From the printed address to a job that trains: its state, its progress, its curves. */
  async first_look(person) {
    const { job } = input;
    await person.opens(input.address);
    await person.seesBeside("tr", new RegExp(`Running.*${job}.*loss`, "s"));
    await person.clicks("link", new RegExp(`^${job}$`));
    await person.page.locator(".chart canvas").first().waitFor(WAIT);
  },

  /** The headline is in the list; the job's page has it whole. */
  async why_failed(person) {
    await person.opens(input.address);
    await person.seesBeside("tr", /Failed.*crashes.*No module named 'tochr'/s);
    await person.clicks("link", /^crashes$/);
    await person.sees(/node-0 exited 1: ModuleNotFoundError: No module named 'tochr'/);
  },

  async why_waits(person) {
    await person.opens(input.address);
    await person.clicks("link", /^wants-gpu$/);
    await person.sees(/waits for 64 nvidia\.com\/gpu; this machine has \d+/i);
  },

  /** Four runs of the same program: ordered by their loss in the list, then their curves together. */
  async which_is_best(person) {
    await person.opens(input.address);
    await person.fills(/^Search/, "lr-");
    await person.sees(/1–3 of 3/);
    await person.selects(/sort by/, "val/loss");
    await person.seesBeside("tr", /lr-best.*val\/loss.*0\.2/s);
    await person.page.waitForFunction(() =>
      document.querySelector(".jobs td.name a")?.textContent === "lr-best"
    );
  },

  /** With what a job was started. */
  async configuration(person) {
    await person.opens(input.address);
    await person.clicks("link", /^lr-best$/);
    await person.clicks("link", /^Configuration$/);
    await person.seesBeside(".facts", /Runtime.*person.*Command.*python3 -c .*range\(10\)/s);
  },

  /** Until the restart is over, and the job may be restarted again. */
  async restart(person) {
    await person.opens(input.address);
    await person.clicks("link", new RegExp(`^${input.job}$`));
    await person.clicks("button", /^Restart…$/);
    await person.clicks("button", /^Restart$/);
    await person.sees(/restart 1: RestartedByUser: by hand/);
    await person.isGone(/restarting for/);
    await person.sees(/^Restart…$/);
  },

  async stop(person) {
    await person.opens(input.address);
    await person.clicks("link", /^to-be-stopped$/);
    await person.clicks("button", /^Stop…$/);
    await person.clicks("button", /^Stop$/);
    await person.sees(/Stopping: .* save their work/);
  },

  /** The last lines of a job whose pod has ended. */
  async last_words(person) {
    await person.opens(input.address);
    await person.clicks("link", /^crashes$/);
    await person.clicks("link", /^Logs$/);
    await person.sees(/about to import what is not there/);
  },

  /** What a job of the former process showed: its state, its curves, why it failed, its log. */
  async after_restart(person) {
    await person.opens(input.address);
    await person.seesBeside("tr", /Failed.*crashes.*No module named 'tochr'/s);
    await person.clicks("link", /^lr-best$/);
    await person.page.locator(".chart canvas").first().waitFor(WAIT);
  },

  async phone(person) {
    await person.page.setViewportSize({ width: 360, height: 740 });
    await person.opens(input.address);
    await person.clicks("link", /^crashes$/);
    await person.sees(/ModuleNotFoundError: No module named 'tochr'/);
    await person.readsAllOfTheWidth();
  },
};

const browser = await openBrowser();
const context = await browser.newContext();

/** Makes one journey in a tab of its own. Returns how it went. */
async function walk(name) {
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error.stack)));
  const person = new Person(page);
  try {
    await journeys[name](person);
  } catch (error) {
    const text = await page.locator("body").innerText().catch(() => "");
    problems.push(`${error.stack}\nThe page reads:\n${text}`);
  }
  await page.close();
  return { name, actions: person.actions, problems };
}

try {
  const walked = [];
  for (const name of input.names) walked.push(await walk(name));
  process.stdout.write(JSON.stringify(walked));
} finally {
  await browser.close();
}
