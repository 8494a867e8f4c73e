/** Tests of the notifier before real receivers: which answers are taken, who is delayed, and what a next leader tells. */
import assert from "node:assert/strict";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { runNotifier } from "../../../controller/notifications/sink_notifier.ts";
import type { Sink } from "../../../controller/notifications/notified_sink.ts";
import { aborted } from "../../../platform/base/aborted.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import { logged, withLogs } from "../../support/logged.ts";
import { until } from "../../support/until.ts";
import { failedJob, job, sink } from "../../controller/notifications/builders.ts";

const SECRET = "T0/B0/SECRET";

/** A cache of jobs that a test fills by hand. */
function jobCache(objects: AnyJob[]) {
  const listeners = new Set<(change: Change<AnyJob>) => void>();
  return {
    get: () => undefined,
    onChange(listener: (change: Change<AnyJob>) => void) {
      listeners.add(listener);
      objects.forEach((object) => listener({ type: "added", object }));
      return () => listeners.delete(listener);
    },
    change: (object: AnyJob, old: AnyJob) =>
      listeners.forEach((it) => it({ type: "updated", object, old })),
    again: (object: AnyJob) => listeners.forEach((it) => it({ type: "added", object })),
  };
}

interface World {
  readonly cache: ReturnType<typeof jobCache>;
  /** Results by sink. */
  readonly results: Record<string, string[]>;
}

/** Runs `work` while a leader tells the sinks of those jobs. */
async function withNotifier(
  { objects = [], sinks, leading = () => true, deadlineMs }: {
    readonly objects?: AnyJob[];
    readonly deadlineMs?: number | undefined;
    readonly sinks: readonly Sink[];
    readonly leading?: () => boolean;
  },
  work: (world: World) => Promise<void>,
): Promise<void> {
  const cache = jobCache(objects);
  const results: Record<string, string[]> = {};
  const over = new AbortController();
  const running = runNotifier({
    jobs: new Map([[TRAINJOB, { jobs: cache }]]),
    sinks,
    clock: systemClock,
    request: fetch,
    leading,
    random: () => 0,
    deadlineMs,
    onResult: ({ sink, result }) => (results[sink] ??= []).push(result),
  }, over.signal);
  try {
    await work({ cache, results });
  } finally {
    over.abort();
    await running;
  }
}

interface Received {
  readonly key: string | null;
  readonly body: string;
}

/** Runs `work` with a receiver that answers so; its address has a secret in it. */
async function withReceiver(
  answer: (tries: number, end: AbortSignal) => Response | Promise<Response>,
  work: (url: string, received: Received[]) => Promise<void>,
): Promise<void> {
  const received: Received[] = [];
  const over = new AbortController();
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  await using server = Deno.serve(options, async (request) => {
    received.push({ key: request.headers.get("Idempotency-Key"), body: await request.text() });
    return await answer(received.length, over.signal);
  });
  try {
    await work(`http://127.0.0.1:${server.addr.port}/${SECRET}`, received);
  } finally {
    over.abort();
  }
}

const now = () => rfc3339(Date.now());
const running = job({ state: "Running" });
const at = (name: string, url: string): Sink => sink({ name, url: () => Promise.resolve(url) });

const ok = () => new Response("ok");
/** Answers when the test is over. */
const hang = async (end: AbortSignal) => {
  await aborted(end);
  return ok();
};

Deno.test("a failure is told with its id, in the header and in the body", () =>
  withReceiver(ok, async (url, received) => {
    await withNotifier({ sinks: [at("a", url)] }, async ({ cache, results }) => {
      cache.change(failedJob(), running);
      await until("it is sent", () => results["a"]?.[0]);
      assert.deepEqual(results, { a: ["sent"] });
      assert.equal(received[0]?.key, "uid-bert-Failed-2026-01-01T00:00:00Z");
      assert.equal(JSON.parse(received[0]?.body ?? "").id, received[0]?.key);
    });
  }));

Deno.test("a stall, and the restart that follows, are told to a channel of Slack, without a mention or a link", () =>
  withReceiver(ok, async (url, received) => {
    const sinks: Sink[] = [{ ...at("a", url), form: "slack" }];
    await withNotifier({ sinks }, async ({ cache }) => {
      const message = "no step after 7 in <!channel> `http://x|y`\n@here";
      const stalled = job({ state: "Running", stalled: { since: now(), message } });
      const restart = { count: 1, reason: "Stalled", message, time: now() };
      cache.change(stalled, running);
      await until("the stall is told", () => received.length === 1);
      cache.change(job({ state: "Running", restart }), stalled);
      await until("the restart is told", () => received.length === 2);
    });
    const texts = received.map(({ body }) => String(JSON.parse(body).text));
    const said = "no step after 7 in &lt;!channel&gt; 'http[:]//x|y' (at)here";
    const place =
      /^TrainJob `team-a\/bert` (has made no progress since|was restarted at) [-:TZ\d]+$/;
    for (const [text, code] of [[texts[0], said], [texts[1], `restart 1: Stalled: ${said}`]]) {
      const [head = "", ...rest] = text?.split("\n") ?? [];
      assert.match(head, place);
      assert.deepEqual(rest, [`\`${code}\``]);
    }
  }));

