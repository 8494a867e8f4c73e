/** Tests of what the page asks about its one user: rights, who has a session, and which jobs are held. */
import assert from "node:assert/strict";
import { createUserAccess } from "../../../page/user_cluster/user_access.ts";
import { createUserRights } from "../../../page/user_cluster/user_rights.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { at } from "../../../platform/base/json.ts";
import { type MadeUp, reviewed, withAnswers } from "../../support/api_answers.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const IN_A = { kind: TRAINJOB, namespace: "a" };
const tokenOf = (token: string) => ({ token, hash: token, isForApi: true, expiresMs: Infinity });

Deno.test("rights are what the API server says of the user itself, believed for a while, asked once at a time", async () => {
  const clock = new FakeClock();
  let answer: MadeUp = reviewed(true);
  await withAnswers(() => answer, async (client, asked) => {
    const rights = createUserRights({ client, clock });
    const may = () => rights.may(IN_A, "list");
    assert.deepEqual(await Promise.all([may(), may()]), [true, true]);
    assert.deepEqual(asked.map(({ path, body }) => [path, at(body, "spec")]), [[
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      {
        resourceAttributes: {
          verb: "list",
          group: TRAINJOB.group,
          version: TRAINJOB.version,
          resource: TRAINJOB.plural,
          namespace: "a",
        },
      },
    ]]);
    answer = reviewed(false);
    await clock.advance(19_000);
    assert.equal(await may(), true);
    await clock.advance(2_000);
    assert.equal(await may(), false);
    answer = reviewed(true);
    assert.equal(await may(), false);
    await clock.advance(6_000);
    assert.equal(await may(), true);
    assert.equal(asked.length, 3);
    await rights.close();
  });
});

Deno.test("where nobody can say what the user may, that is neither yes nor no, and is named", async () => {
  let answer: MadeUp = 403;
  await withAnswers(() => answer, async (client) => {
    const rights = createUserRights({ client, clock: new FakeClock() });
    assert.deepEqual(rights.missing(), []);
    assert.equal(await rights.may(IN_A, "list"), undefined);
    assert.match(rights.missing().join(), /may not create selfsubjectaccessreviews/);
    answer = 500;
    assert.equal(await rights.may(IN_A, "list"), undefined);
    assert.match(rights.missing().join(), /the API server cannot be asked what the user may: /);
    answer = reviewed(true);
    assert.equal(await rights.may(IN_A, "list"), true);
    assert.deepEqual(rights.missing(), []);
    await rights.close();
  });
});

/** Access with a session `good`; `may` and `hasRoom` are its answers. */
function access(may: boolean | undefined, hasRoom = true) {
  const held: unknown[] = [];
  const parts = createUserAccess({
    clock: new FakeClock(),
    sessions: { has: (key) => key === "good" },
    rights: {
      may: () => Promise.resolve(may),
      missing: () => [],
      close: () => Promise.resolve(),
    },
    user: "ada",
    ensureCached: (object) => {
      held.push(object);
      return Promise.resolve(hasRoom);
    },
  });
  return { ...parts.access, held };
}

Deno.test("who has a session is the user, and nobody else is", async () => {
  const { authenticate } = access(true);
  assert.equal(await authenticate(tokenOf("bad")), "refused");
  const reader = await authenticate(tokenOf("good"));
  assert.equal(at(reader, "username"), "ada");
});

const HELD: Readonly<
  Record<string, { may?: boolean; verb?: "get"; hasRoom?: boolean; want: unknown; holds: number }>
> = {
  "jobs that the user may list": { may: true, want: true, holds: 1 },
  "jobs for which there is no room": { may: true, hasRoom: false, want: false, holds: 1 },
  "jobs that the user may not list": { may: false, want: false, holds: 0 },
  "jobs of which nobody knows": { want: "unavailable", holds: 0 },
  "a job that is read": { may: true, verb: "get", want: true, holds: 0 },
};
for (const [sentence, { may, verb = "list", hasRoom, want, holds }] of Object.entries(HELD)) {
  Deno.test(`the access of the page's user to ${sentence}`, async () => {
    const { authorize, held } = access(may, hasRoom);
    const reader = { username: "ada", groups: [], key: "ada" };
    assert.equal(await authorize(reader, IN_A, verb), want);
    assert.equal(held.length, holds);
  });
}
