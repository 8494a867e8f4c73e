/** Tests of the real kubectl against `standalone`. */
import assert from "node:assert/strict";
import { type CommandResult, isInstalled, run } from "../support/command.ts";
import { shellRuntime, withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";

const hasKubectl = await isInstalled("kubectl");
// deno-lint-ignore no-console -- a word to whoever runs the tests
if (!hasKubectl) console.log("kubectl is not installed: its tests are skipped");

const TRAIN = [
  "echo started",
  "sleep 0.5",
  "echo $GREETING",
].join("; ");

function job(name: string, more = ""): string {
  return `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: ${name}}
spec:
  runtimeRef: {name: shell}
  trainer:
    env: [{name: GREETING, value: hello}]
${more}`;
}

Deno.test({
  name: "kubectl works with standalone",
  ignore: !hasKubectl,
  fn: async (t) => {
    await withStandalone(async (standalone) => {
      const kubectl = (args: string[], stdin?: string): Promise<CommandResult> =>
        run("kubectl", {
          args: ["--request-timeout=30s", ...args],
          env: { KUBECONFIG: standalone.kubeconfig, HOME: standalone.folder },
          ...(stdin === undefined ? {} : { stdin }),
        });
      const ok = async (args: string[], stdin?: string): Promise<string> => {
        const { code, stdout, stderr } = await kubectl(args, stdin);
        assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
        return stdout;
      };

      await t.step("apply creates, and changes nothing the second time", async () => {
        await ok(["apply", "-f", "-"], JSON.stringify(shellRuntime("shell", TRAIN)));
        assert.match(await ok(["apply", "-f", "-"], job("one")), /trainjob.*one created/);
        assert.match(await ok(["apply", "-f", "-"], job("one")), /trainjob.*one unchanged/);
      });

      await t.step("apply is checked against the schema before it is sent", async () => {
        const { code, stderr } = await kubectl(
          ["apply", "-f", "-"],
          job("two", "    numNodez: 2\n"),
        );
        assert.notEqual(code, 0);
        assert.match(stderr, /unknown field "spec\.trainer\.numNodez"/);
      });

      await t.step("wait --for=condition=Complete ends", async () => {
        await ok(["wait", "--for=condition=Complete", "trainjob/one", "--timeout=60s"]);
      });

      await t.step("get shows STATE and PROGRESS %", async () => {
        const [header, row] = (await ok(["get", "trainjobs"])).split("\n");
        assert.match(header ?? "", /^NAME +STATE +PROGRESS % +AGE$/);
        assert.match(row ?? "", /^one +Complete +/);
        assert.match(await ok(["get", "trainjobs", "-o", "wide"]), /LAST ETA/);
        assert.match(await ok(["get", "trainjobs", "-A"]), /default +one/);
        assert.match(await ok(["get", "trainjob", "one", "-o", "yaml"]), /type: Complete/);
        assert.equal(
          await ok(["get", "trainjob", "one", "-o", "jsonpath={.status.state}"]),
          "Complete",
        );
        assert.match(await ok(["get", "jobs,pods,jobsets,events"]), /one-node-0/);
      });

      await t.step("logs prints what the pod printed", async () => {
        assert.equal(await ok(["logs", "job/one-node-0"]), "started\nhello\n");
        assert.equal(await ok(["logs", "job/one-node-0", "--tail=1"]), "hello\n");
        assert.match(
          await ok(["logs", "job/one-node-0", "--timestamps", "--tail=1"]),
          /^\d{4}-\d\d-\d\dT\S+Z hello\n$/,
        );
      });

      await t.step("logs -f follows until the pod ends", async () => {
        await ok(["apply", "-f", "-"], job("followed"));
        await until("the pod runs", async () => {
          const phase = await ok([
            "get",
            "pods",
            "-l",
            "batch.kubernetes.io/job-name=followed-node-0",
            "-o",
            "jsonpath={.items[0].status.phase}",
          ]);
          return phase === "Running" || phase === "Succeeded";
        });
        assert.equal(await ok(["logs", "-f", "job/followed-node-0"]), "started\nhello\n");
      });

      await t.step("exec, attach and cp say what to do on this machine instead", async () => {
        const container = { name: "main", image: "none", command: ["sleep", "60"] };
        const pod = { metadata: { name: "long" }, spec: { containers: [container] } };
        await ok(
          ["apply", "-f", "-"],
          JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod }),
        );
        await ok(["wait", "--for=jsonpath={.status.phase}=Running", "pod/long", "--timeout=30s"]);
        const uid = await ok(["get", "pod", "long", "-o", "jsonpath={.metadata.uid}"]);
        const folder = `${standalone.folder}/kubelet/pods/${uid}`;
        assert.ok((await Deno.stat(folder)).isDirectory);
        const refusal = async (args: string[]) => {
          const { code, stderr } = await kubectl(args);
          assert.notEqual(code, 0);
          return stderr;
        };
        const mounted = standalone.rewritingReason === undefined
          ? " (`nsenter -t PID -m`, as root, has them at their mount paths)"
          : "";
        const inShell = `run the command in a shell of this machine, in ${folder}, where ` +
          `\`volumes\` has its volumes${mounted}; kubectl logs`;
        assert.ok((await refusal(["exec", "long", "--", "ls"])).includes(inShell));
        assert.ok(
          (await refusal(["cp", "long:/tmp/x", `${standalone.folder}/x`])).includes(inShell),
        );
        assert.match(await refusal(["attach", "long"]), /kubectl logs long has what it prints/);
        assert.match(await refusal(["debug", "long", "--image=none"]), /processes of this machine/);
        await ok(["delete", "pod", "long", "--now"]);
      });

      await t.step("describe shows conditions and events", async () => {
        const text = await ok(["describe", "trainjob", "one"]);
        assert.match(text, /Type: +Complete/);
        assert.match(text, /Runtime Ref/);
      });

      await t.step("patch works in its three types, where the kind has them", async () => {
        await ok([
          "patch",
          "trainjob",
          "one",
          "--type=merge",
          "-p",
          '{"metadata":{"labels":{"a":"1"}}}',
        ]);
        await ok([
          "patch",
          "trainjob",
          "one",
          "--type=json",
          "-p",
          '[{"op":"add","path":"/metadata/labels/b","value":"2"}]',
        ]);
        await ok([
          "patch",
          "configmap",
          "kube-root-ca.crt",
          "-p",
          '{"metadata":{"labels":{"c":"3"}}}',
        ]);
        assert.equal(
          await ok([
            "get",
            "trainjob",
            "one",
            "-o",
            "jsonpath={.metadata.labels.a}{.metadata.labels.b}",
          ]),
          "12",
        );
        const strategic = await kubectl([
          "patch",
          "trainjob",
          "one",
          "--type=strategic",
          "-p",
          "{}",
        ]);
        assert.notEqual(strategic.code, 0);
      });

      await t.step("server-side apply is refused with a clear message", async () => {
        const { code, stderr } = await kubectl(["apply", "--server-side", "-f", "-"], job("ssa"));
        assert.notEqual(code, 0);
        assert.match(stderr, /server-side apply/i);
      });

      await t.step("edit stores what the editor wrote", async () => {
        const editor = `${standalone.folder}/editor.sh`;
        await Deno.writeTextFile(editor, '#!/bin/sh\nsed -i "s/a: \\"1\\"/a: \\"9\\"/" "$1"\n', {
          mode: 0o755,
        });
        const { code, stderr } = await run("kubectl", {
          args: ["edit", "trainjob", "one"],
          env: { KUBECONFIG: standalone.kubeconfig, HOME: standalone.folder, KUBE_EDITOR: editor },
        });
        assert.equal(code, 0, stderr);
        assert.equal(
          await ok(["get", "trainjob", "one", "-o", "jsonpath={.metadata.labels.a}"]),
          "9",
        );
      });

      await t.step("api-resources and explain know the kinds", async () => {
        const resources = await ok(["api-resources"]);
        for (const kind of ["TrainJob", "ClusterTrainingRuntime", "JobSet", "Pod", "Lease"]) {
          assert.match(resources, new RegExp(`\\b${kind}$`, "m"));
        }
        assert.match(await ok(["explain", "trainjob.spec"]), /runtimeRef/);
        assert.match(await ok(["explain", "pod.spec.containers"]), /image/);
      });

      await t.step("get -w shows each state of a job", async () => {
        const watching = new Deno.Command("kubectl", {
          args: ["get", "trainjobs", "-w"],
          env: { KUBECONFIG: standalone.kubeconfig, HOME: standalone.folder },
          stdout: "piped",
          stderr: "null",
        }).spawn();
        let seen = "";
        const reading = (async () => {
          for await (const part of watching.stdout.pipeThrough(new TextDecoderStream())) {
            seen += part;
          }
        })();
        await until("the first list", () => /one/.test(seen));
        await ok(["apply", "-f", "-"], job("watched"));
        await until("the end of the watched job", () => /watched +Complete/.test(seen));
        watching.kill();
        await Promise.all([reading, watching.status]);
      });

      await t.step("delete removes the children or orphans them, by --cascade", async () => {
        await ok(["delete", "trainjob", "one", "--cascade=foreground", "--timeout=60s"]);
        assert.equal(await ok(["get", "jobset", "one", "--ignore-not-found"]), "");
        await ok(["delete", "trainjob", "watched", "--cascade=background"]);
        await until(
          "the JobSet is gone",
          async () => (await ok(["get", "jobset", "watched", "--ignore-not-found"])) === "",
        );
        await ok(["delete", "trainjob", "followed", "--cascade=orphan"]);
        assert.match(await ok(["get", "jobset", "followed"]), /followed/);
      });

      await t.step("describe shows what was made for a v1 job, and how it ended", async () => {
        const containers = [{ name: "tensorflow", image: "none", command: ["true"] }];
        const tfJob = {
          apiVersion: "kubeflow.org/v1",
          kind: "TFJob",
          metadata: { name: "told" },
          spec: {
            tfReplicaSpecs: { Worker: { replicas: 2, template: { spec: { containers } } } },
          },
        };
        await ok(["apply", "-f", "-"], JSON.stringify(tfJob));
        await ok(["wait", "tfjob/told", "--for=condition=Succeeded", "--timeout=60s"]);
        const shown = await until("its events", async () => {
          const text = await ok(["describe", "tfjob", "told"]);
          return /TFJobSucceeded/.test(text.split("Events:")[1] ?? "") ? text : undefined;
        });
        for (const word of ["pod", "service"]) {
          for (const index of [0, 1]) {
            assert.match(
              shown,
              new RegExp(
                `SuccessfulCreate${word === "pod" ? "Pod" : "Service"} .*tfjob-controller ` +
                  ` *Created ${word}: told-worker-${index}\\n`,
              ),
            );
          }
        }
        assert.match(shown, /ExitedWithCode .*Pod: default\.told-worker-\d exited with code 0/);
      });

      await t.step("a bad token gets 401", async () => {
        const { code, stderr } = await run("kubectl", {
          args: [
            "--server",
            standalone.server,
            "--insecure-skip-tls-verify",
            "--token=bad",
            "get",
            "pods",
          ],
          env: { HOME: standalone.folder, KUBECONFIG: "/dev/null" },
        });
        assert.notEqual(code, 0);
        assert.match(stderr, /Unauthorized|logged in/);
      });
    });
  },
});
