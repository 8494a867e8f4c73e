/** Validation of containers: names, variables, ports, mounts, resources, probes. */
import { at, type JsonObject, objectAt, textAt } from "../../../../platform/base/json.ts";
import {
  compareQuantities,
  isQuantity,
  parseQuantity,
} from "../../../../platform/base/quantity.ts";
import {
  forbidden,
  invalid,
  notFound,
  required,
  type StatusCause,
  under,
  unsupported,
  wrongType,
} from "../../../../crds/status_cause.ts";
import { dnsLabel, envName, portName } from "../../../../crds/name_syntax.ts";
import {
  checkItemName,
  checkItems,
  checkNotNegative,
  checkRange,
  checkTexts,
} from "./field_checks.ts";

/** Checks the lists of containers of a pod's spec, in which no two have the same name. */
export function checkContainers(
  spec: unknown,
  path: string,
  volumes: ReadonlySet<string>,
): StatusCause[] {
  const seen = new Set<string>();
  return ["containers", "initContainers"].flatMap((list) =>
    checkItems(spec, path, list, (container, here) => [
      ...checkItemName(container, here, dnsLabel, seen),
      ...checkContainer(container, here, volumes),
    ])
  );
}

function checkContainer(
  container: JsonObject,
  path: string,
  volumes: ReadonlySet<string>,
): StatusCause[] {
  const image = textAt(container, "image") ?? "";
  return [
    ...checkTexts(container, path, "image"),
    ...(image.trim() !== image
      ? [invalid(under(path, "image"), image, "must not have leading or trailing whitespace")]
      : []),
    ...checkRestartPolicy(container, path),
    ...checkEnv(container, path),
    ...checkPorts(container, path),
    ...checkMounts(container, path, volumes),
    ...checkResources(container.resources, under(path, "resources")),
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((probe) =>
      checkProbe(at(container, probe), under(path, probe), probe)
    ),
  ];
}

const RESTARTS = ["Always", "Never", "OnFailure"];

function checkRestartPolicy(container: JsonObject, path: string): StatusCause[] {
  const policy = textAt(container, "restartPolicy");
  if (policy === undefined || RESTARTS.includes(policy)) return [];
  return [unsupported(under(path, "restartPolicy"), policy, RESTARTS)];
}

function checkEnv(container: JsonObject, path: string): StatusCause[] {
  const variables = checkItems(container, path, "env", (variable, here) => [
    ...checkItemName(variable, here, envName),
    ...checkValueFrom(variable, under(here, "valueFrom")),
  ]);
  const sources = checkItems(container, path, "envFrom", (source, here) => {
    const given = ["configMapRef", "secretRef"].filter((key) => source[key] !== undefined);
    if (given.length === 0) {
      return [invalid(here, "", "must specify one of: `configMapRef` or `secretRef`")];
    }
    return given.length > 1
      ? [invalid(here, "", "may not have more than one field specified at a time")]
      : [];
  });
  return [...variables, ...sources];
}

function checkValueFrom(variable: JsonObject, path: string): StatusCause[] {
  if (variable.valueFrom === undefined) return [];
  const given = Object.keys(objectAt(variable, "valueFrom"));
  if (given.length === 0) {
    return [
      invalid(
        path,
        "",
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
      ),
    ];
  }
  if ((textAt(variable, "value") ?? "") !== "") {
    return [invalid(path, "", "may not be specified when `value` is not empty")];
  }
  if (given.length > 1) {
    return [invalid(path, "", "may not have more than one field specified at a time")];
  }
  const field = textAt(variable, "valueFrom", "fieldRef", "fieldPath");
  if (field === undefined || ENV_FIELDS.test(field)) return [];
  const here = under(under(path, "fieldRef"), "fieldPath");
  return [invalid(here, field, "error converting fieldPath: field label not supported")];
}

