/** Tests that one account cannot keep another from the page, however it writes its token and however slowly it sends. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { HttpRequest, HttpResponse } from "../../../platform/http/message.ts";
import { createClientOver } from "../../../platform/kube/connection/http_client.ts";
import { endingWith } from "../../../platform/kube/connection/ending_body.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { BEARER_SPELLINGS, namedSite } from "../../support/named_readers.ts";

const HOSTILE = "eve";
const ADMIN = "ada";
const CONNECTIONS = 500;

/** A site before an API server that answers everybody but the hostile, whom it keeps waiting. */
function start() {
  const clock = new FakeClock();
  /** Calls as the hostile that wait now. */
  const calls = { open: 0, most: 0 };
  const clientOf = (token: string) =>
    createClientOver({
      send({ path }, signal) {
        if (token !== HOSTILE) {
          const object = { metadata: { name: "job", namespace: "ns", uid: "u" }, items: [] };
          return Promise.resolve(endingWith(Response.json(object), signal));
        }
        if (path.includes("/log")) {
          const body = new ReadableStream({ start: (it) => it.enqueue(new Uint8Array([65])) });
          const headers = { "content-type": "text/plain" };
          return Promise.resolve(endingWith(new Response(body, { headers }), signal));
        }
        calls.most = Math.max(calls.most, ++calls.open);
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            calls.open--;
            reject(signal.reason);
          }, { once: true });
        });
      },
      close() {},
    }, { clock });
  const site = namedSite(clock, clientOf);

  /** Sends a request; `answer.status` is there when it was answered. */
  function send(
    authorization: string,
    path: string,
    { method = "GET", readBody = () => Promise.resolve(new TextEncoder().encode("{}")) } = {},
  ) {
    const gone = new AbortController();
    const headers: Record<string, string> = {
      host: "page.example",
      authorization,
      "x-milepost": "1",
      "content-type": "application/json",
    };
    const request: HttpRequest = {
      method,
      url: path,
      peer: "192.0.2.1",
      header: (name) => headers[name],
      signal: () => gone.signal,
      readBody,
    };
    const answer: { response?: HttpResponse; leave(): void } = { leave: () => gone.abort() };
    site(request).then((response) => answer.response = response, () => {});
    return answer;
  }
  return { clock, calls, send };
}

const OBJECT = `/objects/${TRAINJOB.id}/ns/job`;
const hostileHeader = (index: number) =>
  `${BEARER_SPELLINGS[index % BEARER_SPELLINGS.length]}${HOSTILE}`;
type World = ReturnType<typeof start>;

/** What the hostile account does on each of its connections. */
const attacks: Record<string, (world: World, header: string) => { leave(): void }> = {
  "reads what takes long": ({ send }, header) => send(header, OBJECT),
  "sends bodies that never end": ({ send }, header) =>
    send(header, `/delete/${TRAINJOB.id}/ns/job`, {
      method: "POST",
      readBody: () => new Promise(() => {}),
    }),
};
for (const [what, attack] of Object.entries(attacks)) {
  Deno.test(`an admin is served at once beside ${CONNECTIONS} connections of an account that ${what}`, async () => {
    const world = start();
    const { clock, send, calls } = world;
    const hostile = Array.from(
      { length: CONNECTIONS },
      (_, index) => attack(world, hostileHeader(index)),
    );
    await clock.advance(0);
    const read = send(`Bearer ${ADMIN}`, OBJECT);
    const change = send(`Bearer ${ADMIN}`, `/delete/${TRAINJOB.id}/ns/job`, { method: "POST" });
    await clock.advance(0);
    assert.deepEqual([read.response?.status, change.response?.status], [200, 200]);
    assert.ok(calls.most <= 4, `${calls.most} reads at once for one account`);
    hostile.forEach((it) => it.leave());
    await clock.advance(60_000);
  });
}

Deno.test("an account follows so many logs and no more, however it writes its token", async () => {
  const { clock, send } = start();
  const logs = Array.from(
    { length: CONNECTIONS },
    (_, index) => send(hostileHeader(index), "/logs/ns/pod?follow=true"),
  );
  await clock.advance(0);
  const statuses = logs.map(({ response }) => response?.status);
  assert.equal(statuses.filter((it) => it === 200).length, 20);
  assert.equal(statuses.filter((it) => it === 429).length, CONNECTIONS - 20);
  for (const { response, leave } of logs) {
    const gone = AbortSignal.abort();
    void response?.stream?.({ write: () => Promise.resolve(), signal: gone });
    leave();
  }
  await clock.advance(60_000);
});
