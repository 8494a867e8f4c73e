/**
 * `deno task bench [NAME…] [--json] [OPTION…]`: benchmarks with goals. They are never part of a test: the
 * numbers depend on the machine, so compare the ratios, and whether the goals are met.
 */
import { attack } from "./attack/attack.ts";
import { hostileTenant } from "./attack/hostile_tenant.ts";
import { demo } from "./demo.ts";
import { fuzz } from "./fuzz/fuzz.ts";
import { idle } from "./idle.ts";
import { katib } from "./katib/early_stopping.ts";
import { memory } from "./memory/memory.ts";
import { pixel } from "./page/browser.ts";
import { list } from "./page/list.ts";
import { page } from "./page/page.ts";
import { streams } from "./page/streams.ts";
import { viewers } from "./page/viewers.ts";
import { zoom } from "./page/zoom.ts";
import { push } from "./push.ts";
import { pythonPush } from "./python_push.ts";
import { reconcile } from "./reconcile/reconcile.ts";
import { render } from "./render.ts";
import { type Benchmark, jsonOf, type Measure, tableOf } from "./result.ts";
import { search } from "./search/search.ts";
import { slowLoris } from "./soak/slow_loris.ts";
import { soak } from "./soak/soak.ts";
import { beats } from "./stalls/beats.ts";
import { naming } from "./stalls/naming/naming.ts";
import { stalls } from "./stalls/stalls.ts";
import { status } from "./status/status.ts";
import { suite } from "./suite.ts";
import { trials } from "./trials/trials.ts";
import { warmStart } from "./warm_start.ts";

const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  push,
  demo,
  start: warmStart,
  idle,
  suite,
  reconcile,
  render,
  attack,
  tenant: hostileTenant,
  status,
  fuzz,
  soak,
  "slow-loris": slowLoris,
  katib,
  stalls,
  naming,
  beats,
  trials,
  search,
  memory,
  page,
  pixel,
  list,
  viewers,
  streams,
  zoom,
  python: pythonPush,
};

/** What runs where no name is given: the others take minutes and all cores. */
const DEFAULT = ["push", "demo", "start", "idle"];

const encoder = new TextEncoder();
const print = (text: string) => Deno.stdout.writeSync(encoder.encode(text));
const say = (text: string) => Deno.stderr.writeSync(encoder.encode(text));

function usage(): string {
  const lines = Object.entries(BENCHMARKS).map(([name, { about }]) =>
    `  ${name.padEnd(10)}${about}`
  );
  return `deno task bench [NAME…] [--json] [OPTION…]\n${lines.join("\n")}\n`;
}

async function main(args: readonly string[]): Promise<number> {
  const asJson = args.includes("--json");
  const words = args.filter((it) => it !== "--json");
  // One benchmark that has options is run alone: what follows its name is for it.
  const alone = BENCHMARKS[words[0] ?? ""]?.takesOptions ?? false;
  const names = alone ? words.slice(0, 1) : words;
  const options = alone ? words.slice(1) : [];
  const unknown = names.filter((it) => !Object.hasOwn(BENCHMARKS, it));
  if (unknown.length > 0) {
    say(`there is no benchmark ${unknown.join(", ")}\n${usage()}`);
    return 2;
  }
  const measures: Measure[] = [];
  for (const name of names.length > 0 ? names : DEFAULT) {
    const results = await BENCHMARKS[name]?.run((text) => say(`${name}: ${text}\n`), options) ?? [];
    measures.push(...results);
  }
  print(asJson ? jsonOf(measures) : tableOf(measures));
  if (names.length === 0) {
    say("the test suite (goal: below 240 s on 2 cores): deno task bench suite\n");
  }
  return 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
