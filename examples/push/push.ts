/**
 * Client that reports the progress of a training run to Milepost. Copy this file: it runs in Deno and in Node, and needs the injected variables.
 * As a command: push.ts [--progress PERCENT] [--remaining SECONDS] [--metric NAME=VALUE]... [--step STEP] [--patience SECONDS]
 */
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import process from "node:process";

export type Status = {
  progress?: number;
  remaining?: number;
  metrics?: Record<string, unknown>;
  /** The training's own count, an integer from 0, for early-stopping rules with the unit "step". */
  step?: number;
};
export type Stop = { reason: string; message: string };
type Answer = { status: number; retryAfter: number; text: string };

let sequence = Date.now(); // goes up, also when the program starts again
const said = new Set<string>();
const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

function say(text: string): void {
  if (!said.has(text)) process.stderr.write(`milepost: ${text}\n`);
  said.add(text);
}

/** One try, of 5 s at most. Token and CA are renewed while the pod runs, so both are read for it. */
async function tryOnce(url: string, body: string): Promise<Answer> {
  const file = (name: string) =>
    readFile(process.env[`KUBEFLOW_TRAINER_STATUS_${name}`] ?? "", "utf8");
  const [token, ca] = await Promise.all([file("TOKEN"), file("CA_CERT")]);
  const headers = { "authorization": `Bearer ${token.trim()}`, "content-type": "application/json" };
  return await new Promise((resolve, reject) => {
    const late = setTimeout(() => sent.destroy(new Error("no answer within 5 s")), 5000);
    const sent = request(url, { method: "POST", headers, ca, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => text += part).on("error", reject);
      const retryAfter = Number(answer.headers["retry-after"]) || 0;
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, retryAfter, text }));
    });
    sent.on("error", reject).on("close", () => clearTimeout(late)).end(body);
  });
}

function stopOf(text: string): Stop | undefined {
  try {
    const { control } = JSON.parse(text);
    return control?.stop === true ? control : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sends a status; retries for `patience` seconds. Returns the reason why the training must stop, if the answer has one.
 * Never rejects.
 */
export async function push(status: Status, patience = 15): Promise<Stop | undefined> {
  const url = process.env.KUBEFLOW_TRAINER_STATUS_URL;
  if (!url) return undefined;
  const trainerStatus = {
    progressPercentage: status.progress,
    estimatedRemainingSeconds: status.remaining,
    metrics: Object.entries(status.metrics ?? {}).map(([name, value]) => ({
      name,
      value: String(value),
    })),
    step: status.step,
    lastUpdatedTime: new Date().toISOString(),
  };
  const container = process.env.KUBEFLOW_TRAINER_STATUS_CONTAINER;
  const body = JSON.stringify({ trainerStatus, sequence: sequence++, container });
  const end = performance.now() + patience * 1000;
  for (let pause = 0.25;; pause *= 2) {
    const answer = await tryOnce(url, body).catch((error): Answer => ({
      status: 0,
      retryAfter: 0,
      text: `${error}`,
    }));
    if (answer.status === 200) return stopOf(answer.text);
    const wait = Math.max(answer.retryAfter, pause * (0.5 + Math.random()));
    const isFinal = answer.status !== 0 && answer.status !== 429 && answer.status < 500;
    if (isFinal || performance.now() + wait * 1000 > end) {
      return void say(`progress was not taken: ${answer.status || ""} ${answer.text.trim()}`);
    }
    await sleep(wait);
  }
}

/** The command. */
async function main(given: readonly string[]): Promise<void> {
  const flags: Record<string, string> = {};
  const metrics: Record<string, string> = {};
  for (let at = 0; at < given.length; at += 2) {
    const [flag = "", value = ""] = given.slice(at, at + 2);
    const [, name, metric] = /^([^=]*)=(.*)$/s.exec(value) ?? [];
    const isNumber = ["--progress", "--remaining", "--step", "--patience"].includes(flag) &&
      value !== "" &&
      Number(value) >= 0;
    if (isNumber) flags[flag] = value;
    else if (flag === "--metric" && name !== undefined) metrics[name] = metric ?? "";
    else throw new Error(`I do not understand ${flag} ${value}`);
  }
  const number = (flag: string) => flag in flags ? Number(flags[flag]) : undefined;
  const [progress, remaining, step] = ["--progress", "--remaining", "--step"].map(number);
  const status = { progress, remaining, metrics, step };
  const stop = await push(status, number("--patience"));
  if (stop) process.stdout.write(`${stop.reason}: ${stop.message}\n`);
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) {
  await main(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`push: ${error.message}\n`);
    process.exitCode = 2;
  });
}
