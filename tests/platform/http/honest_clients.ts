/** Clients that push one status after the other and must never be refused. For tests and benchmarks. */
import assert from "node:assert/strict";
import { answersIn, dial, exchange, type RawTarget } from "../../status/hostile/connection.ts";

/** Pushes on a new connection each, until aborted. Returns the number of accepted pushes. */
export async function pushHonestly(
  target: RawTarget,
  honest: string,
  signal: AbortSignal,
): Promise<number> {
  let pushes = 0;
  while (!signal.aborted) {
    const answers = answersIn(await exchange(target, honest));
    assert.deepEqual(answers.map(({ code }) => code), [200]);
    pushes += 1;
  }
  return pushes;
}

/** Pushes on one connection, until aborted. Returns the number of accepted pushes. */
export async function pushOnOne(
  target: RawTarget,
  honest: string,
  signal: AbortSignal,
): Promise<number> {
  const socket = dial(target);
  let heard = "";
  let failed: Error | undefined;
  let wake = () => {};
  socket.setEncoding("utf8");
  socket.on("data", (chunk) => {
    heard += String(chunk);
    wake();
  });
  socket.on("error", (error) => failed = error);
  socket.on("close", () => {
    failed ??= new Error("the connection was closed");
    wake();
  });
  socket.once("secureConnect", () => socket.write(honest));
  let pushes = 0;
  for (;;) {
    await new Promise<void>((resolve) => wake = resolve);
    if (failed !== undefined) throw failed;
    if (!heard.endsWith("}")) continue;
    assert.deepEqual(answersIn(heard).map(({ code }) => code), [200]);
    pushes += 1;
    heard = "";
    if (signal.aborted) break;
    socket.write(honest);
  }
  socket.removeAllListeners("close");
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.destroy();
  await closed;
  return pushes;
}
