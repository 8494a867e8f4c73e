/** Test that docs/guides/troubleshooting.md quotes messages that the code still has. */
import assert from "node:assert/strict";
import { filesEndingIn, ROOT } from "./markdown.ts";

/** Beginnings of messages of other programs. */
const FOREIGN = ["failed calling webhook", "Unable to find primary container"] as const;
/** So many words in a row must be in the code. */
const WORDS = 3;

/** The text of all of the product's code, strings that are put together from parts as one. */
async function productText(): Promise<string> {
  const folders = [
    "app",
    "controller",
    "crds",
    "katib",
    "owner",
    "platform",
    "standalone",
    "status",
    "terminal",
    "views",
  ];
  let text = "";
  for (const folder of [...folders, "trials", "webhook"]) {
    for await (const file of filesEndingIn([".ts"], `${folder}/`)) text += file.text;
  }
  return text.replaceAll(/["\`]\s*\+\s*["\`]/g, "").replaceAll(/\s+/g, " ");
}

/** Quoted messages: code in the first column of a table, of several words. */
function messagesOf(page: string): string[] {
  return page.split("\n").filter((line) => /^\s*\| /.test(line)).flatMap((line) => {
    const [, first = ""] = line.split(/(?<!\\)\|/);
    return [...first.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
  }).filter((text) => text.split(" ").length > WORDS + 1 && !text.startsWith("kubectl "))
    .filter((text) => !FOREIGN.some((it) => text.startsWith(it)));
}

/** Whether a run of words of the message is in the code. */
function isIn(code: string, message: string): boolean {
  const words = message.split(" ");
  return words.some((_, at) =>
    at + WORDS <= words.length && code.includes(words.slice(at, at + WORDS).join(" "))
  );
}

Deno.test("every message that docs/guides/troubleshooting.md quotes is one of the code's", async () => {
  const code = await productText();
  const page = await Deno.readTextFile(new URL("docs/guides/troubleshooting.md", ROOT));
  const messages = messagesOf(page);
  assert.ok(messages.length > 20, `only ${messages.length} messages are quoted`);
  assert.deepEqual(messages.filter((message) => !isIn(code, message)), []);
});
