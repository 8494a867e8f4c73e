/** Jobs of a fake server: many, of which some train, and one with hostile texts everywhere. */
import { settingsOf } from "../../crds/job_configuration.ts";
import type { Setting } from "../../crds/wire/row.ts";
import { HOSTILE_TEXTS } from "./hostile_corpus.ts";

const STATES = [
  "Running",
  "Running",
  "Complete",
  "Running",
  "Failed",
  "Suspended",
  "Created",
  "EarlyStopped",
];
const KINDS = ["trainjobs.trainer.kubeflow.org", "pytorchjobs.kubeflow.org"];
const MODELS = ["resnet50", "bert-base", "llama-lora", "softmax", "unet", "whisper-small"];

/** A row as the server gives it. */
export interface FakeRow {
  uid: string;
  kind: string;
  namespace: string;
  name: string;
  state: string;
  message?: string;
  restarts?: number;
  stalledSince?: string;
  progress?: number;
  remainingSeconds?: number;
  metrics?: { name: string; value: string }[];
  updated?: string;
  created: string;
  ended?: string;
  configuration?: readonly Setting[];
}

/** The row whose pods fail and are started again, and why. */
const RESTARTING = 8;
const HEADLINE = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'";

/** The row that makes no progress. */
const STALLED = 16;

const time = (ms: number) => new Date(ms).toISOString();

/** Returns a row; the first three train, and their values follow `step`. */
export function fakeRow(index: number, step: number, startMs: number): FakeRow {
  const state = index < 3 ? "Running" : STATES[(index * 7) % STATES.length] ?? "Running";
  const isRestarting = index === RESTARTING;
  const createdMs = startMs - index * 47_000;
  const percent = state === "Complete" ? 100 : Math.min(99, (index * 13 + step) % 100);
  const loss = 2.4 * Math.exp(-percent / 40) + 0.05;
  return {
    uid: `uid-${index}`,
    kind: KINDS[index % 5 === 3 ? 1 : 0] ?? "",
    namespace: ["team-a", "team-b", "research"][index % 3] ?? "",
    name: `${MODELS[index % MODELS.length]}-${index}`,
    state,
    ...(state === "Failed" && { message: "node-0 ran out of memory (OOMKilled)" }),
    ...(isRestarting && { message: HEADLINE, restarts: 4 }),
    ...(index === STALLED && {
      message: "no step after 812; usually 2s",
      stalledSince: time(startMs - 180_000),
    }),
    ...(state !== "Created" && {
      progress: percent,
      ...(state === "Running" && !isRestarting && { remainingSeconds: (100 - percent) * 31 }),
      metrics: [
        { name: "loss", value: String(loss) },
        { name: "accuracy", value: String(1 - loss / 3) },
        { name: "lr", value: "0.0003" },
      ],
      updated: time(startMs - 2_000),
    }),
    created: time(createdMs),
    ...(["Complete", "Failed", "EarlyStopped"].includes(state) &&
      { ended: time(startMs - 60_000) }),
  };
}

/** Returns a row of hostile texts. */
export function hostileRow(index: number, startMs: number): FakeRow {
  const text = HOSTILE_TEXTS[index] ?? "";
  return {
    uid: `hostile-${index}${text}`,
    kind: `${text.replaceAll("/", "")}.example.org`,
    namespace: text.replaceAll("/", ""),
    name: text.replaceAll("/", ""),
    state: index % 2 === 0 ? text : "Running",
    message: text,
    progress: 10,
    metrics: [{ name: text, value: text }],
    created: time(startMs),
  };
}

/** Values that charts have trouble with, as many metrics as nobody wants, and one without a point. */
function oddCurves(endMs: number) {
  const points = (values: readonly (number | null)[]) =>
    values.map((value, index) => {
      const at = endMs - (values.length - index) * 10_000;
      return [at, value, value, value];
    });
  const odd: Readonly<Record<string, readonly (number | null)[]>> = {
    "one point": [0.5],
    "one value": [1, 1, 1, 1],
    "huge": [1, 3.4028234663852886e38, -3.4028234663852886e38, 1e308, -1e308],
    "tiny": [1e-45, 3e-39, 1e-45],
    "from tiny to huge": [1e-45, 1, 1e38],
    "zero and below": [0, -1, -2, 0],
    "across zero": [-1, 0, 1, 2],
    "not a number": [null, 1, null, 2, null],
    "never a number": [null, null],
    "no points": [],
  };
  const more = Array.from({ length: 54 }, (_, index) => [`metric ${index}`, [index, 1]] as const);
  return [...Object.entries(odd), ...more].map(([name, values]) => ({
    name,
    points: points(values),
  }));
}

/** The step of a job that goes back to its checkpoint at 0.4 of its time, and where its loss is no number. */
const stepAt = (part: number) => Math.round(part < 0.4 ? part * 1000 : 300 + (part - 0.4) * 1000);
const isNaNAt = (part: number) => part > 0.8 && part < 0.84;

type FakePoint = [at: number, min: number, max: number, last: number];

/** Returns the curves of a job that pushes its step. */
function steppedCurves(startMs: number, endMs: number, points: number, seed: number) {
  const curve = (of: (part: number) => number | undefined) =>
    Array.from({ length: points }, (_, index): FakePoint[] => {
      const part = index / (points - 1);
      const value = of(part);
      const at = Math.round(startMs + part * (endMs - startMs));
      return value === undefined ? [] : [[at, value, value, value]];
    }).flat();
  const loss = (part: number) => 0.1 + seed / 10 + 3 * Math.exp(-stepAt(part) / 300);
  return [
    { name: "loss", points: curve((part) => isNaNAt(part) ? undefined : loss(part)) },
    { name: "loss", isNonFinite: true, points: curve((part) => isNaNAt(part) ? 0 : undefined) },
    { name: "accuracy", points: curve((part) => 1 / (1 + loss(part))) },
    { name: "late", points: curve((part) => part > 0.5 ? part : undefined) },
    { name: "step", isStep: true, points: curve(stepAt) },
  ];
}

