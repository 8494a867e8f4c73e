/** Tests of `milepost convert` on whole texts. */
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { convertText } from "../../app/convert/convert_text.ts";

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

const UNREADABLE: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
  "no YAML": ["a: [", /^cannot read the YAML: /],
  "no object": ["just text", /^each object must have apiVersion, kind and metadata\.name$/],
  "replicas that are no number": [
    job("a").replace("replicas: 2", "replicas: two"),
    /^JAXJob a cannot be read: /,
  ],
};

for (const [says, [text, message]] of Object.entries(UNREADABLE)) {
  Deno.test(`a text is refused: ${says}`, () => {
    throws(() => convertText(text), { name: "ConfigurationError", message });
  });
}
