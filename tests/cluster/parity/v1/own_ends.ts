/** Ends of the cases whose whole course may differ from upstream's: Milepost's own. */
import { isFields } from "../comparable.ts";
import { ALLOWED_V1 } from "./allowed.ts";
import type { Outcomes } from "./recording.ts";

/** The conditions at the end, and the pods. */
export type OwnEnd = readonly [conditions: string, pods: string];

const ANY_PATH = String(/./);

/** The cases whose differences are allowed wherever they are: nothing else would hold Milepost to anything there. */
export const OWN_CASES: readonly string[] = [
  ...new Set(
    ALLOWED_V1.filter(({ path }) => String(path) === ANY_PATH).flatMap(({ cases = [] }) => cases),
  ),
].sort();

/** How those end. */
export const OWN_ENDS: Readonly<Record<string, OwnEnd>> = {
  "JAXJob: a running pod is deleted": [
    "Created Running",
    "j-worker-0 Pending, number 2; j-worker-1 Running",
  ],
  "JAXJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
  "MPIJob: a running pod is deleted": [
    "Created Running",
    "j-launcher Running; j-worker-0 Pending, number 2; j-worker-1 Running",
  ],
  "MPIJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
  "MXJob: a replica fails that is restarted on failure": [
    "Created Running=False Succeeded",
    "j-scheduler-0 Succeeded; j-server-0 Running; j-worker-0 Running; j-worker-1 Running, number 2",
  ],
  "MXJob: a running pod is deleted": [
    "Created Running",
    "j-scheduler-0 Running; j-server-0 Pending, number 2; j-worker-0 Running; j-worker-1 Running",
  ],
  "MXJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
  "MXJob: tunes": [
    "Created Running=False Succeeded",
    "j-tuner-0 Succeeded; j-tunerserver-0 Running; j-tunertracker-0 Running",
  ],
  "PaddleJob: a running pod is deleted": [
    "Created Running",
    "j-worker-0 Pending, number 2; j-worker-1 Running",
  ],
  "PaddleJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
  "PyTorchJob: a running pod is deleted": [
    "Created Running",
    "j-master-0 Running; j-worker-0 Pending, number 2; j-worker-1 Running",
  ],
  "PyTorchJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
  "TFJob: a Service of somebody else has the name of a replica": [
    "Created",
    "j-worker-0 Pending",
  ],
  "TFJob: a deadline of nothing": [
    "Created Failed",
    "",
  ],
  "TFJob: a pod is deleted that lingers": [
    "Created Running",
    "j-ps-0 Running; j-worker-0 Running; j-worker-1 Pending, number 2",
  ],
  "TFJob: a pod of somebody else has the name of a replica": [
    "Created",
    "j-ps-0 Pending; j-worker-0 Pending",
  ],
  "TFJob: a running pod is deleted": [
    "Created Running",
    "j-ps-0 Pending, number 2; j-worker-0 Running; j-worker-1 Running",
  ],
  "TFJob: an unknown type": [
    "Created",
    "j-worker-0 Pending",
  ],
  "TFJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
  "XGBoostJob: a replica fails that is restarted on failure": [
    "Created Running=False Succeeded",
    "j-master-0 Succeeded; j-worker-0 Running; j-worker-1 Running, number 2",
  ],
  "XGBoostJob: a running pod is deleted": [
    "Created Running",
    "j-master-0 Running; j-worker-0 Pending, number 2; j-worker-1 Running",
  ],
  "XGBoostJob: its deadline passes": [
    "Created Running=False Failed",
    "",
  ],
};

/** Returns how a case ended. */
export function ownEnd(outcomes: Outcomes, says: string): OwnEnd {
  const last = outcomes[says]?.at(-1);
  const jobs = isFields(last) && isFields(last.jobs) ? last.jobs : {};
  const job = isFields(jobs.j) ? jobs.j : {};
  const conditions = isFields(job.conditions) ? job.conditions : {};
  const told = String(job.order).split(" ").map((type) =>
    String(conditions[type]).startsWith("False") ? `${type}=False` : type
  );
  const pods = isFields(last) && isFields(last.pods) ? last.pods : {};
  return [told.join(" "), Object.entries(pods).map((it) => it.join(" ")).join("; ")];
}
