/** Validation of volumes: unique names, and one source each. */
import { at, type JsonObject, numberAt, textAt } from "../../../../platform/base/json.ts";
import {
  forbidden,
  invalid,
  required,
  type StatusCause,
  under,
} from "../../../../crds/status_cause.ts";
import { dnsLabel } from "../../../../crds/name_syntax.ts";
import { checkItemName, checkItems, lifetimeProblem } from "./field_checks.ts";

/** Checks the volumes of a pod's spec and adds their names to `names`. */
export function checkVolumes(spec: unknown, path: string, names: Set<string>): StatusCause[] {
  return checkItems(spec, path, "volumes", (volume, here) => [
    ...checkItemName(volume, here, dnsLabel, names),
    ...checkSource(volume, here),
  ]);
}

/** Required field of each source. */
const NEEDED: Readonly<Record<string, string>> = {
  configMap: "name",
  secret: "secretName",
  persistentVolumeClaim: "claimName",
  hostPath: "path",
};

function checkSource(volume: JsonObject, path: string): StatusCause[] {
  const given = Object.keys(volume).filter((key) => key !== "name");
  const [first, ...others] = given;
  if (first === undefined) return [required(path, "must specify a volume type")];
  if (others.length > 0) {
    return others.map((key) =>
      forbidden(under(path, key), "may not specify more than 1 volume type")
    );
  }
  const here = under(path, first);
  const needed = NEEDED[first];
  if (needed !== undefined && (textAt(volume, first, needed) ?? "") === "") {
    return [required(under(here, needed))];
  }
  return first === "projected" ? checkProjected(volume.projected, here) : [];
}

function checkProjected(projected: unknown, path: string): StatusCause[] {
  return checkItems(projected, path, "sources", (source, here) => {
    const [, ...others] = Object.keys(source);
    const causes = others.map((key) =>
      forbidden(under(here, key), "may not specify more than 1 volume type per source")
    );
    return [
      ...causes,
      ...checkToken(at(source, "serviceAccountToken"), under(here, "serviceAccountToken")),
    ];
  });
}

function checkToken(token: unknown, path: string): StatusCause[] {
  if (token === undefined) return [];
  const seconds = numberAt(token, "expirationSeconds");
  const problem = seconds === undefined ? undefined : lifetimeProblem(seconds);
  const causes = problem === undefined
    ? []
    : [invalid(under(path, "expirationSeconds"), seconds, problem)];
  // The real server reports the field of the volume, not that of the source.
  if ((textAt(token, "path") ?? "") === "") {
    causes.push(required(`${path.replace(/\.sources\[.*$/, "")}.path`));
  }
  return causes;
}