/** Fields of a pod that variables may refer to. */
const ENV_FIELDS = new RegExp(
  "^(metadata\\.(name|namespace|uid)|metadata\\.(labels|annotations)\\['.+'\\]|" +
    "spec\\.(nodeName|serviceAccountName)|status\\.(hostIPs?|podIPs?))$",
);

function checkPorts(container: JsonObject, path: string): StatusCause[] {
  const names = new Set<string>();
  return checkItems(container, path, "ports", (port, here) => [
    ...checkPort(port.containerPort, under(here, "containerPort")),
    ...(textAt(port, "name") ? checkItemName(port, here, portName, names) : []),
  ]);
}

/** Checks the number of a port. */
export function checkPort(port: unknown, path: string): StatusCause[] {
  return port === undefined ? [required(path)] : checkRange(path, port, 1, 65_535);
}

function checkMounts(
  container: JsonObject,
  path: string,
  volumes: ReadonlySet<string>,
): StatusCause[] {
  const paths = new Set<string>();
  return checkItems(container, path, "volumeMounts", (mount, here) => {
    const name = textAt(mount, "name") ?? "";
    const mountPath = textAt(mount, "mountPath") ?? "";
    const subPath = textAt(mount, "subPath") ?? "";
    const causes: StatusCause[] = [];
    if (name === "") causes.push(required(under(here, "name")));
    else if (!volumes.has(name)) causes.push(notFound(under(here, "name"), name));
    if (mountPath === "") causes.push(required(under(here, "mountPath")));
    else if (paths.has(mountPath)) {
      causes.push(invalid(under(here, "mountPath"), mountPath, "must be unique"));
    }
    paths.add(mountPath);
    if (subPath.startsWith("/")) {
      causes.push(invalid(under(here, "subPath"), subPath, "must be a relative path"));
    }
    if (subPath.split("/").includes("..")) {
      causes.push(invalid(under(here, "subPath"), subPath, "must not contain '..'"));
    }
    return causes;
  });
}

const QUANTITY_TEXT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function checkResources(resources: unknown, path: string): StatusCause[] {
  const limits = objectAt(resources, "limits");
  const excess = Object.entries(objectAt(resources, "requests")).filter(([name, amount]) => {
    const [most, asked] = [limits[name], amount].map((one) => parseQuantity(String(one ?? "")));
    return most !== undefined && asked !== undefined && compareQuantities(asked, most) > 0;
  }).map(([name, amount]) =>
    invalid(
      under(path, "requests"),
      String(amount),
      `must be less than or equal to ${name} limit of ${limits[name]}`,
    )
  );
  return [...checkAmounts(resources, path), ...excess];
}

function checkAmounts(resources: unknown, path: string): StatusCause[] {
  return ["limits", "requests"].flatMap((part) =>
    Object.entries(objectAt(resources, part)).flatMap(([name, amount]) => {
      const here = `${under(path, part)}[${name}]`;
      const text = String(amount);
      if (!isQuantity(text)) return [wrongType(here, text, QUANTITY_TEXT)];
      return text.startsWith("-")
        ? [invalid(here, text, "must be greater than or equal to 0")]
        : [];
    })
  );
}

const HANDLERS = ["exec", "httpGet", "tcpSocket", "grpc"];
const COUNTS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
];

function checkProbe(probe: unknown, path: string, kind: string): StatusCause[] {
  if (probe === undefined) return [];
  const fields = objectAt(probe);
  const given = HANDLERS.filter((handler) => fields[handler] !== undefined);
  const causes: StatusCause[] = [];
  if (given.length === 0) causes.push(required(path, "must specify a handler type"));
  for (const extra of given.slice(1)) {
    causes.push(forbidden(under(path, extra), "may not specify more than 1 handler type"));
  }
  causes.push(...checkNotNegative(fields, path, COUNTS));
  const successes = fields.successThreshold;
  if (kind !== "readinessProbe" && typeof successes === "number" && successes > 1) {
    causes.push(invalid(under(path, "successThreshold"), successes, "must be 1"));
  }
  return causes;
}
