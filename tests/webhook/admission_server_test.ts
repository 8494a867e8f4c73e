/** Tests of the admission server on real sockets: TLS, certificate swap, limits, end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request } from "node:https";
import { connect as connectPlain } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { ConfigurationError } from "../../platform/kube/errors.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import { createFairShare, type FairShare } from "../../platform/http/limits/fair_share.ts";
import { connectionsInAll, type ServerLimits } from "../../platform/http/limits/server_limits.ts";
import { type Server, startServer } from "../../platform/http/server.ts";
import { systemClock } from "../../platform/base/clock.ts";
import {
  ADMISSION_LIMITS,
  ADMISSION_SERVER_LIMITS,
  type AdmissionHandlers,
  type AdmissionLimits,
  createAdmissionHttp,
} from "../../webhook/admission_http.ts";
import { createAuthority, issueServingCertificate } from "../../webhook/certificate_authority.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { until } from "../support/until.ts";
import { admissionOptions, review, trainJob } from "./builders.ts";

const HOST = "127.0.0.1";

async function identity() {
  const authority = await createAuthority(Date.now());
  const serving = await issueServingCertificate(authority, ["svc.ns.svc", HOST], Date.now());
  return { ca: authority.certificate, cert: serving.certificate, key: serving.key };
}

interface Changes {
  readonly port?: number;
  readonly handlers?: AdmissionHandlers;
  readonly limits?: Partial<ServerLimits & AdmissionLimits>;
  readonly bodyBudget?: FairShare;
}

async function start({ port = 0, handlers, limits, bodyBudget }: Changes = {}) {
  const tls = await identity();
  const handle = createAdmissionHttp(
    handlers ?? createAdmissionHandlers(admissionOptions()),
    systemClock,
    { limits: { ...ADMISSION_LIMITS, ...limits } },
  );
  const server = await startServer({
    name: "webhook",
    port,
    portSetting: "--webhook-port",
    hostname: HOST,
    tls: { cert: tls.cert, key: tls.key },
    handle,
    clock: systemClock,
    limits: { ...ADMISSION_SERVER_LIMITS, ...limits },
    bodyBudget,
  });
  const held = { now: tls };
  return { server, held };
}

/** Posts a review; resolves with the status. */
async function post(port: number, ca: string, agent: Agent | undefined, body: string) {
  const sent = request({
    host: HOST,
    port,
    path: WEBHOOK_PATHS.validateTrainJobs,
    method: "POST",
    ca,
    agent,
    servername: "svc.ns.svc",
    headers: { "content-type": "application/json" },
  });
  const answered = new Promise<{ code: number; text: string; retryAfter?: string }>(
    (resolve, reject) => {
      sent.on("error", reject);
      sent.on("response", async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve({
          code: response.statusCode ?? 0,
          text,
          retryAfter: response.headers["retry-after"],
        });
      });
    },
  );
  sent.end(body);
  return await answered;
}

const BODY = JSON.stringify(review(trainJob()));

Deno.test("the admission server is verified by node:tls and swaps its certificate live", async () => {
  const { server, held } = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const first = held.now;
    assert.equal((await post(server.port, first.ca, agent, BODY)).code, 200);
    held.now = await identity();
    server.updateTls({ cert: held.now.cert, key: held.now.key });
    const kept = await post(server.port, first.ca, agent, BODY);
    assert.equal(kept.code, 200, "the open connection goes on");
    const other = new Agent({ keepAlive: false });
    assert.equal((await post(server.port, held.now.ca, other, BODY)).code, 200);
    const both = first.ca + held.now.ca;
    assert.equal((await post(server.port, both, new Agent(), BODY)).code, 200, "a bundle of both");
    await assert.rejects(post(server.port, first.ca, new Agent(), BODY));
  } finally {
    agent.destroy();
    await server.close(2000);
  }
});

Deno.test("the admission server answers a chunked body that is too large with 413", async () => {
  const { server, held } = await start({ limits: { bodyBytes: 1000 } });
  try {
    const { code, text } = await post(server.port, held.now.ca, new Agent(), "x".repeat(1001));
    assert.equal(code, 413, text);
  } finally {
    await server.close(2000);
  }
});

Deno.test("the admission server does not reveal internal errors", async () => {
  const runtime = () => {
    throw new Error("secret detail");
  };
  const handlers = createAdmissionHandlers(admissionOptions({ runtime }));
  const { server, held } = await start({ handlers });
  try {
    const { code, text } = await post(server.port, held.now.ca, new Agent(), BODY);
    assert.equal(code, 500);
    assert.doesNotMatch(text, /secret|at |\.ts/);
  } finally {
    await server.close(2000);
  }
});

Deno.test("the admission server asks to try again if there is no room for the body", async () => {
  const { server, held } = await start({ bodyBudget: createFairShare(10) });
  try {
    const { code, retryAfter } = await post(server.port, held.now.ca, new Agent(), BODY);
    assert.deepEqual([code, retryAfter], [503, "1"]);
  } finally {
    await server.close(2000);
  }
});

async function secured(port: number, ca: string): Promise<TLSSocket> {
  const socket = connect({ host: HOST, port, ca, servername: "svc.ns.svc" });
  await once(socket, "secureConnect");
  return socket;
}

