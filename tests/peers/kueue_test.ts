/** Kueue itself with Milepost: it admits, evicts, readmits and finishes TrainJobs. */
import { endOfLog } from "../cluster/control_plane/daemon.ts";
import { findPeer, testWithPeer } from "./support/peer.ts";
import { KUEUE } from "./support/kueue.ts";
import { checkRecording } from "./kueue/record.ts";
import { guideCommands } from "./kueue/guide.ts";
import * as scenes from "./kueue/scenarios.ts";
import * as special from "./kueue/special_scenarios.ts";
import { type KueueWorld, withKueue } from "./kueue/world.ts";

/** Each scene, with the TrainJobs that are deleted after it. */
const SCENES: Readonly<
  Record<string, readonly [scene: (world: KueueWorld) => Promise<void>, ...names: string[]]>
> = {
  "a job is admitted, gets its patch, is ready and finishes": [scenes.admittedAndFinished, "first"],
  "a job that fails gives its quota back": [scenes.failed, "failing"],
  "a job without a queue runs at once": [scenes.withoutQueue, "free"],
  "a job waits until there is room": [scenes.waitsForRoom, "large", "next"],
  "a low priority is evicted by a high one and readmitted with another flavor": [
    scenes.preempted,
    "low",
    "high",
  ],
  "a user who suspends or resumes against Kueue is overruled": [
    scenes.usersAgainstIt,
    "stubborn",
    "eager",
  ],
  "a Workload is deactivated, activated and deleted": [scenes.workloadsTakenAway, "switched"],
  "topology gates reach the pods and are taken away": [special.topology, "placed"],
  "the quota of an initializer that has ended is reclaimed": [special.reclaimed, "staged"],
  "the runtime is deleted while its job runs": [special.runtimeDeleted, "orphan"],
  "the runtime is deleted while its job runs, and then the job": [
    special.runtimeAndJobDeleted,
    "unwanted",
  ],
  "a job of MultiKueue is left alone": [special.multiKueue, "remote", "local"],
  "a patch of Kueue for an unknown job is refused": [special.unknownJob, "astray"],
  "the commands of the guide do what it says": [guideCommands, "queued"],
};

const found = await findPeer(KUEUE);

/** Runs a scene, and adds the end of Kueue's log to what it throws. */
async function play(
  world: KueueWorld,
  [scene, ...jobs]: readonly [scene: (world: KueueWorld) => Promise<void>, ...names: string[]],
): Promise<void> {
  try {
    await scene(world);
    // The Workloads of ended jobs are kept; their quota is not.
    await world.quotaIsFree();
    for (const job of jobs) await world.remove(job);
  } catch (cause) {
    throw new Error(`Kueue's log ends with:\n${await endOfLog(world.kueue.logFile, 40)}`, {
      cause,
    });
  }
}

testWithPeer(
  found,
  `Kueue ${found.version} queues TrainJobs`,
  (peer, t) =>
    withKueue(peer, async (world) => {
      for (const [name, scene] of Object.entries(SCENES)) {
        // A job that is left over holds quota, on which the next ones would wait.
        if (!await t.step(name, () => play(world, scene))) return;
      }
      await t.step("Kueue writes what is recorded", () => checkRecording(world, peer));
    }),
);
