/** The scenes that every gang scheduler plays, in their order, with the TrainJobs that are deleted after each. */
import { endOfLog } from "../../cluster/control_plane/daemon.ts";
import type { GangScheduler } from "../support/gang_scheduler.ts";
import { findPeer, testWithPeer } from "../support/peer.ts";
import * as scenes from "./scenarios.ts";
import { type GangWorld, withGangScheduler } from "./world.ts";

type Scene = readonly [scene: (world: GangWorld) => Promise<void>, ...names: string[]];

const SCENES: Readonly<Record<string, Scene>> = {
  "a job waits for its scheduler, and starts when it is installed": [
    scenes.schedulerComesLater,
    "early",
  ],
  "a gang that fits runs": [scenes.fits, "fitting"],
  "a gang that does not fit waits whole, and starts when there is room": [
    scenes.waitsWhole,
    "first",
    "second",
  ],
  "an initializer starts alone, and its trainers as a gang": [
    scenes.initializerThenTrainers,
    "before",
    "staged",
  ],
  "an initializer that ends at once does not hold its trainers up": [
    scenes.shortInitializer,
    "short",
  ],
  "a launcher joins its nodes": [scenes.launcherAfterNodes, "launched"],
  "a suspended gang resumes whole": [
    scenes.suspendedAndResumed,
    "pausing",
    "guest",
  ],
  "a gang is resumed when its initializer has ended": [scenes.suspendedInSecondStep, "later"],
  "a JobSet that restarts is a gang again": [scenes.restarted, "again"],
};

/** Plays a scene, and adds the ends of the scheduler's logs to what it throws. */
async function play(world: GangWorld, [scene, ...jobs]: Scene): Promise<void> {
  try {
    await scene(world);
    for (const job of jobs) await world.remove(job);
  } catch (cause) {
    const logs = await Promise.all(world.daemons.map(({ logFile }) => endOfLog(logFile, 30)));
    throw new Error(`the scheduler's logs end with:\n${logs.join("\n\n")}`, { cause });
  }
}

/** Registers the test of a scheduler: it is skipped, and says why, if the scheduler cannot be had. */
export async function testGangScheduler(scheduler: GangScheduler): Promise<void> {
  const found = await findPeer(scheduler.peer);
  const { goModule } = scheduler.peer;
  testWithPeer(
    found,
    `${goModule} ${found.version} schedules TrainJobs as gangs`,
    (peer, t) =>
      withGangScheduler(scheduler, peer, async (world) => {
        for (const [name, scene] of Object.entries(SCENES)) {
          // A job that is left over takes room, for which the next ones would wait.
          if (!await t.step(name, () => play(world, scene))) return;
        }
      }),
  );
}
