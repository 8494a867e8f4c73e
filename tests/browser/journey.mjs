/** Journeys through the page in a real browser, run by Node. Exits with 0 if the journey came to its end. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { input, openBrowser, require } from "./open_browser.mjs";

const { name, address } = input;
const { origin } = new URL(address);
const JOB = "#/job/trainjobs.trainer.kubeflow.org/team-a/resnet50-0";
const SEARCH = "#/search/experiments.kubeflow.org/team-a";
const WAIT = { timeout: 30_000 };

const browser = await openBrowser();
const problems = [];

/** Opens a tab, and collects what goes wrong in it. */
async function tab(options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(String(error.stack)));
  page.on("dialog", (dialog) => {
    problems.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.setDefaultTimeout(WAIT.timeout);
  return page;
}

/** Sets what the fake server does; returns what it saw. */
async function control(change = {}) {
  const response = await fetch(`${origin}/control?${new URLSearchParams(change)}`);
  return await response.json();
}

/** Waits until something is there. */
async function until(look) {
  const endMs = Date.now() + WAIT.timeout;
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < endMs, "that did not come in time");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Shows a view of an open tab. */
async function go(page, fragment) {
  await page.evaluate((it) => {
    location.hash = it;
  }, fragment);
}

/** Waits for a text of the page. */
const see = (page, words) => page.getByText(words).filter({ visible: true }).first().waitFor(WAIT);

async function openJobs(options) {
  const page = await tab(options);
  await page.goto(address);
  await page.locator(".jobs tbody tr").nth(4).waitFor(WAIT);
  return page;
}

const journeys = {
  /** The list: rows, window, changes, filters, order, and a reload that keeps the session. */
  async list() {
    const page = await openJobs();
    assert.equal(await page.evaluate(() => location.hash), "#/jobs");
    await see(page, "1–50 of 10,000");
    assert.equal(await page.locator(".jobs tbody tr").count(), 50);
    const first = page.locator(".jobs tbody tr").first();
    await first.locator(".spark path").first().waitFor({ ...WAIT, state: "attached" });
    const before = await first.locator(".progress .number").textContent();
    await page.waitForFunction(
      (it) => document.querySelector(".jobs .progress .number")?.textContent !== it,
      before,
    );
    await page.getByRole("button", { name: "Next" }).click();
    await see(page, "51–100 of 10,000");
    await page.goBack();
    await see(page, "1–50 of 10,000");
    await page.getByRole("searchbox").fill("softmax-3");
    await page.waitForFunction(() => {
      const names = [...document.querySelectorAll(".jobs td.name a")].map((it) => it.textContent);
      return names.length > 0 && names.every((it) => it?.includes("softmax-3"));
    });
    assert.equal(await page.evaluate(() => location.hash), "#/jobs?text=softmax-3");
    await page.getByRole("button", { name: "Progress" }).click();
    await page.locator('th[aria-sort="descending"]').waitFor(WAIT);
    await page.getByRole("button", { name: /^Failed/ }).click();
    await see(page, "No jobs match these filters");
    await page.reload();
    await see(page, "No jobs match these filters");
    assert.equal(
      await page.evaluate(() => location.hash),
      "#/jobs?state=Failed&text=softmax-3&sort=progress&order=descending",
    );
  },

  /** Several jobs that have ended, selected and deleted; one that may not be stays. */
  async ended() {
    const page = await openJobs();
    await page.getByRole("button", { name: /^Failed/ }).click();
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".jobs .state .word")].every((it) =>
        it.textContent === "Failed"
      )
    );
    const boxes = page.locator("tbody .pick input");
    const all = await boxes.count();
    assert.ok(all > 2);
    await page.getByLabel("Select all rows").check();
    await page.getByRole("button", { name: `Delete ${all} ended…` }).click();
    await see(page, `Delete ${all} jobs?`);
    await page.keyboard.press("Escape");
    await page.getByLabel("Select research/llama-lora-20").uncheck();
    await boxes.first().uncheck();
    await page.getByRole("button", { name: `Delete ${all - 2} ended…` }).click();
    await control({ refused: "it is needed" });
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await see(page, "it is needed");
    await control({ refused: "" });
    const before = (await control()).changes.length;
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.locator("dialog").waitFor({ ...WAIT, state: "detached" });
    await page.waitForFunction(() => document.querySelectorAll("tbody .pick input").length === 2);
    const changes = (await control()).changes.slice(before);
    assert.equal(changes.length, all - 2);
    for (const { path, body } of changes) {
      assert.match(path, /^\/delete\/[^/]+\/[^/]+\/[^/]+$/);
      assert.match(body.uid, /^uid-\d+$/);
    }
    assert.equal(await page.getByText(/\d+ selected/).count(), 0);
    assert.ok(!(await page.evaluate(() => location.hash)).includes("pick="));
    const crashing = "#/job/pytorchjobs.kubeflow.org/team-a/softmax-3";
    await go(page, `${crashing}?tab=logs`);
    await see(page, "The container exited (code 1) and will restart");
    const gone = "#/job/trainjobs.trainer.kubeflow.org/research/llama-lora-20";
    for (const tab of ["pods", "logs"]) {
      await go(page, `${gone}?tab=${tab}`);
      await see(
        page,
        /^Its pods are deleted, and their logs with them\. Last error: node-0 /,
      );
    }
    // What trains is compared, and not deleted.
    await go(page, "#/jobs?state=Running");
    await boxes.first().check();
    await see(page, "1 selected");
    assert.equal(await page.getByRole("button", { name: /ended…$/ }).count(), 0);
    await control({ rights: "look" });
    await go(page, "#/jobs?state=Failed");
    await page.getByLabel("Select all rows").check();
    await see(page, "2 selected");
    await page.getByRole("button", { name: /ended…$/ }).waitFor({ ...WAIT, state: "detached" });
  },

  /** Names, values, messages, marks, logs, events and objects that want to be more than text. */
  async hostile() {
    const page = await openJobs();
    const job = "#/job/trainjobs.trainer.kubeflow.org/team-a/hostile";
    await see(page, "<script>globalThis.hostile=1<script>");
    await go(page, job);
    await page.locator(".chart").nth(5).waitFor(WAIT);
    for (const part of ["conditions", "pods", "events", "logs", "object"]) {
      await go(page, `${job}?tab=${part}`);
      await see(page, "<img src=x onerror=");
    }
    await see(page, /Stopping:.*<script>globalThis.hostile=1/);
    await control({ refused: "<img src=x onerror=globalThis.hostile=1> is forbidden" });
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await see(page, "<img src=x onerror=globalThis.hostile=1> is forbidden");
    await control({ away: "</p><script>globalThis.hostile=1</script>" });
    await see(page, "</p><script>globalThis.hostile=1</script>");
    await control({ outage: '"><svg onload=globalThis.hostile=1>' });
    await page.keyboard.press("Escape");
    await go(page, job);
    await see(page, '"><svg onload=globalThis.hostile=1>');
    for (const view of ["#/searches", `${SEARCH}/hostile`]) {
      await go(page, view);
      await page.locator("#content table").waitFor(WAIT);
      await see(page, view === "#/searches" ? "hostile" : "<img src=x onerror=");
    }
    assert.deepEqual(
      await page.evaluate(() => ({
        hostile: globalThis.hostile,
        scripts: document.scripts.length,
        foreign:
          document.querySelectorAll("iframe, img, object, embed, [onload], [onerror]").length,
      })),
      { hostile: undefined, scripts: 1, foreign: 0 },
    );
    assert.deepEqual((await control()).reports, []);
  },

  /** A log that is followed, breaks off, is read on, and goes unheard while nobody looks. */
  async logs() {
    const page = await openJobs();
    await go(page, `${JOB}?tab=logs`);
    const epochs = () =>
      page.evaluate(() =>
        [
          ...document.querySelector(".log")?.textContent?.matchAll(
            /epoch (\d+) loss=\d\.\d{4}$/gm,
          ) ??
            [],
        ].map(([, epoch]) => Number(epoch))
      );
    const until = async (most) => {
      await page.waitForFunction(
        (it) => document.querySelector(".log")?.textContent?.includes(`epoch ${it} loss`),
        most,
      );
    };
    await see(page, "Following");
    await until(70);
    for (let count = 0; count < 3; count++) {
      await control({ logs: "break" });
      await until((await epochs()).at(-1) + 15);
    }
    const seen = await epochs();
    assert.deepEqual(seen, seen.map((_, index) => index));
    assert.equal(await page.getByText("lines may be missing").count(), 0);
    await page.getByLabel("Pod").selectOption("resnet50-0-node-0-1");
    await page.getByRole("button", { name: "Before its restart" }).click();
    await see(page, "this was the run before");
    await see(page, "The log has ended");
    assert.match(await page.evaluate(() => location.hash), /pod=resnet50-0-node-0-1&run=previous$/);

    await page.getByLabel("Pod").selectOption("all, together");
    await page.waitForFunction(() => {
      const lines = document.querySelector(".log")?.textContent?.split("\n") ?? [];
      const epochs = lines.map((it) => /^\[([01])\] epoch (\d+) loss/.exec(it));
      const [ranks, all] = [
        new Set(epochs.map((it) => it?.[1])),
        epochs.map((it) => Number(it?.[2])),
      ];
      return ranks.size === 2 && all.length > 180 &&
        all.every((it, at) => it >= (all[at - 1] ?? 0));
    });
    await page.getByLabel("Search").fill("EPOCH 3");
    await page.waitForFunction(() =>
      document.querySelector(".log")?.textContent?.split("\n").every((it) =>
        it.includes("epoch 3")
      ) &&
      document.querySelectorAll(".log mark").length > 10
    );
    await page.getByRole("button", { name: "Wrap lines" }).click();
    assert.equal(
      await page.locator(".log").evaluate((it) => getComputedStyle(it).whiteSpaceCollapse),
      "preserve",
    );
    assert.equal(
      await page.locator(".log").evaluate((it) => getComputedStyle(it).textWrap),
      "nowrap",
    );
    assert.match(
      await page.evaluate(() => location.hash),
      /pod=\*&find=EPOCH\+3&wrap=no$/,
    );
    await page.getByLabel("Search").fill("no such words");
    await see(page, "(no line matches)");
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), "resnet50-0.log");
    const saved = (await readFile(await download.path(), "utf8")).trimEnd().split("\n");
    assert.deepEqual(
      saved.filter((it) => it.startsWith("==>")),
      ["==> resnet50-0-node-0-0 <==", "==> resnet50-0-node-0-1 <=="],
    );
    assert.match(saved[1], /epoch 0.* loss=2\.0000$/);
    await control({ away: "no API server" });
    const rest = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    await rest;
    await see(page, "Downloaded what is shown");
    await control({ away: "" });
  },

  /** A range of time: drawn, changed by keys, in the address, with the points of the log, and left again. */
  async zoom() {
    const page = await openJobs();
    await go(page, JOB);
    const plot = page.locator(".chart .plot").first();
    await plot.locator("canvas").waitFor(WAIT);
    const shown = async () => {
      const { searchParams } = new URL(
        await page.evaluate(() => location.hash.slice(1)),
        "http://page",
      );
      return [Number(searchParams.get("from")), Number(searchParams.get("to"))];
    };
    const isAll = async () => !(await page.evaluate(() => location.hash)).includes("from=");
    /** Waits until the address has another range, and returns it. */
    const after = async (before, act) => {
      await act();
      await page.waitForFunction(
        (it) => !location.hash.includes(`from=${it[0]}&to=${it[1]}`),
        before,
      );
      return await shown();
    };
    assert.ok(await isAll());
    const box = await plot.locator(".u-over").boundingBox();
    const drawn = await after([], async () => {
      await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.1, box.y + 60, { steps: 5 });
      await page.mouse.up();
      await page.waitForFunction(() => location.hash.includes("from="));
    });
    assert.ok(drawn[1] > drawn[0], String(drawn));
    await see(page, "From the log, which has not all of this range.");
    await see(page, "As kept: 128 buckets over the whole time.");
    await see(page, /^Shown: /);
    // The pointer stays where it was, and what is said of that place is what a pointer that comes there is told.
    const said = () => page.locator(".chart figcaption, .chart .legend").allInnerTexts();
    const stayed = await said();
    for (const to of [0.6, 0.1]) await page.mouse.move(box.x + box.width * to, box.y + 60);
    assert.deepEqual(stayed, await said());

    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const table = await saving;
    assert.equal(table.suggestedFilename(), "resnet50-0.csv");
    const [header, ...rows] = (await readFile(await table.path(), "utf8")).trimEnd().split("\r\n");
    assert.equal(header, "job,metric,time,step,last,min,max");
    const ofLoss = rows.filter((it) => it.startsWith("resnet50-0,loss,"));
    assert.ok(ofLoss.length > 100, `${ofLoss.length} rows`);
    const times = ofLoss.map((it) => Date.parse(it.split(",")[2]));
    assert.ok(Math.min(...times) >= drawn[0] && Math.max(...times) <= drawn[1]);
    await page.mouse.move(box.x + box.width * 0.1, box.y + 60);

    await plot.focus();
    let range = drawn;
    for (let count = 0; count < 3; count++) range = await after(range, () => plot.press("+"));
    assert.ok(range[1] - range[0] < (drawn[1] - drawn[0]) / 7);
    await see(page, /^From the log\.$/);
    // The values between whole numbers of the fake's log are those of no kept bucket.
    const values = () =>
      page.evaluate(() => document.querySelector(".chart .legend .number")?.textContent ?? "");
    const seen = new Set();
    for (let count = 0; count < 12; count++) {
      await plot.press("ArrowLeft");
      seen.add(await values());
    }
    assert.ok([...seen].some((it) => /^[0-6]$|^77$/.test(it)), [...seen].join(" "));
    const back = await shown();
    const left = await after(back, () => plot.press("Shift+ArrowLeft"));
    assert.ok(left[0] < back[0]);
    assert.ok(Math.abs(left[1] - left[0] - (back[1] - back[0])) <= 2);
    const wider = await after(left, () => plot.press("-"));
    assert.ok(wider[1] - wider[0] > left[1] - left[0]);

    // A link has the range; news of the job go on beside it.
    await page.reload();
    await see(page, /^Shown: /);
    assert.deepEqual(await shown(), wider);
    await plot.focus();
    await plot.press("0");
    await page.waitForFunction(() => !location.hash.includes("from="));
    await page.getByText(/^Shown: /).waitFor({ ...WAIT, state: "detached" });
    assert.equal(await page.getByText("As kept").count(), 0);
    await page.goBack();
    await see(page, /^Shown: /);
    await page.getByRole("button", { name: /^Show all/ }).click();
    await page.waitForFunction(() => !location.hash.includes("from="));
  },

  /** From the address to a stopped job without a pointer. */
  async keyboard() {
    const page = await openJobs();
    const focused = () =>
      page.evaluate(() => {
        const it = document.activeElement;
        return it?.getAttribute("aria-label") ?? it?.textContent?.trim() ?? "";
      });
    /** Presses Tab until something of that name has the focus. */
    const reach = async (wanted) => {
      for (let count = 0; count < 60; count++) {
        await page.keyboard.press("Tab");
        if (wanted.test(await focused())) return;
      }
      assert.fail(`${wanted} cannot be reached; the focus is on ${await focused()}`);
    };
    // A letter that comes while the page takes those before it is not lost.
    await page.evaluate(() => {
      const [field, replace] = [document.querySelector("input[type=search]"), history.replaceState];
      history.replaceState = (...given) => {
        history.replaceState = replace;
        history.replaceState(...given);
        field.value = "resnet50-0";
        field.dispatchEvent(new Event("input", { bubbles: true }));
      };
    });
    await page.keyboard.press("/");
    await page.keyboard.insertText("resnet50-");
    await see(page, "1–1 of 1");
    await reach(/^resnet50-0$/);
    await page.keyboard.press("Enter");
    await page.locator(".chart").first().waitFor(WAIT);
    await page.keyboard.press("Tab");
    await reach(/^Stop/);
    await page.keyboard.press("Enter");
    await see(page, "Stop the job early?");
    await reach(/^Stop$/);
    await page.keyboard.press("Enter");
    await see(page, "left to save their work");
    await see(page, /stopping, \d+ s left/);
    const { changes } = await control();
    assert.deepEqual(changes, [{
      path: "/stop/trainjobs.trainer.kubeflow.org/team-a/resnet50-0",
      body: { uid: "uid-of-resnet50-0", reason: "StoppedByUser" },
    }]);
    await page.keyboard.press("Tab");
    await reach(/^Delete/);
    await page.keyboard.press("Enter");
    await see(page, "Delete the job?");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ ...WAIT, state: "detached" });
    assert.equal((await control()).changes.length, 1);
    await go(page, "#/jobs?text=resnet50-0");
    await see(page, /stopping, \d+ s left/);
  },

  /** Menus and dialogs: they close on Escape, on a press elsewhere and on another page, and give the focus back. */
  async menus() {
    const page = await openJobs();
    await go(page, JOB);
    await page.locator(".chart").nth(2).waitFor(WAIT);
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    const closed = (menu) =>
      page.waitForFunction(
        (name) =>
          ![...document.querySelectorAll("details.menu")].some((it) =>
            it.open && it.textContent?.includes(name)
          ),
        menu,
      );
    for (const menu of ["Metrics", "Compare"]) {
      const button = page.locator("summary", { hasText: menu });
      const field = page.locator("details.menu[open] input").first();
      await button.click();
      await field.focus();
      await page.keyboard.press("Escape");
      await closed(menu);
      assert.equal(await focused(), menu);
      await button.click();
      await field.click();
      assert.equal(await page.locator("details.menu[open]").count(), 1);
      await page.locator(".chart h2").first().click();
      await closed(menu);
      await button.click();
      await field.focus();
      await go(page, `${JOB}?tab=curves&scale=log`);
      await closed(menu);
      await page.goBack();
    }
    const open = page.getByRole("button", { name: "Delete…" });
    const dialog = page.locator("dialog");
    const leaving = {
      escape: () => page.keyboard.press("Escape"),
      elsewhere: () => page.mouse.click(3, 3),
      back: () => go(page, `${JOB}?tab=curves&scale=log`),
    };
    for (const [how, leave] of Object.entries(leaving)) {
      await open.click();
      await dialog.locator("h2").click();
      assert.equal(await dialog.count(), 1);
      await leave();
      await dialog.waitFor({ ...WAIT, state: "detached" });
      assert.equal(await focused(), "Delete…", how);
    }
  },

  /** Configuration: what differs between jobs, in the list and where they are compared. */
  async configuration() {
    const page = await openJobs();
    const settings = page.locator(".jobs .setting");
    assert.equal(await settings.count(), 0);
    await page.getByRole("button", { name: "Configuration" }).click();
    await settings.first().waitFor(WAIT);
    // The runtime and the nodes are those of all.
    assert.match((await settings.allTextContents()).join(), /^(LR 0\.\d+,?)+$/);
    assert.match(await page.evaluate(() => location.hash), /configuration=true/);
    await page.getByRole("searchbox").fill("resnet50-0");
    await see(page, "The configuration of these jobs does not differ.");
    await go(page, `${JOB}?with=trainjobs.trainer.kubeflow.org%2Fteam-b%2Fbert-base-1`);
    // A search is a label that jobs share: the line that sets it is where several of them are.
    await page.getByText("As a search", { exact: true }).click();
    await see(
      page,
      /kubectl label -n team-a trainjobs\.\S+ resnet50-0 katib.kubeflow.org\/experiment=my-search/,
    );
    await page.keyboard.press("Escape");
    const table = page.getByRole("region", { name: "Configuration that differs" });
    await table.waitFor(WAIT);
    assert.deepEqual(await table.locator("tbody td").allTextContents(), ["LR", "0.10", "0.11"]);
    await go(page, `${JOB}?tab=configuration`);
    await see(page, "torch-distributed");
    assert.equal(await table.count(), 0);
  },

  /** A search: found, sorted, looked at in part, marked, and left for a job, without a pointer. */
  async trials() {
    const page = await openJobs();
    const focused = () =>
      page.evaluate(() => {
        const it = document.activeElement;
        return it?.getAttribute("aria-label") ?? it?.textContent?.trim() ?? "";
      });
    const reach = async (wanted, key = "Tab") => {
      for (let count = 0; count < 120; count++) {
        await page.keyboard.press(key);
        if (wanted.test(await focused())) return;
      }
      assert.fail(`${wanted} cannot be reached; the focus is on ${await focused()}`);
    };
    const hash = () => page.evaluate(() => location.hash);
    await reach(/^Trials$/);
    await page.keyboard.press("Enter");
    await page.locator("#content table").waitFor(WAIT);
    await reach(/^digits$/);
    await page.keyboard.press("Enter");
    await page.locator("table.trials tbody tr").nth(29).waitFor(WAIT);
    assert.equal(await page.locator("table.trials tbody tr").count(), 30);
    assert.equal(await page.evaluate(() => document.title), "digits · Milepost");
    // It is read again, and has not changed.
    await page.waitForResponse((it) => it.status() === 304, WAIT);
    await page.waitForResponse((it) => it.status() === 304, WAIT);
    assert.equal(await page.getByText("Not up to date").count(), 0);
    await see(page, "loss above 2.5 at report 4");
    await see(page, "node-0 ran out of memory (OOMKilled)");
    const dashes = (state) =>
      page.locator(`.charts .trial.${state}.line`).last().evaluate((it) =>
        getComputedStyle(it).strokeDasharray
      );
    await page.locator(".charts .trial.stopped.line").last().waitFor({
      ...WAIT,
      state: "attached",
    });
    assert.notEqual(await dashes("stopped"), "none");
    assert.equal(await dashes("done"), "none");

    await reach(/Arrow keys mark one curve/);
    await page.keyboard.press("ArrowDown");
    await page.locator("table.trials tr.marked").waitFor(WAIT);
    assert.match(await hash(), /trial=digits-\d+/);
    await reach(/^lr, from$/);
    for (let count = 0; count < 8; count++) await page.keyboard.press("ArrowUp");
    await see(page, /\d+ of 30 trials are in the selected ranges/);
    assert.match(await hash(), /brush=p%3Alr%7E0.2%7E1/);
    const rows = () => page.locator("table.trials tbody tr").count();
    assert.ok(await rows() > 0 && await rows() < 30);
    await page.keyboard.press("Escape");
    await page.locator("table.trials tbody tr").nth(29).waitFor(WAIT);
    await reach(/^Stopped early by/);
    await page.keyboard.press("Enter");
    await page.locator('th[aria-sort="ascending"]', { hasText: "Stopped early by" }).waitFor(
      WAIT,
    );
    await see(page, /^Its rule: loss .* is greater than 2.5, at report 4$/);
    await page.reload();
    await page.locator("table.trials tr.marked").waitFor(WAIT);
    await reach(/^digits-\d+$/);
    const first = await focused();
    await page.keyboard.press("ArrowDown");
    assert.notEqual(await focused(), first);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#/job/"));
    await page.goBack();
    await page.locator("table.trials").waitFor(WAIT);

    await control({ down: "true" });
    await see(page, /Disconnected since \d/);
    await see(page, /Not up to date/);
    assert.equal(await page.locator(".stale table.trials tbody tr").count(), 30);
    await control({ down: "false" });
    await page.getByText("Not up to date").waitFor({ ...WAIT, state: "detached" });
    await go(page, `${SEARCH}/never`);
    await see(page, "Search not found, or you lack access");
    await control({ rights: "none" });
    await go(page, `${SEARCH}/digits`);
    await see(page, "You lack access to this search");

    await control({ rights: "all" });
    // Names that are longer than there is room for can be read, or looked up.
    for (const width of [500, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await go(page, `${SEARCH}/long`);
      await see(page, "sweep-of-learning-rates-with-cosine-schedule-and-warmup-29");
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("svg text")].flatMap((text) => {
          const [it, all] = [text, text.closest("svg")].map((one) => one.getBoundingClientRect());
          return it.left < all.left || it.right > all.right ? [text.textContent] : [];
        })
      );
      assert.deepEqual(cut, []);
    }
    const titles = await page.locator(".parallel .axis-name title").allTextContents();
    assert.ok(titles.includes("model.encoder.attention_probs_dropout"));
    const ticks = await page.locator(".parallel .axis-text")
      .evaluateAll((all) => all.map((it) => it.lastChild?.textContent));
    assert.ok(ticks.includes("gs://models/adam/resnet50-imagenet-21k-v2"));
    const header = page.getByTitle("optimizer.schedule.learning_rate_warmup_steps");
    assert.equal(await header.innerText(), "optimizer.sc…armup_steps");
  },

  /** The best of searches, one of which does not say what is better: it is asked once. */
  async best() {
    const page = await openJobs();
    const rowOf = (name) => page.locator("#content tbody tr").filter({ hasText: name });
    const words = async (name) => (await rowOf(name).textContent()).replaceAll(/\s+/g, " ");
    await page.evaluate(() => localStorage.setItem("milepost.better.loss", "up"));
    await page.reload();
    await go(page, "#/searches");
    await rowOf("labelled").waitFor(WAIT);
    assert.match(await words("digits"), /minimize loss0.3/);
    assert.match(await words("old"), /4000––/);
    assert.match(await words("labelled"), /Is lower or higher loss better\?/);
    await go(page, `${SEARCH}/labelled`);
    await see(page, /^Is lower or higher loss better\?$/);
    assert.equal(await page.getByText("Best so far").count(), 0);
    await page.getByRole("button", { name: "Lower loss is better" }).click();
    await see(page, "Best so far");
    assert.match(await page.evaluate(() => location.hash), /direction=minimize$/);
    const places = async () =>
      (await page.locator(".chart").nth(1).locator("text").allTextContents()).join(" ");
    await see(page, "Over steps");
    assert.match(await places(), / 200 400 600 800$/);
    await page.getByText("Over steps").click();
    await see(page, "since the first value of each");
    assert.match(await places(), / min$/);
    assert.match(await page.evaluate(() => location.hash), /axis=time/);
    await page.getByText("Over steps").click();
    // Another search of that metric, or another tab, asks no more.
    await page.reload();
    await go(page, "#/searches");
    await page.waitForFunction(() => /minimize loss\s*0.3/.test(document.body.textContent ?? ""));
    assert.match(await words("labelled"), /minimize loss0.3 digits-9/);
    await go(page, `${SEARCH}/labelled`);
    await see(page, "Best so far");
    await page.getByLabel("Goal").selectOption("maximize");
    await go(page, "#/searches");
    await rowOf("labelled").waitFor(WAIT);
    assert.match(await words("labelled"), /maximize loss3 digits-1/);
  },

  /** Disconnected and back; forbidden, in part and altogether; gone; an old code. */
  async states() {
    const page = await openJobs();
    await control({ down: "true" });
    await see(page, /Disconnected since \d/);
    assert.equal(await page.locator(".stale .jobs tbody tr").count(), 50);
    await control({ down: "false" });
    await see(page, /^Live$/);
    await page.getByText(/Disconnected since/).waitFor({ ...WAIT, state: "detached" });
    await control({ rights: "some" });
    await see(page, "Not everything is shown");
    await page.getByText("Not everything is shown").click();
    await see(page, "secret");
    await control({ rights: "none" });
    await see(page, "You lack access to these jobs");
    await control({ rights: "all" });
    await go(page, "#/job/trainjobs.trainer.kubeflow.org/team-b/unet-4");
    await page.locator("header.job").getByText("waits for 1 nvidia.com/gpu; this machine has 0")
      .waitFor(WAIT);
    await go(page, "#/jobs?text=-8");
    const why = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'";
    await page.locator("tr", { hasText: why }).getByText("· restarting (4×)").waitFor(WAIT);
    await page.getByRole("link", { name: "llama-lora-8", exact: true }).click();
    await page.locator("header.job .row").getByText("· restarting (4×)").waitFor(WAIT);
    await see(page, why);
    await page.getByText("What it said last").click();
    await page.locator("header.job pre", { hasText: "import tochr" }).waitFor(WAIT);
    await go(page, "#/jobs");
    await page.getByRole("button", { name: "Stalled 1" }).click();
    const still = page.locator("tr", { hasText: "no step after 812; usually 2s" });
    await still.getByText(/· stalled for 3 min/).waitFor(WAIT);
    await page.getByText("1–1 of 1").waitFor(WAIT);
    await page.getByRole("link", { name: "unet-16", exact: true }).click();
    await page.locator("header.job .row").getByText(/· stalled for 3 min/).waitFor(WAIT);
    await page.locator("ul.marks li", { hasText: /stalled.*no step after 812/ }).waitFor(WAIT);
    await go(page, `${JOB}?tab=logs&pod=resnet50-0-node-0-7`);
    await see(page, "Pod deleted");
    await see(page, "A log collector keeps more, if the cluster has one.");
    await go(page, "#/job/trainjobs.trainer.kubeflow.org/team-a/never");
    await see(page, "Job not found, or you lack access");
    await control({ key: "another" });
    await see(page, "The session could not be opened");
    const other = await tab();
    await other.goto(`${origin}/#code=old`);
    await see(other, "The code is too old, or was used in another browser.");
    assert.equal(await other.evaluate(() => location.hash.includes("code")), false);
    // Another address in the same tab loads nothing anew.
    await other.goto(address);
    await see(other, /^Live$/);
  },

  /** A token that is wrong, right, kept by the tab, and forgotten; a proxy that sends one. */
  async login() {
    await control({ login: "token", key: "a.good.token" });
    const page = await tab();
    await page.goto(`${origin}/`);
    await see(page, "Log in to the cluster");
    const field = page.getByLabel("Token");
    await field.fill("a.wrong.token");
    await page.keyboard.press("Enter");
    await see(page, "The cluster does not accept this token.");
    await field.fill("Bearer a.good.token ");
    await page.getByRole("button", { name: "Log in" }).click();
    const rows = page.locator(".jobs tbody tr");
    await rows.nth(4).waitFor(WAIT);
    await page.reload();
    await rows.nth(4).waitFor(WAIT);
    const kept = () => page.evaluate(() => [document.cookie, JSON.stringify(localStorage)].join());
    assert.ok(!(await kept()).includes("a.good.token"), "it is kept by this tab alone");
    await control({ key: "another" });
    await see(page, "Not logged in");
    await control({ key: "a.good.token" });
    await field.fill("a.good.token");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Log out" }).click();
    await see(page, "Log in to the cluster");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    const behind = await tab({ extraHTTPHeaders: { Authorization: "Bearer a.good.token" } });
    // Only requests of the tab itself get these headers here.
    await behind.addInitScript(() => delete globalThis.SharedWorker);
    await behind.goto(`${origin}/`);
    await behind.locator(".jobs tbody tr").nth(4).waitFor(WAIT);
    assert.equal(await behind.getByRole("button", { name: "Log out" }).count(), 0);
  },

  /** Charts of odd values on both axes, smoothed and not, and of jobs of several namespaces found by text. */
  async charts() {
    const page = await openJobs();
    const odd = "#/job/trainjobs.trainer.kubeflow.org/team-a/odd";
    for (
      const query of [
        "",
        "?scale=log",
        "?scale=log&smooth=0.9",
        "?smooth=0.99&band=no&axis=elapsed",
      ]
    ) {
      await go(page, `${odd}${query}`);
      await page.locator(".chart canvas").nth(11).waitFor(WAIT);
      await page.getByRole("button", { name: /Show \d+ more charts/ }).click();
      await page.locator(".chart canvas").nth(66).waitFor(WAIT);
      await page.locator(".chart").filter({ hasText: "zero and below" }).waitFor(WAIT);
      if (query.includes("log")) {
        await see(page, "Values at or below 0 have no place on this axis: 4 are left out.");
      }
      // The page answers while all of them are drawn anew twice a second.
      assert.ok(
        await page.evaluate(() => new Promise((resolve) => setTimeout(() => resolve(true), 0))),
      );
      await go(page, "#/jobs");
      await page.locator(".jobs tbody tr").nth(2).waitFor(WAIT);
    }
    await go(page, JOB);
    await page.locator(".chart").filter({ hasText: "Progress, %" }).waitFor(WAIT);
    assert.equal(await page.getByText(/Time left/).count(), 0);
    await page.getByRole("button", { name: "Log axis" }).click();
    await page.getByText("Compare", { exact: true }).click();
    await page.getByLabel(/Find jobs by namespace/).fill("team-b/bert");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Add team-b/bert-base-1", exact: true }).click();
    await page.getByRole("list", { name: "Jobs of the charts" }).getByText("team-b/bert-base-1")
      .waitFor(WAIT);
    const hash = await page.evaluate(() => location.hash);
    assert.match(hash, /scale=log.*with=trainjobs.trainer.kubeflow.org%2Fteam-b%2Fbert-base-1/);
    const other = await page.context().newPage();
    await other.goto(`${origin}/${hash}`);
    await other.getByRole("list", { name: "Jobs of the charts" }).getByText("team-b/bert-base-1")
      .waitFor(WAIT);
    assert.equal(await other.getByRole("button", { name: "Log axis", pressed: true }).count(), 1);
  },

  /** Curves over steps: one range and one crosshair for all charts, NaN as a mark, and jobs compared by their steps. */
  async steps() {
    const page = await openJobs();
    const stepped = "#/job/trainjobs.trainer.kubeflow.org/team-a/stepped";
    await go(page, stepped);
    const chart = (title) => page.locator(".chart").filter({ hasText: title });
    await chart("late").locator("canvas").waitFor(WAIT);
    assert.equal(await page.getByLabel("Axis").inputValue(), "step");
    assert.equal(await page.locator(".chart").count(), 3, "the step is no metric");
    const caption = (title) => chart(title).locator("figcaption .number").textContent();
    const values = (title) => chart(title).locator(".legend .number").allTextContents();
    const over = chart("loss").locator(".u-over");
    /** Points at a part of the first chart, and waits until others have followed. */
    const pointAt = async (part) => {
      const { x, y, width } = await over.boundingBox();
      await page.mouse.move(x + part * width, y + 50, { steps: 3 });
      await page.waitForFunction(() => {
        const [one, other] = [...document.querySelectorAll(".chart figcaption .number")]
          .map((it) => it.textContent);
        return one === other && one?.startsWith("step ");
      });
    };
    const dots = (title) => chart(title).locator(".u-cursor-pt:not([hidden]):not(.u-off)").count();
    await pointAt(0.8);
    assert.match(await caption("loss"), /^step 7\d\d$/);
    assert.deepEqual(await values("loss"), ["NaN"]);
    assert.match((await values("accuracy"))[0], /^0\.6\d*$/);
    assert.deepEqual([await dots("loss"), await dots("accuracy"), await dots("late")], [0, 1, 1]);
    // Steps 300 to 400 were done twice; a metric that began later has nothing there.
    await pointAt(0.38);
    assert.equal(await dots("accuracy"), 2);
    assert.deepEqual([await dots("late"), await values("late")], [0, ["–"]]);
    await page.mouse.move(5, 5);
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".chart figcaption .number")]
        .every((it) => it.textContent === "newest")
    );
    const plot = chart("accuracy").locator(".plot");
    await plot.focus();
    for (const key of ["ArrowLeft", "ArrowLeft", "+", "+"]) await page.keyboard.press(key);
    await see(page, /Shown: step \d+ to step [89]\d\d/);
    await page.waitForFunction(() => /axis=step.*from=\d{3}&to=[89]\d\d/.test(location.hash));
    assert.match(await caption("loss"), /^step \d+$/, "the keys move the crosshair of all");
    await page.getByLabel("Axis").selectOption("Time");
    await page.waitForFunction(() => /axis=elapsed/.test(location.hash));
    assert.ok(!(await page.evaluate(() => location.hash)).includes("from="), "of another axis");
    await go(page, `${stepped}?with=${encodeURIComponent(JOB.slice(6))}`);
    await see(page, "No steps were pushed by resnet50-0");
    assert.equal(await chart("lr").count(), 0, "of that nobody else has");
    await page.getByLabel("Axis").selectOption("Wall clock");
    await chart("lr").locator("canvas").waitFor(WAIT);
  },

  /** The leader dies; the API server is away; rights are lost while they are used: all of it is said, and comes back. */
  async faults() {
    const page = await openJobs();
    const gone = (words) => page.getByText(words).first().waitFor({ ...WAIT, state: "detached" });
    await go(page, JOB);
    await page.locator(".chart canvas").first().waitFor(WAIT);
    const gaps = page.locator(".marks li").filter({ hasText: "another replica leads now" });
    assert.equal(await gaps.count(), 0);
    await control({ outage: "no replica leads now" });
    await see(page, "Curves are not available now: no replica leads now");
    assert.ok(await page.locator(".chart canvas").count() > 0, "what was there stays");
    await control({ outage: "" });
    await gone("Curves are not available now");
    await gaps.waitFor(WAIT);

    await go(page, `${JOB}?tab=pods`);
    await see(page, "resnet50-0-node-0-0");
    await control({ away: "the API server cannot be reached now" });
    await see(page, /Cannot read pods, .*: the API server cannot be reached now/);
    await see(page, "resnet50-0-node-0-0");
    await see(page, /^Live$/);
    await control({ away: "" });
    await gone(/Cannot read pods/);

    await control({ refused: 'jobs "resnet50-0" is forbidden: User "ada" cannot delete' });
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await see(page, 'jobs "resnet50-0" is forbidden: User "ada" cannot delete');
    await page.keyboard.press("Escape");
    await control({ refused: "" });

    await control({ rights: "look" });
    await go(page, `${JOB}?tab=events`);
    await page.reload();
    await see(page, "View only: you may not change this job.");
    assert.equal(await page.getByRole("button", { name: /…$/ }).count(), 0);

    await control({ rights: "none" });
    await see(page, "You lack access to this job");
    await see(page, "may list no kind of jobs");
    await go(page, "#/jobs");
    await see(page, "You lack access to these jobs");
    assert.equal(await page.locator(".jobs tbody tr").count(), 0);
    await control({ rights: "all" });
    await page.locator(".jobs tbody tr").nth(4).waitFor(WAIT);
    assert.deepEqual((await control()).reports, []);
  },

  /** A computer that sleeps for an hour: its stream is dead, its session is there or over; both come back. */
  async asleep() {
    const context = await browser.newContext();
    // The clock of the test is that of tabs alone.
    await context.addInitScript(() => delete globalThis.SharedWorker);
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT.timeout);
    await page.clock.install();
    await page.goto(address);
    await go(page, JOB);
    await page.locator(".chart canvas").first().waitFor(WAIT);
    const sleep = async (change) => {
      await control({ silent: "true" });
      await page.clock.fastForward("01:00:00");
      await control(change);
    };
    await control({ silent: "true", down: "true" });
    await page.clock.fastForward("01:00:00");
    await page.clock.runFor(6_000);
    await see(page, /Disconnected since \d.*\(1 h\)/);
    await control({ silent: "true", down: "false" });
    await page.clock.runFor(30_000);
    await see(page, /^Live$/);
    await page.getByText("Disconnected since").waitFor({ ...WAIT, state: "detached" });
    await sleep({ key: "another" });
    await page.clock.runFor(30_000);
    await see(page, "The session could not be opened");
    await see(page, "press Enter there for a new one");
    await page.getByLabel(/Code, or the whole address/).fill(address);
    await page.keyboard.press("Enter");
    await page.locator(".chart canvas").first().waitFor(WAIT);
    assert.equal(await page.evaluate(() => location.hash), JOB);
  },

  /** Twelve tabs, of which one was given a code: one connection holds the streams of all, which live. */
  async tabs() {
    const first = await openJobs();
    const context = first.context();
    const views = [
      "#/jobs?state=Running",
      "#/jobs?text=bert",
      JOB,
      `${JOB}?with=trainjobs.trainer.kubeflow.org/team-b/bert-base-1`,
    ];
    const others = [];
    for (let count = 1; count < 12; count++) {
      const page = await context.newPage();
      page.on("pageerror", (error) => problems.push(String(error.stack)));
      page.setDefaultTimeout(WAIT.timeout);
      await page.goto(`${origin}/${views[count % views.length]}`);
      others.push(page);
    }
    for (const page of [first, ...others]) {
      await see(page, /^Live$/);
      await page.locator(".jobs tbody tr, .chart").first().waitFor(WAIT);
      // What changes each half second goes on changing, in tabs that nobody sees, too.
      const text = () =>
        page.evaluate(() =>
          document.querySelector(".progress .number, .legend .number")?.textContent
        );
      const before = await text();
      await page.waitForFunction(
        (it) => document.querySelector(".progress .number, .legend .number")?.textContent !== it,
        before,
        // Not by frames, of which a tab that nobody sees has none.
        { polling: 200 },
      );
    }
    assert.equal((await control()).streams, 1);
    await control({ down: "true" });
    for (const page of [first, ...others]) await see(page, /Disconnected since \d/);
    await control({ down: "false" });
    for (const page of [first, ...others]) await see(page, /^Live$/);
    assert.equal((await control()).streams, 1);
    assert.deepEqual(
      await others[0].evaluate(() => [document.cookie, Object.keys(localStorage)]),
      ["", ["milepost.browser"]],
    );
    // One tab crashes, and says nothing of it: its lock does.
    const [crashing, ...closing] = others;
    const devtools = await context.newCDPSession(crashing);
    devtools.send("Page.crash").catch(() => {});
    for (const page of closing) await page.close();
    const { lists } = await until(async () => {
      const seen = await control();
      return seen.lists === 1 && seen;
    });
    assert.equal(lists, 1);
    await control({ key: "another" });
    await see(first, "The session could not be opened");
    const late = await context.newPage();
    await late.goto(origin);
    await see(late, "No session in this tab");
    assert.deepEqual((await control()).reports, []);
  },

  /** The printed address opens again in its browser, after all tabs are closed, and in no other one. */
  async again() {
    const printed = `${origin}/#code=once`;
    const own = await browser.newContext();
    for (let times = 0; times < 3; times++) {
      const page = await own.newPage();
      await page.goto(printed);
      await page.locator(".jobs tbody tr").nth(4).waitFor(WAIT);
      await page.close();
    }
    const page = await tab();
    await page.goto(printed);
    await see(page, "The code is too old, or was used in another browser.");
    await page.goto(address);
    await page.locator(".jobs tbody tr").nth(4).waitFor(WAIT);
  },

  /** The same without a worker: each tab has a stream of its own. */
  async alone() {
    const context = await browser.newContext();
    await context.addInitScript(() => delete globalThis.SharedWorker);
    const page = await context.newPage();
    await page.goto(address);
    await see(page, /^Live$/);
    await page.locator(".jobs tbody tr").nth(4).waitFor(WAIT);
    assert.equal((await control()).streams, 1);
    const second = await context.newPage();
    await second.goto(origin);
    await see(second, "No session in this tab");
  },

  /** On a phone nothing is cut off: rows, metrics and texts of failures stand below each other. */
  async phone() {
    for (const width of [390, 320]) {
      const page = await openJobs({ viewport: { width, height: 800 }, hasTouch: true });
      const hostile = "#/job/trainjobs.trainer.kubeflow.org/team-a/hostile";
      const views = [
        "#/jobs",
        "#/jobs?state=Failed&pick=a/b/c",
        JOB,
        ...["conditions", "pods", "events", "logs"].map((it) => `${hostile}?tab=${it}`),
        "#/searches",
        `${SEARCH}/hostile`,
      ];
      const wide = [];
      for (const view of views) {
        await go(page, view);
        await page.locator("#content table, #content .chart, #content pre:visible, .conditions")
          .first()
          .waitFor(WAIT);
        await page.getByText("Loading").waitFor({ ...WAIT, state: "detached" });
        wide.push(
          ...await page.evaluate((view) => {
            const regions = [...document.querySelectorAll(".scroll")]
              .filter((it) => it.querySelector("table:not(.trials)"));
            return [document.documentElement, ...regions]
              .filter((it) => it.scrollWidth > it.clientWidth + 1)
              .map((it) => `${view}: ${it.tagName} ${it.scrollWidth} in ${it.clientWidth}`);
          }, view),
        );
      }
      assert.deepEqual(wide, []);
    }
  },

  /** Barriers of each view, in both themes. */
  async axe() {
    const source = require("axe-core").source;
    const views = [
      "#/jobs",
      `#/jobs?pick=a/b/c&state=Running&sort=metric&sortMetric=loss`,
      JOB,
      `${JOB}?with=trainjobs.trainer.kubeflow.org/team-b/bert-base-1`,
      `${JOB}?from=${Date.now() - 600_000}&to=${Date.now() - 500_000}`,
      ...["conditions", "pods", "events", "logs", "object"].map((it) => `${JOB}?tab=${it}`),
      "#/job/trainjobs.trainer.kubeflow.org/team-a/never",
      "#/searches",
      `${JOB}?tab=logs&pod=*&find=epoch&wrap=no`,
      `${SEARCH}/digits`,
      `${SEARCH}/labelled`,
      `${SEARCH}/digits?trial=digits-1&brush=p%3Alr~0.2~0.8&sort=p%3Alr`,
      `${SEARCH}/never`,
    ];
    const found = [];
    for (const colorScheme of ["light", "dark"]) {
      // The policy forbids what is put into the page from outside, also for a test.
      // A phone in the dark.
      const viewport = { width: colorScheme === "dark" ? 390 : 1280, height: 800 };
      const page = await openJobs({ colorScheme, bypassCSP: true, viewport });
      await page.evaluate(source);
      const look = async (view) => {
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        for (const { id, nodes } of violations) {
          found.push(`${colorScheme} ${view}: ${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`);
        }
      };
      for (const view of views) {
        await go(page, view);
        await page.locator(
          "#content .notice, #content table, #content .chart, #content pre, .conditions",
        ).filter({ visible: true }).first().waitFor(WAIT);
        await page.getByText("Loading").waitFor({ ...WAIT, state: "detached" });
        await look(view);
      }
      await go(page, JOB);
      await page.getByRole("button", { name: "Stop…" }).click();
      await look("dialog");
      await page.keyboard.press("Escape");
      await go(page, "#/jobs?state=Failed");
      await page.getByLabel("Select all rows").check();
      await page.getByRole("button", { name: /^Delete \d+ ended…$/ }).click();
      await look("dialog of several");
    }
    assert.deepEqual(found, []);
  },
};

try {
  const journey = journeys[name];
  assert.ok(journey, `there is no journey ${name}`);
  await journey();
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
