/** Tests of `milepost convert` on whole texts. */
import { deepEqual, equal, match, throws } from "node:assert/strict";
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
