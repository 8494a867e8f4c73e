/** Jobs whose curves come by one stream from the manager, and what it says of them. */
import { backoffMs } from "../../platform/base/backoff.ts";
import { heldAfter, type HeldCurves } from "../../owner/curves/held_curves.ts";
import {
  type FollowedJob,
  FollowedJobs,
  type FollowedJobsOptions,
  type Outage,
} from "../../owner/followed_group.ts";
import type { CurvesNews } from "../../crds/wire/shown_curves.ts";
import { followManager } from "./manager_stream.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import type { ManagerNews } from "./manager_news.ts";

/** A job whose curves are mirrored. */
export type MirroredJob = FollowedJob<HeldCurves>;

/** When the stream is opened: each opening brings all curves again. */
const OPENINGS = {
  togetherMs: 100,
  openEveryMs: 1_500,
  goodMs: 10_000,
  retry: { firstMs: 500, longestMs: 15_000 },
} as const;
/** After this time the manager has no curves of a job that it has not sent, in milliseconds. */
const ABSENT_MS = 2_000;
/** The manager is asked again about such jobs, and after an outage that it speaks of, in milliseconds. */
const AGAIN = { firstMs: 5_000, longestMs: 60_000 } as const;

const TOO_LARGE: Outage = {
  reason: "the curves that are looked at here take more memory than there is for them: " +
    "these come when there is room",
};

type Group = FollowedJobs<HeldCurves>;

/** Options of {@link mirroredJobs}. */
export interface MirroredJobsOptions
  extends Pick<FollowedJobsOptions<HeldCurves>, "clock" | "random" | "signal"> {
  readonly manager: () => ManagerClient | undefined;
  /** Says what is missing where there is no manager. */
  readonly missing: () => string;
  /** Makes room for curves in the place of the job's. Returns whether there is. */
  readonly fit: (job: MirroredJob, held: HeldCurves) => boolean;
}

/** Returns the jobs of one stream, none at first. */
export function mirroredJobs(options: MirroredJobsOptions): Group {
  const { manager, missing, fit, clock, random, signal } = options;
  /** How often the manager was asked again in a row. */
  let asked = 0;

  const askAgain = (group: Group) => group.openAnew(backoffMs(++asked, AGAIN, random));

  function keep(group: Group, followed: MirroredJob, news: CurvesNews): void {
    const held = heldAfter(followed.value, news);
    if (held === undefined || held === followed.value) return;
    const fits = fit(followed, held);
    group.keep(followed, fits ? held : undefined, fits ? undefined : TOO_LARGE);
  }

  /** Takes what the manager says. Returns the UIDs of the jobs that it speaks of. */
  function take(group: Group, news: ManagerNews): readonly string[] {
    if (news.kind === "outage") {
      group.setOutage(news);
      // The manager does not say that it is over until curves change.
      askAgain(group);
      return [];
    }
    const jobs = new Map(group.all.map((it) => [it.job.uid, it]));
    for (const shown of news.all) {
      const followed = jobs.get(shown.uid);
      if (followed !== undefined) keep(group, followed, shown);
    }
    group.setOutage(undefined);
    return news.all.map(({ uid }) => uid);
  }

  /** Marks the jobs that were not told of: the manager does not know them yet, or not any more. */
  function markAbsent(group: Group, jobs: readonly MirroredJob[], told: ReadonlySet<string>) {
    const absent = jobs.filter(({ job, value, outage }) =>
      !told.has(job.uid) && outage === undefined && (value?.metrics.length ?? 0) === 0
    );
    for (const it of absent) keep(group, it, { uid: it.job.uid, metrics: [], marks: [] });
    if (absent.length === 0) asked = 0;
    else askAgain(group);
  }

  async function open(group: Group, over: AbortSignal): Promise<Outage> {
    const client = manager();
    if (client === undefined) return { reason: missing() };
    const jobs = group.all;
    const told = new Set<string>();
    let isWell = true;
    const onOpen = async () => {
      await clock.sleep(ABSENT_MS, over);
      if (over.aborted) return;
      if (isWell) group.setOutage(undefined);
      markAbsent(group, jobs, told);
    };
    return await followManager({
      client,
      jobs: jobs.map(({ job }) => job),
      signal: over,
      onOpen: () => void onOpen(),
      onNews(news) {
        isWell = news.kind !== "outage";
        for (const uid of take(group, news)) told.add(uid);
      },
      onHeard: () => group.heard(),
    });
  }

  return new FollowedJobs({ ...OPENINGS, open, clock, random, signal });
}
