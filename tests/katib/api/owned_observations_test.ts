/** Tests of observations at their owner: terms, and notifications of changes. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { createOwnedObservations } from "../../../katib/api/owned_observations.ts";
import type { ObservationSource } from "../../../katib/api/source.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { logOf } from "./api_bench.ts";

const sent = { namespace: "team", name: "job", uid: "uid-1" };
const job = { kind: TRAINJOB, ...sent };
const NEVER = new AbortController().signal;

Deno.test("a replica that is not the owner has no answer, neither for itself nor for others", async () => {
  const owned = createOwnedObservations({
    kinds: JOB_KINDS,
    clock: new FakeClock(),
    current: () => undefined,
  });
  assert.equal(await owned.answer({ job, limit: 1 }, NEVER), undefined);
  assert.equal(await owned.answerForwarded({ job: sent, limit: 1 }, NEVER), undefined);
  assert.equal(await owned.poll([{ job }], 0, NEVER), undefined);
});

Deno.test("a question of another replica is checked before it is answered", async () => {
  const log = logOf("uid-1");
  log.push(1);
  const owned = createOwnedObservations({
    kinds: JOB_KINDS,
    clock: new FakeClock(),
    current: () => log.source,
  });
  assert.partialDeepStrictEqual(await owned.answerForwarded({ job: sent, limit: 1 }, NEVER), {
    rows: [{ value: "1" }],
  });
  assert.equal(await owned.answerForwarded({ job: sent, limit: 9999 }, NEVER), undefined);
  owned.close();
});

Deno.test("a waiting reader is notified of a row, and of the next owner", async () => {
  const clock = new FakeClock();
  const [first, second] = [logOf("uid-1"), logOf("uid-1")];
  let source: ObservationSource | undefined = first.source;
  const owned = createOwnedObservations({ kinds: JOB_KINDS, clock, current: () => source });
  const [begin] = await owned.poll([{ job }], 0, NEVER) ?? [];
  assert.ok(begin !== undefined);
  const { cursor } = begin;
  assert.deepEqual(await owned.poll([{ job, cursor }], 0, NEVER), []);

  const waiting = owned.poll([{ job, cursor }], 10_000, NEVER);
  await settle();
  first.push(1);
  const [changed] = await waiting ?? [];
  assert.ok(changed !== undefined && changed.cursor !== cursor);

  const late = owned.poll([{ job, cursor: changed.cursor }], 10_000, NEVER);
  source = second.source;
  const [next] = await owned.poll([{ job, cursor: changed.cursor }], 0, NEVER) ?? [];
  assert.ok(next !== undefined && next.cursor !== changed.cursor);
  assert.deepEqual(await late, [], "of the term that is over nobody hears any more");
  owned.close();
});
