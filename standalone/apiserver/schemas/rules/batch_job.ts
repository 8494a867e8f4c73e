/** Validation of Jobs: limits of the spec, and immutable fields (Kubernetes, `pkg/apis/batch/validation`). */
import {
  asObjects,
  at,
  type JsonObject,
  objectAt,
  sameJson,
} from "../../../../platform/base/json.ts";
import { invalid, required, type StatusCause, under } from "../../../../crds/status_cause.ts";
import { checkNotNegative, checkSyntax } from "./field_checks.ts";
import { dnsLabel, qualifiedName } from "../../../../crds/name_syntax.ts";
import { checkJobRestartPolicy, checkPodTemplate, checkSelector } from "./pod.ts";

const NOT_NEGATIVE = [
  "parallelism",
  "completions",
  "backoffLimit",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
  "activeDeadlineSeconds",
  "ttlSecondsAfterFinished",
];
const IMMUTABLE = "field is immutable";
/** Limit of completions and parallelism of an Indexed Job. */
const INDEXED_MAX = 100_000;

/** Checks a Job's spec at the path, also that of a template, which has no selector yet. */
function checkJobSpec(spec: unknown, path: string): StatusCause[] {
  const template = under(path, "template");
  return [
    ...checkNotNegative(spec, path, NOT_NEGATIVE),
    ...checkIndexed(spec, path),
    ...checkManager(spec, path),
    ...checkPodTemplate(at(spec, "template"), template),
    ...checkJobRestartPolicy(at(spec, "template"), template),
  ];
}

/** Checks `managedBy`: a domain-prefixed name. */
function checkManager(spec: unknown, path: string): StatusCause[] {
  const manager = at(spec, "managedBy");
  if (typeof manager !== "string") return [];
  const field = under(path, "managedBy");
  if (!manager.includes("/")) {
    return [invalid(field, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  return checkSyntax(field, manager, qualifiedName);
}

function checkIndexed(spec: unknown, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const completions = at(spec, "completions");
  const parallelism = at(spec, "parallelism");
  if (at(spec, "completionMode") !== "Indexed") {
    if (at(spec, "backoffLimitPerIndex") !== undefined) {
      causes.push(invalid(
        under(path, "backoffLimitPerIndex"),
        at(spec, "backoffLimitPerIndex"),
        "requires indexed completion mode",
      ));
    }
    return causes;
  }
  if (completions === undefined) {
    causes.push(
      required(under(path, "completions"), "when completion mode is Indexed"),
    );
  }
  if (typeof parallelism === "number" && parallelism > INDEXED_MAX) {
    causes.push(invalid(
      under(path, "parallelism"),
      parallelism,
      `must be less than or equal to ${INDEXED_MAX} when completion mode is Indexed`,
    ));
  }
  return causes;
}

/** Checks the name of an Indexed Job, which is part of its pods' hostnames. */
function checkHostname(job: unknown): StatusCause[] {
  const completions = at(job, "spec", "completions");
  const name = at(job, "metadata", "name");
  if (at(job, "spec", "completionMode") !== "Indexed" || typeof completions !== "number") return [];
  if (typeof name !== "string" || completions < 1) return [];
  return dnsLabel(`${name}-${completions - 1}`).map((problem) =>
    invalid("metadata.name", name, `will not able to create pod with invalid DNS label: ${problem}`)
  );
}

/** Returns the template without the fields that may change while a Job is suspended and has not started. */
function withoutScheduling(template: JsonObject): JsonObject {
  const { nodeSelector: _1, tolerations: _2, affinity: _3, schedulingGates: _4, ...spec } =
    objectAt(
      template,
      "spec",
    );
  const { labels: _5, annotations: _6, ...metadata } = objectAt(template, "metadata");
  const containers = asObjects(spec.containers).map(({ resources: _, ...rest }) => rest);
  return { ...template, metadata, spec: { ...spec, containers } };
}

function mayChangeScheduling(old: unknown): boolean {
  const started = at(old, "status", "startTime") !== undefined;
  return at(old, "spec", "suspend") === true && !started;
}

function checkJobUpdate(job: unknown, old: unknown): StatusCause[] {
  const spec = objectAt(job, "spec");
  const before = objectAt(old, "spec");
  const fixed = [
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
  ];
  const causes = fixed.filter((key) => !sameJson(spec[key], before[key]))
    .map((key) => invalid(under("spec", key), spec[key], IMMUTABLE));
  const template = objectAt(spec, "template");
  const templateBefore = objectAt(before, "template");
  const same = mayChangeScheduling(old)
    ? sameJson(withoutScheduling(template), withoutScheduling(templateBefore))
    : sameJson(template, templateBefore);
  if (!same) {
    const inSpec = mayChangeScheduling(old) &&
      sameJson({ ...template, spec: 0 }, { ...templateBefore, spec: 0 });
    causes.push(invalid(inSpec ? "spec.template.spec" : "spec.template", template, IMMUTABLE));
  }
  return [...causes, ...checkCompletions(spec, before)];
}

/** Checks that completions do not change, except for an elastic Indexed Job, which scales with its parallelism. */
function checkCompletions(spec: JsonObject, before: JsonObject): StatusCause[] {
  if (spec.completions === before.completions) return [];
  if (before.completionMode === "Indexed") {
    return spec.completions === spec.parallelism && spec.completions !== undefined ? [] : [
      invalid(
        "spec.completions",
        spec.completions,
        `can only be modified in tandem with spec.parallelism`,
      ),
    ];
  }
  return [invalid("spec.completions", spec.completions, IMMUTABLE)];
}

/** Rules of kind Job. */
export function checkJob(job: unknown, old?: unknown): StatusCause[] {
  const causes = checkJobSpec(at(job, "spec"), "spec");
  if (old !== undefined) return [...causes, ...checkJobUpdate(job, old)];
  const selected = at(job, "spec", "selector") === undefined
    ? [required("spec.selector")]
    : checkSelector(job);
  return [...causes, ...checkHostname(job), ...selected];
}
