/** Tests of the scripts of `controller/runtime/policies/flux`, run by bash with a stand-in for Flux. */
import { deepEqual, equal, match } from "node:assert/strict";
import {
  entrypointScript,
  type FluxInstance,
  initScript,
} from "../../../controller/runtime/policies/flux/scripts.ts";

const INSTANCE: FluxInstance = {
  hostPrefix: "tj-node-0-",
  domain: "tj.ml.svc",
  nodes: 2,
  tasks: 2,
  gpus: 0,
  networkDevice: "eth0",
  queuePolicy: "fcfs",
};

/** Writes down how it is called, and runs what `flux start … flux run … PROGRAM` runs. */
const STAND_IN = `#!/bin/bash
printf '%s\\n' "$*" >> "$CALLS"
case "$1" in
R) echo '{"version": 1}' ;;
start)
  attempts=$(grep -c ^start "$CALLS")
  [ "$attempts" -gt "\${FAILURES:-0}" ] || exit 1
  while [ $# -gt 0 ] && [ "$1" != run ]; do shift; done
  [ $# -gt 0 ] || exit 0
  shift 5
  exec "$@" ;;
esac
`;

/** A pod: its folders stand for those of the containers. */
class Pod implements AsyncDisposable {
  constructor(readonly folder: string) {}

  static async create(): Promise<Pod> {
    const folder = await Deno.makeTempDir({ prefix: "flux" });
    const view = `${folder}/opt/views/._view/abc`;
    for (const path of [`${view}/bin`, `${view}/lib/python3.11`, `${folder}/opt/software/lib`]) {
      await Deno.mkdir(path, { recursive: true });
    }
    await Deno.mkdir(`${folder}/curve`);
    await Deno.writeTextFile(`${folder}/curve/curve.cert`, "certificate");
    for (const [name, text] of [["flux", STAND_IN], ["python3.11", "#!/bin/sh\n"]] as const) {
      await Deno.writeTextFile(`${view}/bin/${name}`, text, { mode: 0o755 });
    }
    return new Pod(folder);
  }

  /** Runs a script with the paths of this pod. */
  async run(script: string, args: readonly string[], env: Record<string, string> = {}) {
    const text = script.replaceAll(
      /(?<=[ =":{])\/(mnt\/flux|opt|curve|tmp)\b/g,
      `${this.folder}/$1`,
    )
      .replace("sleep 15", "sleep 0");
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", text, "script", ...args],
      env: { CALLS: `${this.folder}/calls`, ...env },
    }).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  }

  read(path: string): Promise<string> {
    return Deno.readTextFile(`${this.folder}/${path}`);
  }

  async [Symbol.asyncDispose]() {
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function installed(): Promise<Pod> {
  const pod = await Pod.create();
  const { code, err } = await pod.run(initScript(INSTANCE), []);
  equal(code, 0, err);
  return pod;
}

Deno.test("initScript() installs view, software and configuration into the volume", async () => {
  await using pod = await installed();
  equal(await pod.read("mnt/flux/config/etc/flux/system/hostlist"), "tj-node-0-[0-1]\n");
  const toml = await pod.read("mnt/flux/config/etc/flux/config/broker.toml");
  match(toml, /^default_port = 8050$/m);
  match(toml, /^curve_cert = ".*\/mnt\/flux\/config\/etc\/curve\/curve\.cert"$/m);
  equal((await Deno.stat(`${pod.folder}/mnt/flux/view/bin/flux`)).isFile, true);
  equal((await Deno.stat(`${pod.folder}/mnt/flux/software/lib`)).isDirectory, true);
});

Deno.test("entrypointScript() leads in node 0 and hands the program its words", async () => {
  await using pod = await installed();
  const line = `bash -c 'printf "%s|" "$0" "$@"' zero 'one two'`;
  const env = { JOB_COMPLETION_INDEX: "0" };
  const { code, out, err } = await pod.run(entrypointScript(INSTANCE), [line, "three  four"], env);
  equal(code, 0, err);
  equal(out.split("\n").at(-1), "zero|one two|three  four|");
  const calls = (await pod.read("calls")).split("\n");
  match(calls[0] ?? "", /^R encode --hosts=tj-node-0-\[0-1\] --cores=0-1$/);
  match(calls[1] ?? "", /^start -o --config \S+ -Scron\S+ .* flux run -N 2 -n 4 bash -c /);
  const certificate = await Deno.stat(`${pod.folder}/mnt/flux/config/etc/curve/curve.cert`);
  equal((certificate.mode ?? 0) & 0o777, 0o600);
  equal(await pod.read("mnt/flux/config/etc/flux/system/R"), '{"version": 1}\n');
  match(
    await pod.read("mnt/flux/flux-view.sh"),
    /^export fluxsocket=local:\/\/.*\/run\/flux\/local$/m,
  );
});

Deno.test("entrypointScript() ends with the program's exit code", async () => {
  await using pod = await installed();
  const { code } = await pod.run(entrypointScript(INSTANCE), ["bash -c 'exit 7'"], {
    JOB_COMPLETION_INDEX: "0",
  });
  equal(code, 7);
});

Deno.test("entrypointScript() waits for people without a program", async () => {
  await using pod = await installed();
  const { code } = await pod.run(entrypointScript(INSTANCE), [""], { JOB_COMPLETION_INDEX: "0" });
  equal(code, 0);
  const calls = (await pod.read("calls")).trim().split("\n");
  deepEqual(calls.map((call) => call.split(" ", 1)[0]), ["R", "broker"]);
});

Deno.test("entrypointScript() follows in other nodes until the lead broker is there", async () => {
  await using pod = await installed();
  const env = { JOB_COMPLETION_INDEX: "1", FAILURES: "2" };
  const { code, out } = await pod.run(entrypointScript(INSTANCE), ["false"], env);
  equal(code, 0);
  equal(
    out.match(/The lead broker cannot be reached \(exit code 1\); trying again in 15 s/g)?.length,
    2,
  );
  const starts = (await pod.read("calls")).trim().split("\n").slice(1);
  deepEqual(starts.map((call) => call.includes(" run ")), [false, false, false]);
});
