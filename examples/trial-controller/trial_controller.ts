/**
 * A trial controller in one file: tries learning rates, each in a TrainJob, and stops those that are worse
 * than the median of the finished ones. It learns how its trials do from the observation API, and stops them
 * by it. It needs the settings of controller.yaml; killed and started again, it continues where it was.
 */

type Row = { time: string; name: string; value: string };
type Observation = { state: string; message?: string; log: Row[]; continue?: string };
type Trial = { name: string; rate: number; state: string; losses: number[] };

const setting = (name: string, otherwise: string) => Deno.env.get(name) ?? otherwise;
const [METRIC, NAMESPACE] = ["loss", setting("NAMESPACE", "default")];
const EXPERIMENT = setting("EXPERIMENT", "digits");
const RATES = setting("LEARNING_RATES", "0.5,0.2,1,0.05,2,0.02").split(",").map(Number);
const TRIALS_AT_ONCE = Number(setting("TRIALS_AT_ONCE", "2"));
/** A trial is judged by its best loss at this report, once so many trials have succeeded. */
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

type More = { body?: unknown; accepted?: number; signal?: AbortSignal };

/** Sends a request, a POST where it has a body; throws where the answer is an error other than `accepted`. */
async function send(url: string, token: string, ca: string, { body, accepted, signal }: More) {
  const client = Deno.createHttpClient({ caCerts: [ca] });
  const method = body === undefined ? "GET" : "POST";
  const authorization = `Bearer ${await credential(token)}`;
  const headers = { authorization, "content-type": "application/json" };
  const answer = await fetch(url, { client, method, headers, body: JSON.stringify(body), signal });
  const problem = answer.ok || answer.status === accepted ? undefined : await answer.text();
  if (problem) throw new Error(`${method} ${url}: ${answer.status} ${problem}`);
  return { answer, [Symbol.dispose]: () => client.close() };
}

/** Asks the API server. */
async function ask(path: string, more: More = {}) {
  const bounded = { signal: AbortSignal.timeout(10_000), ...more };
  using sent = await send(API_SERVER + path, "api-token", await credential("ca.crt"), bounded);
  return await sent.answer.json();
}

/** Asks the observation API about a TrainJob, by its CA, which Milepost puts beside each of them. */
async function observe(name: string, path: string, more: More = {}) {
  const { data } = await ask(`/api/v1/namespaces/${NAMESPACE}/configmaps/${name}-tls-config`);
  const url = `${OBSERVATIONS}${TRAINJOBS}/${name}/${path}`;
  return await send(url, "observation-token", data["ca.crt"], more);
}

const lossAtStep = ({ losses }: Pick<Trial, "losses">) => Math.min(...losses.slice(0, START_STEP));

/** The median rule: a trial ends that is worse than half of the trials that have succeeded were at that report. */
function medianOf(finished: readonly Trial[]): number | undefined {
  const done = finished.filter((it) => it.state === "Succeeded" && it.losses.length >= START_STEP);
  const best = done.map(lossAtStep).sort((a, b) => a - b);
  if (best.length < TRIALS_REQUIRED) return undefined;
  const [low = 0, high = low] = best.slice((best.length - 1) / 2, best.length / 2 + 1);
  return (low + high) / 2;
}

/** The TrainJob of a trial. */
function trainJob({ name, rate }: Trial) {
  const [EPOCHS, TRAIN_SECONDS] = [setting("EPOCHS", "600"), setting("TRAIN_SECONDS", "0")];
  const env = { LEARNING_RATE: rate, EPOCHS, TRAIN_SECONDS, REPORT_EPOCHS: 20, REPORT_PAUSE_MS: 0 };
  return {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: {
      name,
      // The second label is Katib's: by it the trials stand together on Milepost's page.
      labels: { experiment: EXPERIMENT, "katib.kubeflow.org/experiment": EXPERIMENT },
      annotations: { "trainer.kubeflow.org/objective": `minimize ${METRIC}` },
    },
    spec: {
      runtimeRef: { name: setting("RUNTIME", "digits") },
      trainer: { env: Object.entries(env).map(([name, value]) => ({ name, value: `${value}` })) },
    },
  };
}

/** Stops a trial that is worse than the median. To say it twice does no harm; 409 is one that ended itself. */
async function judge({ name, losses, state }: Trial, finished: readonly Trial[]): Promise<void> {
  const median = medianOf(finished) ?? Infinity;
  const loss = lossAtStep({ losses });
  if (state !== "Running" || losses.length < START_STEP || loss <= median) return;
  const message = `${METRIC} ${loss} is above ${median.toFixed(4)} at report ${START_STEP}`;
  const body = { reason: "WorseThanMedian", message };
  (await observe(name, "stop", { body, accepted: 409 }))[Symbol.dispose]();
}

/** Yields the observations of a TrainJob from the observation API, until the stream ends. */
async function* watch(name: string, from: string): AsyncGenerator<Observation> {
  using sent = await observe(name, `observation?watch=true${from && `&continue=${from}`}`);
  let unread = "";
  for await (const text of sent.answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
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
  await insist(`create ${name}`, () => ask(TRAINJOBS, { body: trainJob(trial), accepted: 409 }));
  print({ trial: name, learningRate: rate });
  let [from, message] = ["", ""];
  while (trial.state === "Running") {
    await insist(`watch ${name}`, async () => {
      const job = await ask(`${TRAINJOBS}/${name}`, { accepted: 404 });
      if (job.kind === "Status") return void (trial.state = "Deleted");
      for await (const seen of watch(name, from)) {
        const rows = seen.log.filter((row) => row.name === METRIC);
        trial.losses.push(...rows.map(({ value }) => Number(value)));
        [message, from] = [seen.message ?? "", seen.continue ?? from];
        trial.state = seen.state;
        await judge(trial, finished);
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
const named = (rate: number, index: number) => ({ name: `${EXPERIMENT}-${index + 1}`, rate });
const waiting = RATES.map(named).map((it): Trial => ({ ...it, state: "Running", losses: [] }));
await Promise.all(Array.from({ length: TRIALS_AT_ONCE }, async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) await run(next, finished);
}));
const [best] = finished.sort((a, b) => Math.min(...a.losses) - Math.min(...b.losses));
if (best) print({ best: best.name, learningRate: best.rate, loss: Math.min(...best.losses) });
