/** Milepost's side of the cases about v1 jobs. */
import { v1CrdManifests } from "../../../../crds/v1/manifests.ts";
import { apply, crdsServed, install } from "../../support/installation.ts";
import type { CaseTable } from "../case.ts";
import type { Run } from "../perform.ts";
import { performOn } from "../sides.ts";
import { V1_SIDE, watchedWith } from "./watched.ts";

/** Performs the cases, so many at a time, without progress. */
export function performOnMilepost(cases: CaseTable, atOnce: number): Promise<Run> {
  return performOn(cases, watchedWith(() => true), atOnce, async (plane, cleanup) => {
    const installation = await install(plane);
    cleanup.defer(() => installation.stop());
    await installation.startManager({ flags: { featureGates: "TrainJobProgress=false" } });
  }, {
    ...V1_SIDE,
    async beforeControllers(plane) {
      await apply(plane, v1CrdManifests());
      await crdsServed(plane, []);
    },
  });
}
