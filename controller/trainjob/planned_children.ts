/** Plans for the children of policies, from a decision and reads of what is there. */
import { isForbidden } from "../../platform/kube/errors.ts";
import type { KubeObject } from "../../platform/kube/resource.ts";
import type { Child } from "../runtime/child.ts";
import { type ChildCaches, type ChildLookup, NotServedError } from "./child_caches.ts";
import { CHILD_RETRY_MS, type ChildPlan, planChild } from "./children.ts";
import { rightToGrant } from "./missing_right.ts";
import { jobSetGoesOn, type Observed } from "./observed.ts";
import { type ResourceDecision, withoutCreation } from "./resources.ts";

/** What reads the children. */
export interface ChildPlanner {
  readonly childCaches: Pick<ChildCaches, "read">;
  /** The name of the manager, with which the names of its roles begin. */
  readonly managerName: string;
}

/** The decision, and the plans of the policies' children. */
export type Plans = Awaited<ReturnType<typeof planChildren>>;

/** Returns the message about a child that the manager may not read; it has no text of the object. */
function unreadableProblem({ kind, name }: Child, managerName: string): string {
  return `reading ${kind.kind} "${name}" is forbidden: ${rightToGrant(kind, managerName)}`;
}

/** A child that was read, or why it cannot be. */
type ReadChild =
  | { readonly live: KubeObject | undefined }
  | Required<Pick<ChildPlan, "problem">> & Pick<ChildPlan, "retryMs">;

/** Reads a child. Returns a problem if its kind is not served, or may not be read. */
async function readChild(
  { childCaches, managerName }: ChildPlanner,
  child: Child,
  how: ChildLookup,
): Promise<ReadChild> {
  try {
    return { live: await childCaches.read(child, how) };
  } catch (error) {
    if (error instanceof NotServedError) return { problem: error.message };
    if (!isForbidden(error)) throw error;
    return { problem: unreadableProblem(child, managerName), retryMs: CHILD_RETRY_MS };
  }
}

/** Reads and plans one child. One that cannot be read has a problem, like one of another owner. */
async function planOneChild(
  options: ChildPlanner,
  observed: Observed,
  child: Child,
  how: Omit<ChildLookup, "namespace">,
): Promise<ChildPlan> {
  const { trainJob } = observed;
  const { kind, name } = child;
  const read = await readChild(options, child, { ...how, namespace: trainJob.metadata.namespace });
  return "problem" in read
    ? { kind, name, write: { kind: "none" }, ...read }
    : planChild(child, { trainJob, live: read.live, runs: jobSetGoesOn(observed) });
}

/** Reads and plans the children of policies. If one has a problem, nothing is created. */
export async function planChildren(
  options: ChildPlanner,
  observed: Observed,
  decision: ResourceDecision,
  how: Omit<ChildLookup, "namespace">,
) {
  const children: ChildPlan[] = [];
  for (const child of decision.children) {
    const plan = await planOneChild(options, observed, child, how);
    const { problem, retryMs } = plan;
    if (problem !== undefined) {
      return { decision: withoutCreation(decision, observed, { problem, retryMs }), children: [] };
    }
    children.push(plan);
  }
  return { decision, children };
}
