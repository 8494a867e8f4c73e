/** Status of a pod as a kubelet would write it. Pure but for the time. */

/** What a kubelet would tell of a pod. */
interface Told {
  readonly phase: "Running" | "Succeeded" | "Failed";
  /** Whether a running pod is ready. Default true. */
  readonly ready?: boolean;
  /** Exit code of the containers of a pod that has ended. Default 1 if it failed. */
  readonly exitCode?: number;
  /** How often each container was started again. Default 0. */
  readonly restartCount?: number;
  /** State of the containers, in place of the one that fits the phase. */
  readonly containerState?: Readonly<Record<string, unknown>>;
}

/** Returns the status of a pod with these containers. */
export function podStatus(told: Told, containers: unknown) {
  const { phase, ready = true, exitCode = phase === "Failed" ? 1 : 0, restartCount = 0 } = told;
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const isReady = phase === "Running" && ready;
  const exited = { exitCode, startedAt: now, finishedAt: now };
  const state = told.containerState ??
    (phase === "Running" ? { running: { startedAt: now } } : { terminated: exited });
  const names = Array.isArray(containers) ? containers.map(({ name }) => String(name)) : [];
  return {
    phase,
    startTime: now,
    conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: now }],
    containerStatuses: names.map((name) => ({
      name,
      state,
      ready: isReady,
      restartCount,
      image: "none",
      imageID: "none",
    })),
  };
}
