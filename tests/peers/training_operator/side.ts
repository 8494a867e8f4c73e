/** The Training Operator's side of the comparison: each of its two versions on a control plane of its own. */
import type { CaseTable } from "../../cluster/parity/case.ts";
import type { Run } from "../../cluster/parity/perform.ts";
import { performOn } from "../../cluster/parity/sides.ts";
import { isOfMx } from "../../cluster/parity/v1/cases.ts";
import { V1_SIDE, watchedWith } from "../../cluster/parity/v1/watched.ts";
import type { Peer } from "../support/peer.ts";
import { installOperatorCrds, startTrainingOperator } from "./operator.ts";

/** Both versions. */
export interface OperatorVersions {
  readonly current: Peer;
  readonly withMx: Peer;
}

function chosen(cases: CaseTable, mx: boolean): CaseTable {
  return Object.fromEntries(Object.entries(cases).filter(([says]) => isOfMx(says) === mx));
}

/** More requests a second than as shipped; the version with MXJobs has no such flags. */
const FAST = ["--kube-api-qps=500", "--kube-api-burst=1000"];

async function performWith(
  peer: Peer,
  cases: CaseTable,
  { without, args, atOnce }: {
    readonly without: string;
    readonly args: readonly string[];
    readonly atOnce: number;
  },
): Promise<Run> {
  if (Object.keys(cases).length === 0) return {};
  const kinds = watchedWith((plural) => plural !== without);
  return await performOn(cases, kinds, atOnce, async (plane, cleanup) => {
    const operator = await startTrainingOperator(plane, peer, { args });
    cleanup.defer(() => operator.stop());
  }, { ...V1_SIDE, beforeControllers: (plane) => installOperatorCrds(plane, peer) });
}

/** Performs the cases, so many at a time. */
export async function performOnTrainingOperator(
  { current, withMx }: OperatorVersions,
  cases: CaseTable,
  atOnce: number,
): Promise<Run> {
  const [ofMx, others] = [chosen(cases, true), chosen(cases, false)];
  return {
    ...await performWith(withMx, ofMx, { without: "jaxjobs", args: [], atOnce: 4 }),
    ...await performWith(current, others, { without: "mxjobs", args: FAST, atOnce }),
  };
}
