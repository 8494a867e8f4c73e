/** Client that reports the progress of a training run to Milepost. Copy it: it needs nothing but the injected variables. */
const url = Deno.env.get("KUBEFLOW_TRAINER_STATUS_URL");
const container = Deno.env.get("KUBEFLOW_TRAINER_STATUS_CONTAINER");
const tokenFile = Deno.env.get("KUBEFLOW_TRAINER_STATUS_TOKEN") ?? "";
const caFile = Deno.env.get("KUBEFLOW_TRAINER_STATUS_CA_CERT") ?? "";
const pauseMs = Number(Deno.env.get("REPORT_PAUSE_MS") ?? 200);
let reportedAt = 0;

/**
 * Reports progress in percent, the seconds that are left, metrics and the step they are of; at most five times a second
 * (or after each REPORT_PAUSE_MS), but for the last one. Training goes on whether it works or not.
 */
export async function report(
  progress: number,
  secondsLeft: number,
  metrics: Record<string, number>,
  step: number,
): Promise<void> {
  if (!url || (progress < 100 && Date.now() - reportedAt < pauseMs)) return;
  reportedAt = Date.now();
  const trainerStatus = {
    progressPercentage: Math.floor(progress),
    estimatedRemainingSeconds: Math.max(0, Math.round(secondsLeft)),
    metrics: Object.entries(metrics).map(([name, value]) => ({ name, value: value.toFixed(4) })),
    step,
    lastUpdatedTime: new Date().toISOString(),
  };
  try {
    // Both files are renewed while the pod runs, so they are read each time.
    const [token, ca] = [await Deno.readTextFile(tokenFile), await Deno.readTextFile(caFile)];
    using client = Deno.createHttpClient({ caCerts: [ca] });
    const answer = await fetch(url, {
      method: "POST",
      headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ trainerStatus, container }),
      signal: AbortSignal.timeout(5000),
      client,
    });
    const text = await answer.text();
    if (!answer.ok) console.warn(`progress was not taken (${answer.status}): ${text}`);
  } catch (error) {
    console.warn(`progress was not taken: ${error}`);
  }
}
