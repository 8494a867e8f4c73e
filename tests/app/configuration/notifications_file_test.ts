/** Tests of the file of sinks, the address of `--notify`, and the example of the guide. */
import assert from "node:assert/strict";
import {
  notifyUrl,
  readSinks,
  sinkAt,
  sinksOf,
} from "../../../app/configuration/notifications_file.ts";
import { NOTIFIED_EVENTS } from "../../../controller/notifications/notice_of_change.ts";
import { ConfigurationError } from "../../../platform/kube/errors.ts";

const NAMED = "{name: a, form: json, urlFile: a}";

Deno.test("sinksOf() reads sinks with their defaults, and files beside its own at each use", async () => {
  const folder = await Deno.makeTempDir();
  const [sink] = sinksOf(`${folder}/n.yaml`, `sinks: [${NAMED}]`);
  assert.partialDeepStrictEqual(sink, {
    name: "a",
    form: "json",
    events: NOTIFIED_EVENTS,
    texts: false,
    pageUrl: undefined,
  });
  await assert.rejects(sink?.url() ?? Promise.resolve(), Deno.errors.NotFound);
  for (const url of ["https://one.example", "https://two.example"]) {
    await Deno.writeTextFile(`${folder}/a`, url);
    assert.equal(await sink?.url(), url);
  }
  await Deno.remove(folder, { recursive: true });
});

const refused: Record<string, { readonly text: string; readonly want: RegExp }> = {
  "no YAML": { text: "sinks: [", want: /^--notifications n\.yaml: .*line 1/ },
  "nothing": { text: "", want: /^--notifications n\.yaml: must be a mapping with sinks$/ },
  "no sinks": { text: "sinks: []", want: /: sinks: must have a sink$/ },
  "an unknown form": {
    text: "sinks: [{name: a, form: teams, urlFile: a}]",
    want: /n\.yaml: sinks\[0\]\.form: must be json or slack$/,
  },
  "an unknown event": {
    text: "sinks: [{name: a, form: json, urlFile: a, events: [Failed, Exploded]}]",
    want: /sinks\[0\]\.events\[1\]: must be one of Stalled, ProgressResumed, Restarted, Failed, C/,
  },
  "two sinks of one name": {
    text: `sinks: [${NAMED}, ${NAMED}]`,
    want: /sinks\[1\]\.name: is the name of another sink, too: give it its own$/,
  },
  "a sink without an address": {
    text: "sinks: [{name: a, form: json}]",
    want: /sinks\[0\]\.urlFile: must name a file that has the URL$/,
  },
  "an address in the file": {
    text: "sinks: [{name: a, form: json, urlFile: a, url: 'https://h.example/SECRET'}]",
    want: /sinks\[0\]\.url: who knows the URL can write to the sink: put it into a file/,
  },
  "an unknown field": {
    text: `channel: x\nsinks: [${NAMED}]`,
    want: /n\.yaml: has no field channel: leave it out$/,
  },
  "a field that a sink does not have": {
    text: "sinks: [{name: a, form: json, urlFile: a, event: []}]",
    want: /sinks\[0\]: has no field event: leave it out$/,
  },
  "a bad name": {
    text: "sinks: [{name: 'A b', form: json, urlFile: a}]",
    want: /sinks\[0\]\.name: must be a name of lower-case letters/,
  },
  "no namespaces": {
    text: "sinks: [{name: a, form: json, urlFile: a, namespaces: []}]",
    want:
      /sinks\[0\]\.namespaces: must be a list of namespaces, not empty; or leave it out for all$/,
  },
  "an address of the page that is none": {
    text: `pageUrl: 'javascript:alert(1)'\nsinks: [${NAMED}]`,
    want: /pageUrl: must be the address of the page, such as https:/,
  },
  "two mistakes": {
    text: "sinks: [{name: a, form: x, urlFile: a, texts: maybe}]",
    want: /sinks\[0\]\.form: .*; sinks\[0\]\.texts: must be true or false$/,
  },
};
for (const [sentence, { text, want }] of Object.entries(refused)) {
  Deno.test(`sinksOf() refuses ${sentence}`, () => {
    assert.throws(() => sinksOf("n.yaml", text), (error: Error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, want);
      assert.equal(error.message.includes("SECRET"), false);
      return true;
    });
  });
}

Deno.test("readSinks() needs no file, and refuses one that is not there", () => {
  assert.deepEqual(readSinks(undefined), []);
  assert.throws(
    () => readSinks("/nowhere/n.yaml"),
    /^ConfigurationError: --notifications \/nowhere/,
  );
});

const addresses: Record<string, RegExp | undefined> = {
  "https://h.example/SECRET": undefined,
  "http://127.0.0.1:8000/SECRET": undefined,
  "http://[::1]/SECRET": undefined,
  "http://localhost/SECRET": undefined,
  "http://127.0.0.1.h.example/SECRET": /must begin with https/,
  "http://h.example/SECRET": /must begin with https/,
  "file:///SECRET": /must begin with https/,
  "https://u:SECRET@h.example": /must have no user/,
  "SECRET": /is no URL/,
};
for (const [address, want] of Object.entries(addresses)) {
  Deno.test(`--notify ${want === undefined ? "takes" : "refuses"} ${address}`, () => {
    const message = notifyUrl.safeParse(address).error?.issues[0]?.message;
    if (want === undefined) assert.equal(message, undefined);
    else assert.match(message ?? "", want);
    assert.equal(message?.includes("SECRET") ?? false, false);
  });
}

Deno.test("sinkAt() speaks to Slack in its form", () => {
  assert.equal(sinkAt("https://hooks.slack.com/services/x").form, "slack");
  assert.equal(sinkAt("https://hooks.slack.com.evil.example/").form, "json");
});

Deno.test("the file that the guide shows is one", async () => {
  const guide = await Deno.readTextFile(
    new URL("../../../docs/guides/notifications.md", import.meta.url),
  );
  const text = /```yaml\n([^]*?)```/.exec(guide)?.[1] ?? "";
  assert.ok(sinksOf("notifications.yaml", text).length > 1);
});
