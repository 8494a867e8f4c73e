/** Program that posts reviews from many addresses, over connections that send again once they are answered. */
import { Agent, request } from "node:https";
import { z } from "zod";
import { systemClock } from "../../platform/base/clock.ts";

const attackSchema = z.object({
  port: z.number(),
  addresses: z.array(z.string()),
  /** Connections of each address. */
  connections: z.number(),
  durationMs: z.number(),
  path: z.string(),
  body: z.string(),
});
/** Read from standard input as JSON. */
export type Attack = z.infer<typeof attackSchema>;

/** Written at the end as JSON: the answers by status; 0 counts connections without an answer. */
export const metSchema = z.record(z.string(), z.number());

/** Posts a review from an address. Returns the status, 0 if there was no answer, and the time. */
export function postReview(
  { port, path, body }: Pick<Attack, "port" | "path" | "body">,
  localAddress: string,
  agent: Agent,
): Promise<{ status: number; ms: number }> {
  const beganMs = performance.now();
  return new Promise((resolve) => {
    const settle = (status: number) => resolve({ status, ms: performance.now() - beganMs });
    const sent = request({
      host: "127.0.0.1",
      port,
      localAddress,
      agent,
      path,
      method: "POST",
      rejectUnauthorized: false,
      headers: { "content-type": "application/json", "content-length": body.length },
    });
    sent.on("error", () => settle(0));
    sent.on("response", (response) => {
      response.on("error", () => settle(0));
      response.on("end", () => settle(response.statusCode ?? 0)).resume();
    });
    sent.end(body);
  });
}

async function attack(plan: Attack): Promise<z.infer<typeof metSchema>> {
  const met: Record<string, number> = {};
  const endMs = performance.now() + plan.durationMs;
  const connections = plan.addresses.flatMap((address) =>
    Array.from({ length: plan.connections }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (performance.now() < endMs) {
        const { status } = await postReview(plan, address, agent);
        met[status] = (met[status] ?? 0) + 1;
        // What is refused costs the attacker more than the server.
        if (status !== 200) await systemClock.sleep(50);
      }
      agent.destroy();
    })
  );
  await Promise.all(connections);
  return met;
}

if (import.meta.main) {
  const text = await new Response(Deno.stdin.readable).text();
  const met = await attack(attackSchema.parse(JSON.parse(text)));
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(met)));
}
