/** Test of objects that ask for as many pods as a number can say, in a process of little memory. */
import { equal, ok } from "node:assert/strict";

Deno.test("objects with 2³¹-1 in every count take less than 256 MB, and others are reconciled meanwhile", async () => {
  const program = new URL("../../controller/hostile_counts_program.ts", import.meta.url);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--v8-flags=--max-old-space-size=256", program.pathname],
    signal: AbortSignal.timeout(120_000),
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  equal(code, 0, text(stderr));
  const peak = Number(text(stdout));
  ok(peak > 0 && peak < 256, `${peak} MB`);
});
