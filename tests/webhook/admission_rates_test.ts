/** Tests of the rates of reviews by peer address. */
import assert from "node:assert/strict";
import { createAddressList } from "../../platform/http/limits/address_list.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import { ADMISSION_LIMITS, createAdmissionHttp } from "../../webhook/admission_http.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { admissionOptions, admissionRequest, manualClock, review, trainJob } from "./builders.ts";

const API_SERVER = "10.0.0.9";
const { rate } = ADMISSION_LIMITS;
const BODY = JSON.stringify(review(trainJob()));
/** As many values as a review may hold, in few bytes. */
const MANY = JSON.stringify(review({ ...trainJob(), hostile: Array(49_000).fill(1) }));

interface Sent {
  readonly body?: string;
  /** Declared length, if not that of the body. */
  readonly length?: number;
}

function bench() {
  const clock = manualClock();
  let bodies = 0;
  const handle = createAdmissionHttp(createAdmissionHandlers(admissionOptions()), clock, {
    isReserved: createAddressList([API_SERVER]),
  });
  async function send(peer: string, { body = BODY, length }: Sent = {}) {
    const request = admissionRequest({
      url: WEBHOOK_PATHS.validateTrainJobs,
      headers: {
        "content-type": "application/json",
        "content-length": String(length ?? body.length),
      },
      body: [body],
    });
    const readBody = (maxBytes: number) => {
      bodies += 1;
      return request.readBody(maxBytes);
    };
    return await handle({ ...request, peer, readBody });
  }
  /** Sends until one is refused, or `most`. Returns how many passed, and the answer to the last. */
  async function flood(peer: string, most: number, sent?: Sent) {
    for (let passed = 0;; passed++) {
      const answer = await send(peer, sent);
      if (answer.status === 429 || passed === most) return { passed, answer };
    }
  }
  return { clock, send, flood, bodies: () => bodies };
}

Deno.test("`createAdmissionHttp()` refuses what a peer sends beyond its rate, before its body is read", async () => {
  const it = bench();
  const { passed, answer } = await it.flood("10.0.0.1", 10_000);
  assert(passed > 900 && passed <= rate.perPeer.burst / 4_096, `${passed} small reviews`);
  assert.equal(it.bodies(), passed);
  assert.deepEqual([answer.headers["Retry-After"], answer.headers.Connection], ["1", "close"]);
  assert.match(JSON.parse(answer.body).message, /--api-server-addresses/);
  assert.equal((await it.send("10.0.0.2")).status, 200);
  it.clock.advance(1000);
  assert.equal((await it.send("10.0.0.1")).status, 200);
});

Deno.test("`createAdmissionHttp()` counts the bytes of a review, its values, and an unknown length as the longest", async () => {
  const it = bench();
  const long = await it.flood("10.0.0.1", 100, { length: 3_000_000 });
  assert.equal(long.passed, 1);
  const complex = await it.flood("10.0.0.2", 100, { body: MANY });
  assert(complex.passed >= 1 && complex.passed <= 2, `${complex.passed} reviews of many values`);
});

Deno.test("`createAdmissionHttp()` keeps serving API servers whose addresses are reserved, whatever others send", async () => {
  const it = bench();
  for (let i = 1; i <= 8; i++) await it.flood(`10.0.1.${i}`, 100, { length: 3_000_000 });
  for (let i = 1; i <= 8; i++) await it.flood(`10.0.1.${i}`, 10_000);
  assert.equal((await it.send("10.0.2.1")).status, 429, "all others together");
  const { passed, answer } = await it.flood(API_SERVER, 5_000);
  assert.deepEqual([passed, answer.status], [5_000, 200]);
});
