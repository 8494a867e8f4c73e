/** Walk of a person through journeys in a browser, each held against the number of its actions. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { Browser } from "../browser/chromium.ts";
import { runInBrowser } from "../browser/in_browser.ts";

const PERSON = new URL("person.mjs", import.meta.url);
const walked = z.array(
  z.object({ name: z.string(), actions: z.number(), problems: z.array(z.string()) }),
);

/** Where a person begins. */
export interface Beginning {
  readonly found: Browser;
  /** Address of the page. */
  readonly address: string | undefined;
  /** A job that trains. */
  readonly job: string;
}

/** Lets a person make journeys in one browser, and holds each against the number of its actions. */
export async function walk(
  test: Deno.TestContext,
  { found, ...input }: Beginning,
  journeys: Readonly<Record<string, number>>,
): Promise<void> {
  const { code, stdout, stderr } = await runInBrowser(PERSON, {
    found,
    input: { names: Object.keys(journeys), ...input },
    timeoutMs: 300_000,
  });
  assert.equal(code, 0, stderr);
  for (const { name, actions, problems } of walked.parse(JSON.parse(stdout))) {
    await test.step(`in a browser, ${name}: ${journeys[name]} actions`, () => {
      assert.deepEqual(problems, []);
      assert.equal(actions, journeys[name]);
    });
  }
}
