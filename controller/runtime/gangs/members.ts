/**
 * Members of a gang: the pods that a gang scheduler has to wait for now (docs/decisions/0046). Pure. Pods of
 * replicated jobs that wait for others count when it is their turn, and pods that have ended do not count.
 */
import type { ReplicatedJob } from "../../../crds/jobset.ts";
import type { JobProgress, Progress } from "../child.ts";
import { type Draft, jobsOf } from "../draft.ts";

/** The gang at one moment. */
export type Gang = ReturnType<typeof gangOf>;

const NOT_BEGUN: JobProgress = {
  readyJobs: 0,
  succeededJobs: 0,
  failedJobs: 0,
  running: 0,
  succeeded: 0,
};

/** A replicated job, and how far it is. */
type State = ReturnType<typeof stateOf>;

type Dependency = NonNullable<ReplicatedJob["dependsOn"]>[number];

/** The startup order InOrder is a chain of dependencies. */
function dependenciesOf(draft: Draft, job: ReplicatedJob): readonly Dependency[] {
  if (draft.spec.startupPolicy?.startupPolicyOrder !== "InOrder") return job.dependsOn ?? [];
  const previous = jobsOf(draft)[jobsOf(draft).indexOf(job) - 1];
  return previous ? [{ name: previous.name, status: "Ready" }] : [];
}

/** Reports whether some replicated job waits for another. */
function hasTurns(draft: Draft): boolean {
  return jobsOf(draft).some((job) => dependenciesOf(draft, job).length > 0);
}

function stateOf(draft: Draft, job: ReplicatedJob, known: Progress) {
  const progress = known.jobs.get(job.name) ?? NOT_BEGUN;
  const replicas = job.replicas ?? 1;
  const pods = replicas * (draft.counts.get(job.name) ?? 1);
  const finished = progress.succeededJobs >= replicas;
  return {
    job,
    progress,
    replicas,
    finished,
    /** Pods that it still has to run to their end. */
    remaining: Math.max(0, pods - progress.succeeded),
  };
}

function isMet({ status }: Dependency, { progress, replicas, finished }: State): boolean {
  const { readyJobs, succeededJobs, failedJobs } = progress;
  return status === "Complete" ? finished : readyJobs + succeededJobs + failedJobs >= replicas;
}

const isScheduled = ({ progress, remaining }: State) => progress.running >= remaining;

/** The replicated jobs with the numbers of their pods that count. */
const membersOf = (states: readonly State[]) =>
  states.map(({ job, remaining }) => ({ job, pods: remaining }));

const sumOf = (states: readonly State[], pods: (state: State) => number) =>
  states.reduce((sum, state) => sum + pods(state), 0);

/**
 * Returns the gang. As long as a pod whose turn it is has to be scheduled, it is the pods whose turn it is. When all
 * of them run, those that come next count already, so that they are a gang from the moment that they exist.
 * `succeeded` are the pods beside these that have, or will have when it is their turn; `matters` says whether the group
 * of a job that runs may need a change, lest its scheduler waits for other pods than these.
 */
export function gangOf(draft: Draft, known: Progress) {
  const states = jobsOf(draft).map((job) => stateOf(draft, job, known));
  const unmet = ({ job }: State) =>
    dependenciesOf(draft, job).flatMap((dependency) => {
      const other = states.find((state) => state.job.name === dependency.name);
      return other === undefined || isMet(dependency, other) ? [] : [{ dependency, other }];
    });
  const unfinished = states.filter(({ finished }) => !finished);
  const current = unfinished.filter((state) => unmet(state).length === 0);
  const succeeded = sumOf(states, ({ progress }) => progress.succeeded);
  if (!current.every(isScheduled)) {
    const matters = hasTurns(draft) || known.restarted || succeeded > 0;
    return { members: membersOf(current), succeeded, matters };
  }
  const next = unfinished.filter((state) => {
    const waitsFor = unmet(state).map(({ other }) => other);
    return waitsFor.length > 0 && waitsFor.every((other) => current.includes(other));
  });
  const leaving = current.filter((state) =>
    next.some((it) =>
      unmet(it).some(({ dependency, other }) => other === state && dependency.status === "Complete")
    )
  );
  const staying = current.filter((state) => !leaving.includes(state));
  return {
    members: membersOf([...staying, ...next]),
    succeeded: succeeded + sumOf(leaving, ({ remaining }) => remaining),
    matters: next.length > 0,
  };
}
