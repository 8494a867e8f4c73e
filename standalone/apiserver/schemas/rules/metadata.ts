/** Validation of metadata: names, labels, annotations, finalizers, owners. */
import { asObjects, asTexts, at, objectAt, textAt } from "../../../../platform/base/json.ts";
import {
  invalid,
  required,
  type StatusCause,
  tooLong,
  under,
} from "../../../../crds/status_cause.ts";
import {
  dnsSubdomain,
  labelValue,
  qualifiedName,
  type Syntax,
} from "../../../../crds/name_syntax.ts";
import { checkSyntax } from "./field_checks.ts";

const ANNOTATIONS_MAX_BYTES = 256 * 1024;

const PATH = "metadata";

/** Checks `metadata`. `name` is the syntax of the kind's names. */
export function checkMetadata(metadata: unknown, name: Syntax = dnsSubdomain): StatusCause[] {
  return [
    ...checkName(metadata, name),
    ...checkLabels(at(metadata, "labels"), under(PATH, "labels")),
    ...checkAnnotations(at(metadata, "annotations"), under(PATH, "annotations")),
    ...asTexts(at(metadata, "finalizers")).flatMap((finalizer, index) =>
      checkSyntax(under(under(PATH, "finalizers"), index), finalizer, finalizerProblems)
    ),
    ...checkOwners(metadata, under(PATH, "ownerReferences")),
  ];
}

/** Finalizers of Kubernetes, which need no domain. */
const STANDARD_FINALIZERS = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

function finalizerProblems(finalizer: string): string[] {
  const problems = qualifiedName(finalizer);
  if (problems.length > 0 || finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer)) {
    return problems;
  }
  // Definitions have a finalizer without a slash.
  return finalizer.includes(".")
    ? []
    : ["name is neither a standard finalizer name nor is it fully qualified"];
}

function checkName(metadata: unknown, syntax: Syntax): StatusCause[] {
  const name = textAt(metadata, "name") ?? "";
  const generateName = textAt(metadata, "generateName") ?? "";
  const causes: StatusCause[] = [];
  if (generateName !== "") {
    // A generated name ends in a random suffix, so that a trailing dash is valid.
    const sample = generateName.replace(/-$/, "a");
    causes.push(
      ...syntax(sample).map((problem) =>
        invalid(under(PATH, "generateName"), generateName, problem)
      ),
    );
  }
  if (name === "") {
    if (generateName === "") {
      causes.push(required(under(PATH, "name"), "name or generateName is required"));
    }
    return causes;
  }
  return [...causes, ...checkSyntax(under(PATH, "name"), name, syntax)];
}

/** Checks a map of labels. */
export function checkLabels(labels: unknown, path: string): StatusCause[] {
  return Object.entries(objectAt(labels)).flatMap(([key, value]) => [
    ...checkSyntax(path, key, qualifiedName),
    ...checkSyntax(path, String(value), labelValue),
  ]);
}

function checkAnnotations(annotations: unknown, path: string): StatusCause[] {
  const entries = Object.entries(objectAt(annotations));
  const causes = entries.flatMap(([key]) =>
    qualifiedName(key.toLowerCase()).map((problem) => invalid(path, key, problem))
  );
  const bytes = entries.reduce((sum, [key, value]) => sum + key.length + byteLength(value), 0);
  if (bytes > ANNOTATIONS_MAX_BYTES) causes.push(tooLong(path, ANNOTATIONS_MAX_BYTES));
  return causes;
}

const encoder = new TextEncoder();

/** Returns the length of a text in UTF-8; 0 for other values. */
export function byteLength(value: unknown): number {
  return typeof value === "string" ? encoder.encode(value).length : 0;
}

function checkOwners(metadata: unknown, path: string): StatusCause[] {
  const owners = asObjects(at(metadata, "ownerReferences"));
  const causes = owners.flatMap((owner) =>
    ["apiVersion", "kind", "name", "uid"].filter((key) => (textAt(owner, key) ?? "") === "")
      .map((key) =>
        invalid(
          under(path, key),
          "",
          `${key === "apiVersion" ? "version" : key} must not be empty`,
        )
      )
  );
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length > 1) {
    const [one, other] = controllers.map((it) => `${textAt(it, "kind")}/${textAt(it, "name")}`);
    causes.push(invalid(
      path,
      controllers.map((owner) => textAt(owner, "name")),
      `Only one reference can have Controller set to true. Found "true" in references for ${one} and ${other}`,
    ));
  }
  return causes;
}
