/** Hostile visitors of the page in a cluster: 500 connections of one account, in all spellings of its token, beside an admin's. */
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { freePort } from "../../../tests/support/free_port.ts";
import { startLargeObjects } from "../../../tests/support/large_objects_server.ts";
import { BEARER_SPELLINGS } from "../../../tests/support/named_readers.ts";
import { until } from "../../../tests/support/until.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";
import { runLoads } from "../../generator/generator.ts";
import { type Hold, runHolds } from "../../generator/holds.ts";
import type { Load, LoadPlan } from "../../generator/plan.ts";
import { peakRssMb } from "../../process_stats.ts";
import type { Measure } from "../../result.ts";
import { runAttackers } from "../attackers.ts";
import { failures, idleAttacks, medianOf } from "../verdicts.ts";

/** Of each spelling: connections that read what is large, and that stop a byte short. */
const [READERS, SENDERS] = [23, 23];
const [TURN_MS, WARM_UP_MS] = [15_000, 3_000];
const ADMIN_PER_SECOND = 10;
/** Pods of a tenant's job, and bytes of each. */
const [OBJECTS, BYTES] = [110, 900_000];
/** The limit of the Deployment. */
const MOST_MB = 512;

/** A page that serves. */
interface Page {
  readonly pid: number;
  readonly address: string;
  readonly caPem: string;
}

const detailsOf = (namespace: string) => `/objects/${TRAINJOB.id}/${namespace}/job`;

function admin({ address, caPem }: Page): LoadPlan {
  return {
    name: "an admin",
    caPem,
    targets: [{ url: `https://${address}${detailsOf("team")}` }],
    headers: { authorization: "Bearer ada" },
    method: "GET",
    body: "",
    connections: 4,
    rate: ADMIN_PER_SECOND,
    durationMs: TURN_MS,
    warmUpMs: WARM_UP_MS,
  };
}

const readers = (page: Page): LoadPlan[] =>
  BEARER_SPELLINGS.map((spelling, number): LoadPlan => ({
    ...admin(page),
    name: `reads large pods (${number})`,
    targets: [{ url: `https://${page.address}${detailsOf("tenant")}` }],
    headers: { authorization: `${spelling}eve` },
    connections: READERS,
    rate: 20,
    timeoutMs: TURN_MS,
  }));

const senders = ({ address }: Page): Hold[] =>
  BEARER_SPELLINGS.map((spelling, number): Hold => ({
    name: `changes one byte short (${number})`,
    address,
    sources: ["127.0.0.1"],
    count: SENDERS,
    rate: SENDERS,
    tls: true,
    text: `POST /delete/${TRAINJOB.id}/tenant/job HTTP/1.1\r\nHost: ${address}\r\n` +
      `Authorization: ${spelling}eve\r\nX-Milepost: 1\r\nContent-Type: application/json\r\n` +
      "Content-Length: 16000\r\n\r\n",
    more: 15_999,
  }));

/** Starts `milepost ui --in-cluster` before an API server. */
async function startPage(
  folder: string,
  program: readonly string[],
  cleanup: AsyncDisposableStack,
): Promise<Page> {
  const authority = await createAuthority(Date.now());
  const { certificate: cert, key } = await issueServingCertificate(
    authority,
    ["127.0.0.1"],
    Date.now(),
  );
  const server = startLargeObjects({ objects: OBJECTS, bytes: BYTES, tls: { cert, key } });
  cleanup.use(server);
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "large",
      cluster: {
        server: server.url,
        "certificate-authority-data": btoa(authority.certificate),
      },
    }],
    users: [{ name: "ui", user: { token: "the-ui" } }],
    contexts: [{ name: "large", context: { cluster: "large", user: "ui" } }],
    "current-context": "large",
  };
  const files = {
    kubeconfig: JSON.stringify(kubeconfig),
    "tls.crt": cert,
    "tls.key": key,
    token: "none",
    "ca.crt": authority.certificate,
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  const [port, health] = [freePort(), freePort()];
  const [command = "", ...before] = program;
  const child = new Deno.Command(command, {
    args: [
      ...before,
      "ui",
      "--in-cluster",
      `--kubeconfig=${folder}/kubeconfig`,
      "--bind-address=127.0.0.1",
      `--ui-port=${port}`,
      `--health-port=${health}`,
      `--tls-cert=${folder}/tls.crt`,
      `--tls-key=${folder}/tls.key`,
      `--manager-url=https://127.0.0.1:1`,
      `--manager-token=${folder}/token`,
      `--manager-ca=${folder}/ca.crt`,
    ],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  cleanup.defer(async () => {
    child.kill("SIGTERM");
    await child.status;
  });
  await until("the page is ready", async () => {
    const answer = await fetch(`http://127.0.0.1:${health}/readyz`);
    await answer.body?.cancel();
    return answer.ok;
  }, { timeoutMs: 60_000 });
  return { pid: child.pid, address: `127.0.0.1:${port}`, caPem: authority.certificate };
}

/** Runs the scene; `program` is that of the executable. */
export async function visitorMeasures(
  folder: string,
  program: readonly string[],
  say: (text: string) => void,
): Promise<Measure[]> {
  await using cleanup = new AsyncDisposableStack();
  const page = await startPage(folder, program, cleanup);
  say("the page, first quiet, then with hostile visitors");
  const honest = async () => (await runLoads([admin(page)])).results[0];
  const quiet: Load | undefined = await honest();
  const [attacked, hostile, held] = await Promise.all([
    honest(),
    runAttackers(readers(page)),
    runHolds(senders(page), TURN_MS),
  ]);
  return [
    failures("an admin's reads of the page that failed beside hostile visitors", [attacked]),
    { ...idleAttacks([{ hostile, held }]), name: "hostile visitors that did not reach the page" },
    {
      name: "p99 of an admin's reads beside them",
      value: medianOf([attacked], "p99"),
      unit: "ms",
      beside: { name: "quiet", value: medianOf([quiet], "p99") },
      goal: { is: "below", limit: 1_000 },
    },
    {
      name: "most memory of the page",
      value: await peakRssMb(page.pid),
      unit: "MB",
      goal: { is: "below", limit: MOST_MB },
      note: `RSS, while ${BEARER_SPELLINGS.length * READERS} connections read ${OBJECTS} pods of ` +
        `${BYTES / 1_000} kB`,
    },
  ];
}
