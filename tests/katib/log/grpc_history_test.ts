/** Tests of the client of histories: servers without the service, and those that fail. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { status } from "@grpc/grpc-js";
import { CallError } from "../../../katib/log/db_manager_client.ts";
import { createGrpcHistory } from "../../../katib/log/grpc_history.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { trial } from "./sink_conformance.ts";

const signal = new AbortController().signal;
const key = trial("a");

Deno.test("a server without the service is asked again after five minutes", async () => {
  const clock = new FakeClock();
  const calls: string[] = [];
  let answer: () => Promise<Buffer> = () =>
    Promise.reject(new CallError(status.UNIMPLEMENTED, "unknown method"));
  const client = { call: (path: string) => (calls.push(path.split("/")[2] ?? ""), answer()) };
  const history = createGrpcHistory(client, clock, ({ name }) => name);
  assert.equal(await history.read(key, signal), undefined);
  await history.keep([{ key, text: "seen" }], signal);
  assert.deepEqual(calls, ["Read"]);
  await clock.advance(300_000);
  answer = () => Promise.resolve(Buffer.from('{"text":"seen"}'));
  assert.equal(await history.read(key, signal), "seen");
  answer = () => Promise.reject(new CallError(status.UNAVAILABLE, "down"));
  for (const work of [history.read(key, signal), history.keep([{ key }], signal)]) {
    await assert.rejects(work, (error) => error instanceof SinkError && error.message === "down");
  }
  answer = () => Promise.resolve(Buffer.from("no JSON"));
  await assert.rejects(history.read(key, signal));
});
