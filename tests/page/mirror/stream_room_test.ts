/** Tests of the room of a stream: what is counted is what its path has. */
import assert from "node:assert/strict";
import type { JobRef } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { streamPath } from "../../../page/mirror/manager_news.ts";
import { StreamRoom } from "../../../page/mirror/stream_room.ts";

const kinds = JOB_KINDS.all;
const jobs = Array.from({ length: 60 }, (_, n): JobRef => ({
  kind: kinds[n % kinds.length] ?? TRAINJOB,
  namespace: `n${n % 7}`,
  name: `j${n % 50}`,
  uid: `uid-${n}`,
}));

Deno.test("StreamRoom counts the characters of the path of the jobs that are there", () => {
  const room = new StreamRoom();
  for (const [index, job] of jobs.entries()) {
    room.add(job);
    assert.equal(room.characters, streamPath(jobs.slice(0, index + 1)).length);
  }
  for (const [index, job] of jobs.entries()) {
    room.remove(job);
    assert.equal(room.characters, streamPath(jobs.slice(index + 1)).length);
  }
});

Deno.test("StreamRoom has room again for another namespace when the last job of one has gone", () => {
  const room = new StreamRoom();
  const of = (namespace: string, name = "a"): JobRef => ({
    kind: TRAINJOB,
    namespace,
    name,
    uid: `${namespace}-${name}`,
  });
  for (let n = 0; n < 20; n++) room.add(of(`n${n}`));
  room.add(of("n0", "b"));
  assert.equal(room.hasRoomFor(of("n0", "c")), true);
  assert.equal(room.hasRoomFor(of("other")), false);
  room.remove(of("n0", "b"));
  assert.equal(room.hasRoomFor(of("other")), false);
  room.remove(of("n0"));
  assert.equal(room.hasRoomFor(of("other")), true);
});