const LENGTH = "content-type: application/json\r\ncontent-length: 100\r\n\r\n";
const HEAD = `POST ${WEBHOOK_PATHS.mutatePods} HTTP/1.1\r\nhost: a\r\n`;
const hanging: Record<string, string> = {
  "says nothing": "",
  "never ends its head": `${HEAD}x-half: `,
  "never ends its body": `${HEAD}${LENGTH}{`,
};
for (const [sentence, bytes] of Object.entries(hanging)) {
  Deno.test(`the admission server closes a connection that ${sentence}`, async () => {
    const { server, held } = await start({
      limits: { headerMs: 400, requestMs: 600, checkEveryMs: 20 },
    });
    try {
      const socket = await secured(server.port, held.now.ca);
      const closed = once(socket, "close");
      socket.on("error", () => {});
      if (bytes !== "") socket.write(bytes);
      socket.resume();
      await closed;
    } finally {
      await server.close(2000);
    }
  });
}

Deno.test("the admission server closes a connection that never begins TLS", async () => {
  const { server } = await start({ limits: { headerMs: 50 } });
  try {
    const socket = connectPlain(server.port, HOST);
    socket.on("error", () => {});
    socket.resume();
    await once(socket, "close");
  } finally {
    await server.close(2000);
  }
});

Deno.test("the admission server takes no more connections than its limit", async () => {
  const { server, held } = await start({ limits: { connections: connectionsInAll(1) } });
  try {
    const socket = await secured(server.port, held.now.ca);
    await assert.rejects(post(server.port, held.now.ca, new Agent(), BODY));
    socket.destroy();
  } finally {
    await server.close(0);
  }
});

Deno.test("the admission server survives what is not TLS", async () => {
  const { server, held } = await start();
  try {
    const plain = connectPlain({ host: HOST, port: server.port });
    plain.on("error", () => {});
    plain.write("GET / HTTP/1.1\r\n\r\n");
    plain.resume();
    await once(plain, "close");
    assert.equal((await post(server.port, held.now.ca, new Agent(), BODY)).code, 200);
  } finally {
    await server.close(2000);
  }
});

Deno.test("`close()` lets the request in hand finish, and cuts what hangs", async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<undefined>();
  const handlers = createAdmissionHandlers(admissionOptions({
    runtime: () => {
      entered.resolve();
      return release.promise;
    },
  }));
  const { server, held } = await start({ handlers });
  const hanging = await secured(server.port, held.now.ca);
  hanging.on("error", () => {});
  hanging.resume();
  const hung = once(hanging, "close");
  const answering = post(server.port, held.now.ca, new Agent(), BODY);
  await entered.promise;
  const closing = server.close(200);
  release.resolve(undefined);
  assert.equal((await answering).code, 200);
  await Promise.all([closing, hung]);
});

Deno.test("`close()` cuts a connection that never began TLS", async () => {
  const { server, held } = await start({ limits: { headerMs: 600_000, requestMs: 600_000 } });
  const socket = connectPlain(server.port, HOST);
  socket.on("error", () => {});
  socket.resume();
  await once(socket, "connect");
  // One that came later was answered: the silent one has been accepted.
  await post(server.port, held.now.ca, new Agent(), BODY);
  const closed = once(socket, "close");
  await server.close(20);
  await closed;
});

Deno.test("the admission server says in one line that the port is taken", async () => {
  const { server } = await start();
  try {
    await assert.rejects(
      start({ port: server.port }),
      (error) =>
        error instanceof ConfigurationError &&
        error.message === `--webhook-port: port ${server.port} is taken; choose another`,
    );
  } finally {
    await server.close(2000);
  }
});

/** Sends a review again and again, without reading, until the server has closed the connection. */
async function floodWithReviews({ port, connections }: Server): Promise<void> {
  const asked = [
    `POST ${WEBHOOK_PATHS.validateTrainJobs} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/json",
    `Content-Length: ${BODY.length}`,
    "",
    BODY,
  ].join("\r\n");
  const socket = connect({ host: HOST, port, rejectUnauthorized: false });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  const asking = setInterval(() => {
    if (socket.writable && socket.writableLength < 1_000_000) socket.write(asked.repeat(1000));
  }, 5);
  try {
    await until("the connection is closed", () => connections() === 0, { timeoutMs: 20_000 });
  } finally {
    clearInterval(asking);
    socket.destroy();
  }
}

Deno.test("the admission server cuts a client that asks on and on and reads no answer", async () => {
  const { server, held } = await start();
  try {
    await floodWithReviews(server);
    assert.equal((await post(server.port, held.now.ca, new Agent(), BODY)).code, 200);
  } finally {
    await server.close(2000);
  }
});

Deno.test("the admission server decides at most 64 reviews of a connection at once", async () => {
  let undecided = 0;
  const release = Promise.withResolvers<undefined>();
  const handlers = createAdmissionHandlers(admissionOptions({
    runtime: () => {
      undecided += 1;
      return release.promise;
    },
  }));
  const { server } = await start({ handlers });
  try {
    await floodWithReviews(server);
    assert.ok(undecided > 0 && undecided <= 64, `${undecided} reviews`);
  } finally {
    release.resolve(undefined);
    await server.close(2000);
  }
});