/** Returns the curves of a job. */
export function fakeCurves(
  job: { kind: string; namespace: string; name: string },
  { points, endMs, metrics }: { points: number; endMs: number; metrics: readonly string[] },
) {
  const seed = [...job.name].reduce((sum, it) => sum + it.charCodeAt(0), 0);
  const noise = (index: number) => Math.sin(index * 12.9898 + seed) * 0.5;
  const startMs = endMs - (20 + seed % 40) * 60_000;
  const curve = (of: (part: number, index: number) => number, spread: number) =>
    Array.from({ length: points }, (_, index) => {
      const part = index / (points - 1);
      const last = of(part, index);
      const at = Math.round(startMs + part * (endMs - startMs));
      return [at, last - spread * (1 - part / 2), last + spread * (1 - part / 2), last];
    });
  const all = [
    {
      name: "loss",
      points: curve(
        (part, index) => (2 + seed % 3) * Math.exp(-part * 3) + 0.1 + noise(index) * 0.08,
        0.12,
      ),
    },
    {
      name: "accuracy",
      points: curve((part, index) => 0.95 - 0.7 * Math.exp(-part * 4) + noise(index) * 0.02, 0.02),
    },
    { name: "lr", points: curve((part) => 0.0003 * (1 + Math.cos(part * Math.PI)) / 2, 0) },
    ...(job.name === "odd" ? oddCurves(endMs) : []),
    ...HOSTILE_TEXTS.filter(() => job.name === "hostile").map((name) => ({
      name,
      points: curve((part) => part, 0.1),
    })),
  ].filter(({ name }) => metrics.length === 0 || metrics.includes(name));
  const progress = { name: "progress", isProgress: true, points: curve((part) => part * 62, 0) };
  if (job.name.startsWith("stepped")) {
    return {
      job: { ...job, uid: `uid-of-${job.name}` },
      metrics: steppedCurves(startMs, endMs, points, seed % 5)
        .filter(({ name }) => metrics.length === 0 || metrics.includes(name)),
      marks: [{
        time: new Date(startMs + 0.4 * (endMs - startMs)).toISOString(),
        kind: "restarted",
        text: "node-0 exited 1",
      }],
    };
  }
  const markAt = (part: number) => time(startMs + part * (endMs - startMs));
  return {
    job: { ...job, uid: `uid-of-${job.name}` },
    metrics: [...all, ...metrics.length === 0 ? [progress] : []],
    marks: [
      { time: markAt(0.3), kind: "restarted", text: "restart 1: the pod node-0-1 failed" },
      { time: markAt(0.6), kind: "gap", text: "another replica leads" },
      ...HOSTILE_TEXTS.filter(() => job.name === "hostile").map((text, index) => ({
        time: markAt(index / 20),
        kind: text,
        text,
      })),
    ],
  };
}

/** Returns the object of a job; jobs differ by their learning rate. */
export const fakeSpec = (name: string, args: readonly string[] = []) => ({
  runtimeRef: { name: "torch-distributed" },
  trainer: { numNodes: 2, args, env: [{ name: "LR", value: `0.${name.length}` }] },
});

/** Returns the details of a job. */
export function fakeDetails(kind: string, namespace: string, name: string, nowMs: number) {
  const isHostile = name === "hostile";
  const texts = isHostile ? HOSTILE_TEXTS : ["Scheduled to a node"];
  const spec = fakeSpec(name, texts);
  return {
    configuration: settingsOf({ spec }),
    object: {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: {
        name,
        namespace,
        uid: `uid-of-${name}`,
        labels: Object.fromEntries(texts.map((text, index) => [`label-${index}`, text])),
      },
      spec,
      status: {
        conditions: [
          {
            type: "Suspended",
            status: "False",
            reason: "Resumed",
            message: "TrainJob is resumed",
            lastTransitionTime: time(nowMs - 900_000),
          },
          ...HOSTILE_TEXTS.filter(() => isHostile).map((text) => ({
            type: text,
            status: "True",
            reason: text,
            message: text,
            lastTransitionTime: text,
          })),
        ],
      },
    },
    ...(name.endsWith(`-${RESTARTING}`) && { lastWords: `  import tochr\n${HEADLINE}` }),
    ...(isHostile && { wait: texts.join(" "), lastWords: texts.join("\n") }),
    ...(name.startsWith("unet") && { wait: "waits for 1 nvidia.com/gpu; this machine has 0" }),
    pods: [
      ...[0, 1].filter(() => !name.startsWith("llama")).map((rank) => ({
        name: `${name}-node-0-${rank}`,
        rank,
        phase: "Running",
        node: `node-${rank}`,
        restarts: rank,
        containers: ["node"],
        ...(name.startsWith("softmax") && { reason: "CrashLoopBackOff", exitCode: 1 }),
      })),
      ...HOSTILE_TEXTS.filter(() => isHostile).map((text) => ({
        name: text,
        rank: text,
        phase: text,
        node: text,
        restarts: 0,
        containers: [text],
      })),
    ],
    events: texts.map((text, index) => ({
      time: time(nowMs - index * 5_000),
      type: index % 2 === 0 ? "Normal" : "Warning",
      reason: isHostile ? text : "Scheduled",
      message: text,
      object: isHostile ? text : `Pod/${name}-node-0-0`,
      count: 1,
    })),
    kind,
  };
}
