/** Tests of waits of jobs in words. */
import { equal } from "node:assert/strict";
import type { ShownEvent, ShownPod } from "../../../crds/wire/details.ts";
import { type Offer, waitOfJob, waitsForOnlyNode } from "../../../views/details/wait_of_job.ts";

const GPU = "nvidia.com/gpu";
const pod = (name: string, more: Partial<ShownPod> = {}): ShownPod => ({
  uid: name,
  name,
  phase: "Pending",
  restarts: 0,
  containers: ["node"],
  ...more,
});
const lacking = (name: string, amount = "1"): ShownPod =>
  pod(name, {
    waits: {
      for: `${amount} ${GPU}`,
      why: `0/1 nodes are available: 1 Insufficient ${GPU}`,
      lacks: { [GPU]: amount },
    },
  });
const machine = (gpus?: string): Offer => gpus === undefined ? {} : { [GPU]: gpus };
const running = pod("r", { phase: "Running", node: "n" });
const warning = (name: string, reason: string, message: string): ShownEvent => ({
  object: `Pod/${name}`,
  type: "Warning",
  reason,
  message,
  count: 1,
});
const NO_VOLUME = 'MountVolume.SetUp failed for volume "v": configmap "c" not found';
const placed = pod("a", { node: "n" });

const WAITS: Record<
  string,
  [want: string | undefined, pods: ShownPod[], machine?: Offer, events?: ShownEvent[]]
> = {
  "what this machine has": [
    `waits for 1 ${GPU}; this machine has 0`,
    [lacking("a")],
    machine(),
  ],
  "that others use what it has": [
    `waits for 1 ${GPU}; this machine has 2, and other pods use them`,
    [lacking("a")],
    machine("2"),
  ],
  "how many of the pods": [
    `2 of 3 pods wait for 4 ${GPU}; this machine has 2`,
    [lacking("a", "4"), running, lacking("b", "4")],
    machine("2"),
  ],
  "the scheduler's words where nodes are unknown": [
    `waits for 1 ${GPU}: 0/1 nodes are available: 1 Insufficient ${GPU}`,
    [lacking("a")],
  ],
  "one of several pods": [
    "1 of 2 pods waits for image x: ErrImagePull",
    [running, pod("b", { waits: { for: "image x", why: "ErrImagePull" } })],
  ],
  "no pods that have ended or go": [
    "waits for a node: no",
    [
      pod("a", { waits: { for: "a node", why: "no" } }),
      { ...running, deleting: true },
      pod("e", { phase: "Failed" }),
    ],
  ],
  "volumes, of which only an event tells": [
    `waits for its volumes: ${NO_VOLUME}`,
    [placed],
    undefined,
    [warning("other", "BackOff", "x"), warning("a", "FailedMount", NO_VOLUME)],
  ],
  "a node that cannot start it": [
    "waits for node n to start it: no network",
    [placed],
    undefined,
    [warning("a", "FailedCreatePodSandBox", "no network")],
  ],
  "nothing of what runs": [undefined, [running], undefined, [warning("r", "Unhealthy", "x")]],
  "nothing without pods": [undefined, []],
};
for (const [sentence, [want, pods, machine, events = []]] of Object.entries(WAITS)) {
  Deno.test(`waitOfJob() names ${sentence}`, () => equal(waitOfJob(pods, events, machine), want));
}

Deno.test("the node is looked at only where it is the only one and lacks something", () => {
  equal(waitsForOnlyNode([running, lacking("a")]), true);
  const others = [
    "0/3 nodes are available: 3 Insufficient cpu",
    "0/1 nodes are available: 1 Too many pods",
  ];
  for (const why of others) {
    equal(waitsForOnlyNode([pod("a", { waits: { for: "x", why } })]), false);
  }
});
