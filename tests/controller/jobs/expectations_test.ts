/** Tests of the expectations of creations and deletions. */
import { equal } from "node:assert/strict";
import {
  createExpectations,
  EXPECTATION_MS,
  type ExpectationKey,
} from "../../../controller/jobs/expectations.ts";

const WORKERS: ExpectationKey = { job: "uid-1", type: "worker", of: "pods" };
const SERVICES: ExpectationKey = { ...WORKERS, of: "services" };

function world(jobsMax?: number) {
  const time = { now: 1000 };
  const options = { now: () => time.now, ...(jobsMax !== undefined && { jobsMax }) };
  return { time, expectations: createExpectations(options) };
}

Deno.test("a job without expectations does not wait", () => {
  equal(world().expectations.waitMs("uid-1"), 0);
});

Deno.test("a job waits until every key is met, of pods and of Services", () => {
  const { expectations } = world();
  expectations.expectCreation(WORKERS, "j-worker-0");
  expectations.expectCreation(SERVICES, "j-worker-0");
  expectations.expectDeletion({ ...WORKERS, type: "ps" }, "uid-of-pod");
  equal(expectations.waitMs("uid-1"), EXPECTATION_MS);
  expectations.creationObserved(WORKERS, "j-worker-0");
  equal(expectations.waitMs("uid-1"), EXPECTATION_MS, "one key met is not enough");
  expectations.creationObserved(SERVICES, "j-worker-0");
  expectations.deletionObserved({ ...WORKERS, type: "ps" }, "another");
  equal(expectations.waitMs("uid-1"), EXPECTATION_MS);
  expectations.deletionObserved({ ...WORKERS, type: "ps" }, "uid-of-pod");
  equal(expectations.waitMs("uid-1"), 0);
  equal(expectations.size, 0);
});

Deno.test("what was not expected lowers nothing, and the same change twice lowers once", () => {
  const { expectations } = world();
  expectations.creationObserved(WORKERS, "j-worker-0");
  expectations.expectCreation(WORKERS, "j-worker-0");
  expectations.expectCreation(WORKERS, "j-worker-1");
  expectations.creationObserved(WORKERS, "j-worker-0");
  expectations.creationObserved(WORKERS, "j-worker-0");
  equal(expectations.waitMs("uid-1"), EXPECTATION_MS);
});

Deno.test("expectations expire five minutes after the first one", () => {
  const { expectations, time } = world();
  expectations.expectCreation(WORKERS, "j-worker-0");
  time.now += 1000;
  expectations.expectCreation(WORKERS, "j-worker-1");
  equal(expectations.waitMs("uid-1"), EXPECTATION_MS - 1000);
  time.now += EXPECTATION_MS - 1001;
  equal(expectations.waitMs("uid-1"), 1);
  time.now += 1;
  equal(expectations.waitMs("uid-1"), 0);
  equal(expectations.size, 0);
});

Deno.test("jobs do not wait for each other, and no more are remembered than the bound", () => {
  const { expectations } = world(2);
  for (const job of ["a", "b", "c"]) expectations.expectCreation({ ...WORKERS, job }, "p");
  equal(expectations.size, 2);
  equal(expectations.waitMs("a"), 0);
  equal(expectations.waitMs("c"), EXPECTATION_MS);
  expectations.forget("c");
  equal(expectations.waitMs("c"), 0);
});
