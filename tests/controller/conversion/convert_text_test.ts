/** Tests of `milepost convert` on whole texts. */
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { convertText } from "../../../controller/conversion/convert_text.ts";

const job = (name: string, more = "") => `
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: ${name}}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template: {spec: {containers: [{name: jax, image: "i"${more}}]}}
`;
const CLAIM = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
`;

const kindsIn = (text: string) =>
  parseAllDocuments(text).map((document) => String(document.get("kind")));

Deno.test("a job becomes a runtime and a TrainJob, and other objects stay as they are", () => {
  const text = convertText(`${job("a")}---${CLAIM}---\n---${job("b")}`);
  deepEqual(kindsIn(text), [
    "TrainingRuntime",
    "TrainJob",
    "PersistentVolumeClaim",
    "TrainingRuntime",
    "TrainJob",
  ]);
  match(text, /^# From JAXJob a\.\n# /);
  match(text, /# From JAXJob b\./);
});

Deno.test("the items of a list are objects", () => {
  const list = { apiVersion: "v1", kind: "List", items: [parseAllDocuments(job("a"))[0]?.toJS()] };
  deepEqual(kindsIn(convertText(JSON.stringify(list))), ["TrainingRuntime", "TrainJob"]);
});

Deno.test("values are read as kubectl reads them, and none is taken for another kind of value", () => {
  const text = convertText(
    job(
      "a",
      `, args: ["on", "y", "1_000", "12:30", 0400]`.replace("0400", '"0400"') +
        ", volumeMounts: [{name: s, mountPath: /s}]",
    ).replace(
      "spec: {containers",
      "spec: {volumes: [{name: s, secret: {defaultMode: 0400}}], containers",
    ),
  );
  match(text, /defaultMode: 256\n/);
  for (const word of ["on", "y", "1_000", "12:30", "0400"]) {
    ok(text.includes(`- "${word}"\n`), word);
  }
});

Deno.test("other objects keep their text, with its comments", () => {
  const other = `# why\n${CLAIM.trim()} # here\ndata: {mode: 0400, day: 2026-01-01, on: "yes"}\n`;
  const text = convertText(`${job("a")}---\n${other}`);
  ok(text.endsWith(`---\n${other}`), text);
});

Deno.test("two objects of one name are refused", () => {
  const py = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n" +
    "spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: i}]}}}}}\n";
  throws(() => convertText(`${job("a")}---\n${py}`), {
    message: /TrainJob a: there would be two of this name/,
  });
});

Deno.test("exit codes stand on few lines", () => {
  equal(convertText(job("a")).split("\n").filter((line) => /^ *- 1\d\d$/.test(line)).length, 0);
});

Deno.test("nothing is converted if something cannot be", () => {
  const mpi = "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: m}\n" +
    "spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: mpi, image: i}]}}}}}\n";
  throws(() => convertText(`${job("a")}---\n${mpi}`), {
    name: "ConfigurationError",
    message: /^cannot be converted without a change of meaning: MPIJob m: kind: /,
  });
});

/** A TFJob of 2018, as its API server printed it: what Go did not set is null. */
const caicloud = (more = "", replica = "") => `
apiVersion: kubeflow.caicloud.io/v1alpha1
kind: TFJob
metadata: {name: a, creationTimestamp: null}
spec:
  runtimeID: ""${more}
  tfReplicaSpec:
  - replicas: null
    tfReplicaType: Local${replica}
    template: {metadata: {creationTimestamp: null}, spec: {restartPolicy: OnFailure, containers: [{name: t, image: i, args: null}]}}
status: {conditions: null, phase: Succeeded, reason: "", tfReplicaStatuses: null}
`;

Deno.test("a TFJob of 2018 becomes a runtime and a TrainJob", () => {
  const text = convertText(caicloud());
  match(text, /^# From TFJob a\.\n/);
  deepEqual(kindsIn(text), ["TrainingRuntime", "TrainJob"]);
  ok(!text.includes("null"), text);
});

Deno.test("a text of the job's does not leave its comment", () => {
  for (const end of ["\\n", "\\r", "\\N", "\\L", "\\P"]) {
    const text = convertText(caicloud(`\n  modelDir: "/m${end}kind: Secret"`));
    match(text, /^# modelDir: \/m kind: Secret is lost; no pod was told it before\.$/m);
    deepEqual(kindsIn(text), ["TrainingRuntime", "TrainJob"]);
  }
});

const local = (part: string) => job("a").replace(/template: .*/, `template: ${part}`);

const UNREADABLE: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
  "no YAML": ["a: [", /^cannot read the YAML: /],
  "no object": ["just text", /^each object must have apiVersion, kind and metadata\.name$/],
  "replicas that are no number": [
    job("a").replace("replicas: 2", "replicas: two"),
    /^JAXJob a cannot be read: .*number/,
  ],
  "containers that are no list": [
    local("{spec: {containers: 5}}"),
    /^JAXJob a cannot be read: .*expected array.* at spec\.jaxReplicaSpecs\.Worker\.template\.spec\.containers$/s,
  ],
  "an argument that is no text": [
    local("{spec: {containers: [{name: jax, image: i, args: [{}]}]}}"),
    /^JAXJob a cannot be read: .*expected string.* at .*\.args\[0\]$/s,
  ],
  "an owner that is no object": [
    job("a").replace("{name: a}", "{name: a, ownerReferences: [5]}"),
    /^JAXJob a cannot be read: .* at metadata\.ownerReferences\[0\]$/s,
  ],
  "a field that a TFJob of 2018 has not": [
    caicloud("\n  tensorboard: {logDir: /l}"),
    /^TFJob a cannot be read: .*Unrecognized key: "tensorboard".* at spec$/s,
  ],
  "a field that its replicas have not": [
    caicloud("", "\n    tfPort: 22"),
    /^TFJob a cannot be read: .*Unrecognized key: "tfPort".* at spec\.tfReplicaSpec\[0\]$/s,
  ],
  "a type that it has not": [
    caicloud().replace("Local", "MASTER"),
    /^TFJob a cannot be read: .*"Local"\|"PS"\|"Worker".* at spec\.tfReplicaSpec\[0\]\.tfReplicaType$/s,
  ],
  "replicas by their names, as a v1 job has them": [
    caicloud().replace("- replicas: null", "  Worker:").replace(/ {4}tfReplicaType.*/, ""),
    /^TFJob a cannot be read: .*expected array.* at spec\.tfReplicaSpec$/s,
  ],
};

for (const [says, [text, message]] of Object.entries(UNREADABLE)) {
  Deno.test(`a text is refused: ${says}`, () => {
    throws(() => convertText(text), { name: "ConfigurationError", message });
  });
}
