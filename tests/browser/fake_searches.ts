/** Searches of a fake server: one of 30 trials, of which some were stopped, and one of hostile texts. */
import { HOSTILE_TEXTS } from "./hostile_corpus.ts";

const KIND = "experiments.kubeflow.org";
const JOBS = "trainjobs.trainer.kubeflow.org";
const time = (minute: number) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();
const round = (value: number) => Math.round(value * 1000) / 1000;

const STATES = ["Complete", "EarlyStopped", "Complete", "Failed", "Complete", "EarlyStopped"];

/** The state of a trial; the last four run. */
const stateOf = (index: number, count: number) =>
  index >= count - 4 ? "Running" : STATES[index % STATES.length] ?? "Complete";

function fakeTrial(index: number, count: number) {
  const state = stateOf(index, count);
  const loss = round(0.3 + ((index * 37) % count) / count + (state === "EarlyStopped" ? 2 : 0));
  const name = `digits-${index}`;
  return {
    name,
    state,
    created: time(index),
    started: time(index),
    ...(state !== "Running" && { ended: time(index + 6 + index % 3), value: loss }),
    ...(state === "Failed" && { message: "node-0 ran out of memory (OOMKilled)" }),
    job: { kind: JOBS, namespace: "team-a", name },
    values: [
      String(round(10 ** (-4 + (index % 9) / 2.2)) || 0.0001),
      String(8 * (1 + index % 8)),
      ["sgd", "adam", "rmsprop"][index % 3],
    ],
    metrics: [state === "Running" ? null : String(loss), String(round(1 - loss / 4))],
    ...(state === "EarlyStopped" && {
      stop: {
        by: "rules",
        text: `loss ${loss} is greater than 2.5, at report 4`,
        rules: ["loss above 2.5 at report 4"],
      },
    }),
  };
}

/** Returns the search of 30 trials. */
function digits(count: number) {
  const trials = Array.from({ length: count }, (_, index) => fakeTrial(index, count));
  const ended = trials.filter(({ state, value }) => state === "Complete" && value !== undefined)
    .map(({ name, value = 0, ended = "" }) => ({ trial: name, value, time: ended }))
    .sort((one, other) => one.time < other.time ? -1 : 1);
  const bestSoFar = ended.filter(({ value }, index) =>
    ended.slice(0, index).every((it) => it.value > value)
  );
  const counts = Object.entries(Object.groupBy(trials, ({ state }) => state))
    .map(([state, all]) => [state, all?.length ?? 0]);
  return {
    kind: KIND,
    namespace: "team-a",
    name: "digits",
    state: "Running",
    created: time(0),
    notes: [{ name: "Algorithm", text: "random (random_state 7)" }],
    objective: { metric: "loss", direction: "minimize", goal: 0.1, strategy: "min" },
    metrics: ["loss", "accuracy"],
    parameters: [
      { name: "lr", scale: "log", min: 0.0001, max: 1, text: "double" },
      { name: "batch", scale: "linear", min: 8, max: 64, text: "int" },
      { name: "optimizer", scale: "list", list: ["sgd", "adam", "rmsprop"], text: "categorical" },
    ],
    trials,
    counts: { total: count, states: counts },
    best: bestSoFar.at(-1)?.trial,
    bestSoFar,
    stops: [{
      text: "loss above 2.5 at report 4",
      by: "rules",
      trials: trials.filter(({ state }) => state === "EarlyStopped").map(({ name }) => name),
    }],
  };
}

/** Returns a search all of whose texts are hostile. */
function hostileSearch() {
  const texts = HOSTILE_TEXTS;
  return {
    ...digits(3),
    name: "hostile",
    state: texts[0],
    message: texts[1],
    notes: texts.map((text) => ({ name: text, text })),
    objective: { metric: texts[1], direction: "minimize", strategy: texts[2] },
    metrics: texts,
    parameters: texts.slice(0, 8).map((name) => ({ name, scale: "list", list: texts, text: name })),
    trials: texts.map((text, index) => ({
      ...fakeTrial(index, 9),
      name: text,
      state: index % 2 === 0 ? text : "EarlyStopped",
      message: text,
      value: index,
      job: { kind: text.replaceAll("/", ""), namespace: "x", name: text.replaceAll("/", "") },
      values: texts.slice(0, 8),
      metrics: texts,
      stop: { by: "rules", text, rules: texts.slice(0, 3), user: text },
    })),
    counts: { total: texts.length, states: texts.map((text) => [text, 1]) },
    best: texts[2],
    bestSoFar: [{ trial: texts[2], value: 0, time: time(8) }],
    stops: texts.map((text) => ({ text, by: "rules", trials: texts })),
    denied: texts,
  };
}

/** Returns the search of 30 trials that push steps, put together by a label: it says nothing of what is better. */
function labelled(direction = "") {
  const { objective: { goal: _, ...objective }, best, bestSoFar, ...search } = digits(30);
  const stepped = ({ job, ...trial }: (typeof search.trials)[number], index: number) => ({
    ...trial,
    job: { ...job, name: `stepped-${index}` },
  });
  return {
    ...search,
    name: "labelled",
    trials: search.trials.map(stepped),
    objective: { ...objective, direction },
    ...(direction === "" ? { bestSoFar: [] } : { best, bestSoFar }),
  };
}

/** Returns a search whose names and values are longer than there is room for. */
function long() {
  const search = digits(30);
  return {
    ...search,
    name: "long",
    objective: { ...search.objective, metric: "validation/mean_average_precision@0.5:0.95" },
    parameters: [
      { name: "optimizer.schedule.learning_rate_warmup_steps", scale: "linear", min: 0, max: 1e9 },
      { name: "model.encoder.attention_probs_dropout", scale: "log", min: 1e-9, max: 1 },
      {
        name: "pretrained_checkpoint",
        scale: "list",
        list: ["sgd", "adam", "rmsprop"].map((it) => `gs://models/${it}/resnet50-imagenet-21k-v2`),
      },
    ],
    trials: search.trials.map(({ values: [lr, , list], ...trial }, index) => ({
      ...trial,
      name: `sweep-of-learning-rates-with-cosine-schedule-and-warmup-${index}`,
      ...(trial.value !== undefined && { value: 123456789.125 + trial.value / 1e3 }),
      values: [String(index * 1e7), lr, `gs://models/${list}/resnet50-imagenet-21k-v2`],
    })),
  };
}

/** What of a search is in its row. */
function rowOf(search: Readonly<Record<string, unknown>>) {
  const { kind, namespace, name, state, created, objective, counts } = search;
  return { kind, namespace, name, state, created, objective, counts };
}

/** Returns the list of searches. */
export function fakeSearches(hostile: boolean) {
  const all = [digits(30), ...hostile ? [hostileSearch()] : []];
  const bestBy = {
    minimize: { trial: "digits-9", value: "0.3" },
    maximize: { trial: "digits-1", value: "3" },
  };
  return {
    searches: [
      ...all.map((it) => ({ ...rowOf(it), best: { trial: it.best, value: "0.3" } })),
      { ...rowOf(labelled()), bestBy },
      { kind: KIND, namespace: "team-a", name: "old", counts: { total: 4_000, states: [] } },
    ],
    denied: [],
    absent: [],
  };
}

/** Returns a search; undefined if there is none of that name. */
export function fakeSearch(name: string, direction = "") {
  if (name === "digits") return digits(30);
  if (name === "long") return long();
  if (name === "labelled") return labelled(direction);
  return name === "hostile" ? hostileSearch() : undefined;
}
