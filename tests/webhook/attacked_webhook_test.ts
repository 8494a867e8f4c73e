/**
 * Test of the webhook port under attack from four addresses: they take no more than their rates, and the API server's
 * reviews are answered. `deno task bench attack` measures how soon.
 */
import assert from "node:assert/strict";
import { Agent } from "node:https";
import { LABELS } from "../../crds/names.ts";
import { createAddressList } from "../../platform/http/limits/address_list.ts";
import { startServer } from "../../platform/http/server.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import {
  ADMISSION_LIMITS,
  ADMISSION_SERVER_LIMITS,
  COST_OF_VALUE,
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

const ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const LABEL_COUNT = 48_000;

/** A review of 600 kB that keeps every bound, and costs the most of those that do. */
function costlyReview(): string {
  const labels = Object.fromEntries(
    Array.from({ length: LABEL_COUNT }, (_, index) => [`k${index}`, "v"]),
  );
  return JSON.stringify(
    review(pod({ labels: { ...labels, [LABELS.trainJobName]: "tj" } }), { kind }),
  );
}

/** Lets the attackers send costly reviews over eight connections each. Returns what they met. */
async function attack(port: number) {
  const plan: Attack = {
    port,
    addresses: ADDRESSES,
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

/** Returns how many of the costly reviews the rates allow within a time. */
function mostAllowed(elapsedMs: number): number {
  const { ratePerSecond, burst } = ADMISSION_LIMITS.rate.perPeer;
  const cost = COST_OF_VALUE * LABEL_COUNT;
  return ADDRESSES.length * (burst + ratePerSecond * elapsedMs / 1000) / cost;
}

for (const apiServers of [[], [HOST]]) {
  const named = apiServers.length === 0 ? "unnamed" : "named";
  Deno.test(`the reviews of an API server that is ${named} are answered while four addresses send more than they may`, async () => {
    const server = await start(apiServers);
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const beganMs = systemClock.monotonic();
    const statuses: number[] = [];
    let isOver = false;
    const attacking = attack(server.port).finally(() => isOver = true);
    const plan = { port: server.port, path: WEBHOOK_PATHS.mutatePods, body: HONEST };
    while (!isOver) {
      statuses.push((await postReview(plan, HOST, agent)).status);
      await systemClock.sleep(25);
    }
    const met = await attacking;
    const elapsedMs = systemClock.monotonic() - beganMs;
    agent.destroy();
    await server.close(1000);
    assert.deepEqual([...new Set(statuses)], [200]);
    const { 200: allowed = 0, 429: refused = 0, 0: closed = 0 } = met;
    assert(allowed <= mostAllowed(elapsedMs), `${allowed} in ${elapsedMs} ms`);
    assert(refused + closed > 0, "the attackers were over their rates");
  });
}
