/** Kueue itself with Milepost: it admits, evicts, readmits and finishes TrainJobs. */
import { KINDS } from "../../crds/kinds.ts";
import { endOfLog } from "../cluster/control_plane/daemon.ts";
import { startUpstreamJobSet } from "../cluster/support/upstream_jobset.ts";
import { patiently } from "./support/patient.ts";
import { findPeer, testWithPeer } from "./support/peer.ts";
import { KUEUE } from "./support/kueue.ts";
import { checkRecording } from "./kueue/record.ts";
import { guideCommands } from "./kueue/guide.ts";
import * as scenes from "./kueue/scenarios.ts";
import * as v1 from "./kueue/v1_scenarios.ts";
import * as special from "./kueue/special_scenarios.ts";
import { type KueueWorld, withKueue } from "./kueue/world.ts";

/** Each scene, with the TrainJobs that are deleted after it. */
const SCENES: Readonly<
  Record<string, readonly [scene: (world: KueueWorld) => Promise<void>, ...names: string[]]>
> = {
  "a job is admitted, gets its patch, is ready and finishes": [scenes.admittedAndFinished, "first"],
  "a job with a time to live stays until Kueue has read its end": [scenes.endsWithTimeToLive],
  "a job that fails gives its quota back": [scenes.failed, "failing"],
  "a job without a queue runs at once": [scenes.withoutQueue, "free"],
  "a job waits until there is room": [scenes.waitsForRoom, "large", "next"],
  "a job is restarted and keeps its admission": [scenes.restarted, "rerun"],
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
  "a job is readmitted with a flavor of other labels and without a topology": [
    special.moved,
    "mover",
  ],
  "the quota of an initializer that has ended is reclaimed": [special.reclaimed, "staged"],
  "the runtime is deleted while its job runs": [special.runtimeDeleted, "orphan"],
  "the runtime is deleted while its job runs, and then the job": [
    special.runtimeAndJobDeleted,
    "unwanted",
  ],
  "the runtime is gone, and the job is deleted in the foreground": [
    special.deletedInTheForeground,
    "stuck",
  ],
  "a job of MultiKueue is left alone": [special.multiKueue, "remote", "local"],
  "a patch of Kueue for an unknown job is refused": [special.unknownJob, "astray"],
  "v1 jobs are admitted by runPolicy.suspend, run on their flavor and finish": [v1.v1Admitted],
  "a v1 job without a queue runs at once": [v1.v1WithoutQueue],
  "a v1 job of low priority is evicted by one of high priority and readmitted with another flavor":
    [
      v1.v1Preempted,
    ],
  "the job with a time to live has gone by itself, and its Workload with it": [scenes.goesByItself],
  "the commands of the guide do what it says": [guideCommands, "queued"],
};

/** The scenes in which the executor of the JobSets has a part. */
const WITH_UPSTREAM = [
  "a job is restarted and keeps its admission",
  "a job is admitted, gets its patch, is ready and finishes",
  "a low priority is evicted by a high one and readmitted with another flavor",
  "topology gates reach the pods and are taken away",
  "the quota of an initializer that has ended is reclaimed",
];

const found = await findPeer(KUEUE);

/** Waits until Milepost leaves new JobSets to upstream's controller, whose webhooks it has to see first. */
async function isLeftToUpstream(world: KueueWorld): Promise<void> {
  const { client } = world.plane;
  await patiently("a JobSet of upstream's controller", async () => {
    const name = `probe-${crypto.randomUUID().slice(0, 8)}`;
    await world.create(name);
    const key = { namespace: "default", name };
    const jobSet = await patiently(`JobSet ${name}`, () => client.get(KINDS.jobSet, key));
    await world.remove(name);
    return jobSet.spec?.managedBy === undefined;
  });
}

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
      const upstream = await startUpstreamJobSet(world.plane);
      try {
        await isLeftToUpstream(world);
        for (const [name, scene] of Object.entries(SCENES)) {
          if (!WITH_UPSTREAM.includes(name)) continue;
          const told = `${name}, executed by upstream's JobSet controller`;
          if (!await t.step(told, () => play(world, scene))) return;
        }
      } finally {
        await upstream.stop();
      }
    }),
);
