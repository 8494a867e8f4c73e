/**
 * A trial controller in one file: tries learning rates, each in a TrainJob, and stops those that are worse
 * than the median of the finished ones. It learns how its trials do only from the observation API. It needs
 * the settings of controller.yaml; killed and started again, it continues where it was.
 */

type Row = { time: string; name: string; value: string };
type Observation = { state: string; message?: string; log: Row[]; continue?: string };
type Rule = { name: string; value: string; comparison: string; startStep: number };
type Trial = { name: string; rate: number; state: string; losses: number[] };

const setting = (name: string, otherwise: string) => Deno.env.get(name) ?? otherwise;
const [METRIC, NAMESPACE] = ["loss", setting("NAMESPACE", "default")];
const EXPERIMENT = setting("EXPERIMENT", "digits");
const RATES = setting("LEARNING_RATES", "0.5,0.2,1,0.05,2,0.02").split(",").map(Number);
const TRIALS_AT_ONCE = Number(setting("TRIALS_AT_ONCE", "2"));
/** A trial is judged once, by its best loss at this report, once so many trials have succeeded. */
const START_STEP = Number(setting("START_STEP", "6"));
const TRIALS_REQUIRED = Number(setting("TRIALS_REQUIRED", "2"));
const API_SERVER = setting("API_SERVER", "https://kubernetes.default.svc");
const OBSERVATIONS = setting("OBSERVATIONS", "https://localhost:8082");
const TRAINJOBS = `/apis/trainer.kubeflow.org/v1alpha1/namespaces/${NAMESPACE}/trainjobs`;

/** A file of the projected volume; tokens are renewed while this runs, so they are read each time. */
const credential = (name: string) =>
  Deno.readTextFile(`${setting("CREDENTIALS", "/var/run/trial-controller")}/${name}`);
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const print = (line: unknown) =>
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(line)}\n`));

/** Tries again until it works: a controller outlives its API server. */
async function insist<T>(what: string, work: () => Promise<T>): Promise<T> {
  for (let pause = 250;; pause = Math.min(2 * pause, 10_000)) {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof Error && error.cause ? `: ${error.cause}` : "";
      print({ problem: what, error: `${error}${cause}` });
      await sleep(pause * (0.5 + Math.random()));
    }
  }
}

/** Asks the API server; answers what it said, and throws where that is an error other than `accepted`. */
async function ask(method: string, path: string, body?: unknown, accepted?: number) {
  using client = Deno.createHttpClient({ caCerts: [await credential("ca.crt")] });
  const authorization = `Bearer ${await credential("api-token")}`;
  const answer = await fetch(API_SERVER + path, {
    method,
    client,
    headers: { authorization, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await answer.text();
  if (answer.ok || answer.status === accepted) return JSON.parse(text);
  throw new Error(`${method} ${path}: ${answer.status} ${text}`);
}

/** The median rule: stop what is worse than half of the trials that have succeeded were at that report. */
function rulesFrom(finished: readonly Trial[]): Rule[] {
  const best = finished
    .filter(({ state, losses }) => state === "Succeeded" && losses.length >= START_STEP)
    .map(({ losses }) => Math.min(...losses.slice(0, START_STEP))).sort((a, b) => a - b);
  if (best.length < TRIALS_REQUIRED) return [];
  const [low = 0, high = low] = best.slice((best.length - 1) / 2, best.length / 2 + 1);
  const middle = (low + high) / 2;
  return [{ name: METRIC, value: middle.toFixed(4), comparison: "greater", startStep: START_STEP }];
}

/** The TrainJob of a trial; its rules are part of it, and hold from its first push to its last. */
function trainJob({ name, rate }: Trial, rules: Rule[]) {
  const earlyStopping = JSON.stringify({ objective: { name: METRIC, type: "minimize" }, rules });
  const epochs = setting("EPOCHS", "600");
  const env = { LEARNING_RATE: rate, EPOCHS: epochs, REPORT_EPOCHS: 20, REPORT_PAUSE_MS: 0 };
  return {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: {
      name,
      labels: { experiment: EXPERIMENT },
      annotations: rules.length > 0 ? { "trainer.kubeflow.org/early-stopping": earlyStopping } : {},
    },
    spec: {
      runtimeRef: { name: setting("RUNTIME", "digits") },
      trainer: { env: Object.entries(env).map(([name, value]) => ({ name, value: `${value}` })) },
    },
  };
}

/** Yields the observations of a TrainJob from the observation API, until the stream ends. */
async function* watch(name: string, from: string): AsyncGenerator<Observation> {
  // Milepost puts its CA beside each TrainJob, for the pods.
  const configMap = `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}-tls-config`;
  const { data } = await ask("GET", configMap);
  using client = Deno.createHttpClient({ caCerts: [data["ca.crt"]] });
  const position = from && `&continue=${encodeURIComponent(from)}`;
  const path = `${TRAINJOBS}/${name}/observation?watch=true${position}`;
  const authorization = `Bearer ${await credential("observation-token")}`;
  const answer = await fetch(OBSERVATIONS + path, { client, headers: { authorization } });
  if (!answer.ok || !answer.body) {
    throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
  }
  let unread = "";
  for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
    const events = (unread + text).split("\n\n");
    unread = events.pop() ?? "";
    for (const event of events) {
      const [, data] = /^event: observation$[^]*?^data: (.*)$/m.exec(event) ?? [];
      if (data) yield JSON.parse(data);
    }
  }
}

/** Creates the TrainJob unless it is there, and follows it to its end. */
async function run(trial: Trial, finished: Trial[]): Promise<void> {
  const { name, rate } = trial;
  const rules = rulesFrom(finished);
  await insist(`create ${name}`, () => ask("POST", TRAINJOBS, trainJob(trial, rules), 409));
  print({ trial: name, learningRate: rate, rules });
  let [from, message] = ["", ""];
  while (trial.state === "Running") {
    await insist(`watch ${name}`, async () => {
      const job = await ask("GET", `${TRAINJOBS}/${name}`, undefined, 404);
      if (job.kind === "Status") return void (trial.state = "Deleted");
      for await (const seen of watch(name, from)) {
        const rows = seen.log.filter((row) => row.name === METRIC);
        trial.losses.push(...rows.map(({ value }) => Number(value)));
        [message, from] = [seen.message ?? "", seen.continue ?? from];
        trial.state = seen.state;
      }
    });
    // The stream of a trial that runs ends with its token, with the replica, or with the TrainJob.
    if (trial.state === "Running") await sleep(1000 * (0.5 + Math.random()));
  }
  finished.push(trial);
  const { state, losses } = trial;
  print({ trial: name, state, steps: losses.length, loss: Math.min(...losses), message });
}

const finished: Trial[] = [];
const waiting = RATES.map((rate, index): Trial => {
  return { name: `${EXPERIMENT}-${index + 1}`, rate, state: "Running", losses: [] };
});
await Promise.all(Array.from({ length: TRIALS_AT_ONCE }, async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) await run(next, finished);
}));
const [best] = finished.sort((a, b) => Math.min(...a.losses) - Math.min(...b.losses));
if (best) print({ best: best.name, learningRate: best.rate, loss: Math.min(...best.losses) });
