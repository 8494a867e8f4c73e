/**
 * Test of the webhook port under attack from four addresses: the API server's reviews are answered in time. Time is the
 * processor time of this process, in which the server and the API server's client run: it does not depend on what else
 * runs on the machine. `deno task bench attack` measures the rest.
 */
import assert from "node:assert/strict";
import { Agent } from "node:https";
import process from "node:process";
import { LABELS } from "../../crds/names.ts";
import { createAddressList } from "../../http/limits/address_list.ts";
import { startServer } from "../../http/server.ts";
import { systemClock } from "../../kube/clock.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import {
  ADMISSION_SERVER_LIMITS,
  createAdmissionHttp,
  reservedForApiServers,
} from "../../webhook/admission_http.ts";
import { createAuthority, issueServingCertificate } from "../../webhook/certificate_authority.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { run } from "../support/command.ts";
import { type Attack, metSchema, postReview } from "./attacking_peers.ts";
import { admissionOptions, pod, review } from "./builders.ts";

const HOST = "127.0.0.1";
const kind = { group: "", version: "v1", kind: "Pod" };
const HONEST = JSON.stringify(review(pod(), { kind }));

/** A review of 600 kB that keeps every bound, and costs the most of those that do: 48,000 labels. */
function costlyReview(): string {
  const labels = Object.fromEntries(
    Array.from({ length: 48_000 }, (_, index) => [`k${index}`, "v"]),
  );
  return JSON.stringify(
    review(pod({ labels: { ...labels, [LABELS.trainJobName]: "tj" } }), { kind }),
  );
}

/** Lets the attackers send costly reviews over eight connections each. Returns what they met. */
async function attack(port: number) {
  const plan: Attack = {
    port,
    addresses: ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"],
    connections: 8,
    durationMs: 4_000,
    path: WEBHOOK_PATHS.mutatePods,
    body: costlyReview(),
  };
  const { code, stdout, stderr } = await run(Deno.execPath(), {
    args: ["run", "-A", "--no-check", new URL("attacking_peers.ts", import.meta.url).pathname],
    stdin: JSON.stringify(plan),
    timeoutMs: 60_000,
  });
  assert.equal(code, 0, stderr);
  return metSchema.parse(JSON.parse(stdout));
}

async function start(apiServers: readonly string[]) {
  const authority = await createAuthority(Date.now());
  const serving = await issueServingCertificate(authority, [HOST], Date.now());
  const isReserved = createAddressList(apiServers);
  return await startServer({
    name: "webhook",
    port: 0,
    portSetting: "--webhook-port",
    hostname: HOST,
    tls: { cert: serving.certificate, key: serving.key },
    clock: systemClock,
    handle: createAdmissionHttp(createAdmissionHandlers(admissionOptions()), systemClock, {
      isReserved,
    }),
    limits: ADMISSION_SERVER_LIMITS,
    reserved: reservedForApiServers(isReserved),
  });
}

for (const apiServers of [[], [HOST]]) {
  const named = apiServers.length === 0 ? "unnamed" : "named";
  Deno.test(`the reviews of an ${named} API server are answered within a second while four addresses send costly ones`, async () => {
    const server = await start(apiServers);
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const honest: { status: number; ms: number }[] = [];
    let isOver = false;
    const attacking = attack(server.port).finally(() => isOver = true);
    const plan = { port: server.port, path: WEBHOOK_PATHS.mutatePods, body: HONEST };
    while (!isOver) {
      const before = process.cpuUsage();
      const { status } = await postReview(plan, HOST, agent);
      const { user, system } = process.cpuUsage(before);
      honest.push({ status, ms: (user + system) / 1000 });
      await systemClock.sleep(25);
    }
    const met = await attacking;
    agent.destroy();
    await server.close(1000);
    assert(honest.every(({ status }) => status === 200));
    const times = honest.map(({ ms }) => ms).sort((a, b) => a - b);
    const p99 = times[Math.floor(0.99 * times.length)] ?? Infinity;
    assert(p99 < 1000, `p99 is ${p99} ms; the attackers met ${JSON.stringify(met)}`);
    assert((met[429] ?? 0) + (met[0] ?? 0) > 0, "the attackers were over their rates");
  });
}
