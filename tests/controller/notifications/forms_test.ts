/** Tests of the bodies of notifications: what they say, and that hostile text can do nothing. */
import assert from "node:assert/strict";
import { z } from "zod";
import { noticeBody, summaryBody } from "../../../controller/notifications/forms.ts";
import { notice, sink, T0 } from "./builders.ts";

const jsonOf = (text: string): unknown => JSON.parse(text);
const slackText = (body: string) => z.looseObject({ text: z.string() }).parse(jsonOf(body)).text;
const slack = sink({ form: "slack" });

Deno.test("noticeBody() in JSON has the job, and the text only if the sink may have it", () => {
  const want = {
    id: `uid-bert-Failed-${T0}`,
    event: "Failed",
    kind: "TrainJob",
    namespace: "team-a",
    name: "bert",
    state: "Failed",
    since: T0,
  };
  assert.deepEqual(jsonOf(noticeBody(sink(), notice("bert"))), { ...want, text: "it broke" });
  assert.deepEqual(jsonOf(noticeBody(sink({ texts: false }), notice("bert"))), want);
  const link = "https://m.example/p/#/job/trainjobs.trainer.kubeflow.org/team-a/bert";
  const linked = sink({ texts: false, pageUrl: "https://m.example/p/" });
  assert.deepEqual(jsonOf(noticeBody(linked, notice("bert"))), { ...want, link });
});

Deno.test("noticeBody() for Slack is a line, a link to the page, and the text as code", () => {
  assert.equal(
    slackText(noticeBody({ ...slack, pageUrl: "https://m.example" }, notice("bert"))),
    `TrainJob \`team-a/bert\` failed at ${T0} ` +
      "(<https://m.example/#/job/trainjobs.trainer.kubeflow.org/team-a/bert|open>)\n`it broke`",
  );
  const quiet = slackText(noticeBody({ ...slack, texts: false }, notice("bert")));
  assert.equal(quiet, `TrainJob \`team-a/bert\` failed at ${T0}`);
  const event = "ProgressResumed";
  assert.equal(
    slackText(noticeBody(slack, notice("bert", { event, text: undefined }))),
    `TrainJob \`team-a/bert\` goes on; it had made no progress since ${T0}`,
  );
});

const hostile: Record<string, { readonly text: string; readonly want: string }> = {
  "a channel": { text: "<!channel> <!here|x>", want: "&lt;!channel&gt; &lt;!here|x&gt;" },
  "a person": { text: "@here <@U123> a@b.c", want: "(at)here &lt;(at)U123&gt; a(at)b.c" },
  "a link": {
    text: "<https://evil.example|docs> http://evil.example",
    want: "&lt;https[:]//evil.example|docs&gt; http[:]//evil.example",
  },
  "an entity": { text: "&lt;!channel&gt;", want: "&amp;lt;!channel&amp;gt;" },
  "the end of code": { text: "x` *bold* ```", want: "x' *bold* '''" },
  "lines": { text: "one\n\n  two\r\nthree\t4", want: "one two three 4" },
  "control characters": { text: "a\u0007b\u001b[31mc", want: "a\\u0007b\\u001b[31mc" },
  "other directions": { text: "a\u202etxt\u2066b\u200b", want: "a\\u202etxt\\u2066b\\u200b" },
};
for (const [sentence, { text, want }] of Object.entries(hostile)) {
  Deno.test(`noticeBody() for Slack makes ${sentence} harmless`, () => {
    const said = slackText(noticeBody(slack, notice("bert", { text }))).split("\n")[1];
    assert.equal(said, `\`${want}\``);
  });
}

Deno.test("noticeBody() bounds texts, and names that no API server would take", () => {
  const text = "&".repeat(10_000);
  const name = "a`<!here>\n@x".repeat(1_000);
  const body = noticeBody(slack, notice(name, { text }));
  assert.ok(body.length < 5_000, `${body.length}`);
  assert.equal(/<|@|\n`.*\n/.test(slackText(body)), false);
  const json = noticeBody(sink(), notice("bert", { text: "\u202e".repeat(10_000) }));
  assert.ok(json.length < 1_500, `${json.length}`);
  assert.equal(/\u202e/.test(json), false);
});

Deno.test("summaryBody() says how many more there were, by event", () => {
  const summary = {
    id: "team-a-Summary-1",
    namespace: "team-a",
    counts: { Failed: 10, Stalled: 2 },
  };
  assert.equal(
    slackText(summaryBody(slack, summary)),
    "12 more jobs of `team-a`: 10 Failed, 2 Stalled",
  );
  assert.deepEqual(jsonOf(summaryBody(sink(), summary)), {
    ...summary,
    event: "Summary",
    more: 12,
  });
  const others = summaryBody(slack, { ...summary, namespace: undefined });
  assert.match(slackText(others), /^12 more jobs of other namespaces: /);
});