interface AnswerCase {
  readonly answer: (tries: number, end: AbortSignal) => Response | Promise<Response>;
  readonly deadlineMs?: number;
  readonly want: string;
  readonly says: RegExp;
}
const answers: Record<string, AnswerCase> = {
  "redirects": {
    answer: () => new Response(null, { status: 302, headers: { Location: "/other" } }),
    want: "refused",
    says: /^it answers 302, and no redirect is followed$/,
  },
  "does not know the address": {
    answer: () => new Response("<html>", { status: 404 }),
    want: "refused",
    says: /^it answers 404$/,
  },
  "answers 500 first": {
    answer: (tries) => tries === 1 ? new Response("oops", { status: 500 }) : ok(),
    want: "sent",
    says: /^it answers 500$/,
  },
  "asks to come again": {
    answer: (tries) =>
      tries === 1 ? new Response("", { status: 429, headers: { "Retry-After": "1" } }) : ok(),
    want: "sent",
    says: /^it answers 429$/,
  },
  "hangs at first": {
    answer: (tries, end) => tries === 1 ? hang(end) : ok(),
    deadlineMs: 300,
    want: "sent",
    says: /^no answer within 0\.3 s$/,
  },
  "answers a megabyte": {
    answer: () => new Response("x".repeat(2 ** 20)),
    want: "sent",
    says: /^$/,
  },
};
for (const [sentence, { answer, deadlineMs, want, says }] of Object.entries(answers)) {
  Deno.test(`a sink that ${sentence} is told: ${want}`, async () => {
    const records = await logged(() =>
      withReceiver(answer, async (url, received) => {
        await withNotifier({ sinks: [at("a", url)], deadlineMs }, async ({ cache, results }) => {
          cache.change(failedJob(), running);
          await until("there is a result", () => results["a"]?.[0]);
          assert.deepEqual(results["a"], [want]);
        });
        // It was the same message each time.
        assert.equal(new Set(received.map(({ key }) => key)).size, 1);
      })
    );
    assert.match(records.map(({ properties }) => properties["problem"]).join(), says);
    assert.equal(JSON.stringify(records).includes("SECRET"), false);
  });
}

Deno.test("an address that cannot be reached is not logged", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}/${SECRET}`;
  listener.close();
  await withLogs((records) =>
    withNotifier({ sinks: [at("a", url)] }, async ({ cache }) => {
      cache.change(failedJob(), running);
      await until("it is said", () => records.length > 0);
      assert.deepEqual(records.map(({ properties }) => properties), [
        { sink: "a", problem: "it cannot be reached" },
      ]);
    })
  );
});

Deno.test("a sink that hangs delays no other", () =>
  withReceiver(
    () => new Promise((resolve) => setTimeout(() => resolve(ok()), 600)),
    (slow) =>
      withReceiver(ok, async (quick, received) => {
        const sinks = [at("slow", slow), at("quick", quick)];
        await withNotifier({ sinks }, async ({ cache, results }) => {
          for (const name of ["a", "b", "c"]) cache.change(failedJob(name), running);
          await until("the others are sent", () => results["quick"]?.length === 3 || undefined);
          assert.equal(received.length, 3);
          assert.equal(results["slow"], undefined);
        });
      }),
  ));

Deno.test("the next leader tells again what happened lately, under the same ids, and nothing older", () =>
  withReceiver(ok, async (url, received) => {
    const lately = failedJob("lately", "team-a", now());
    const objects = [failedJob("old", "team-a", "2026-01-01T00:00:00Z"), lately];
    for (const leader of [1, 2]) {
      await withNotifier({ sinks: [at("a", url)], objects }, async ({ cache, results }) => {
        cache.again(lately);
        cache.change(failedJob(`by-${leader}`, "team-a", now()), running);
        await until("it is sent", () => results["a"]?.length === 2 || undefined);
      });
    }
    assert.equal(received.length, 4);
    const keys = received.map(({ key }) => key ?? "");
    assert.equal(keys[0], keys[2]);
    assert.match(keys[0] ?? "", /^uid-lately-Failed-/);
  }));

Deno.test("a replica that does not lead any more tells nothing", () =>
  withReceiver(ok, async (url, received) => {
    const options = { sinks: [at("a", url)], leading: () => false };
    await withLogs((records) =>
      withNotifier(options, async ({ cache }) => {
        cache.change(failedJob(), running);
        await until("it is said", () => records.length > 0);
      })
    );
    assert.equal(received.length, 0);
  }));

Deno.test("an address that comes later, or changes, is the one that counts", () =>
  withReceiver(ok, async (url, received) => {
    const folder = await Deno.makeTempDir();
    const file = `${folder}/url`;
    const late = sink({ name: "late", url: () => Deno.readTextFile(file) });
    await withLogs((records) =>
      withNotifier({ sinks: [late] }, async ({ cache, results }) => {
        await until("it is off", () => records.length === 1);
        cache.change(failedJob("a"), running);
        await Deno.writeTextFile(file, `${url}\n`);
        await until("it is sent", () => results["late"]?.[0]);
        await Deno.writeTextFile(file, `http://elsewhere.example/${SECRET}`);
        cache.change(failedJob("b"), running);
        await until("it is off again", () => records.length === 2);
        assert.match(String(records[0]?.properties["problem"]), /No such file .*\/url/);
        assert.equal(JSON.stringify(records).includes("SECRET"), false);
      })
    );
    await Deno.remove(folder, { recursive: true });
    assert.deepEqual(received.map(({ key }) => key?.slice(0, 5)), ["uid-a"]);
  }));
