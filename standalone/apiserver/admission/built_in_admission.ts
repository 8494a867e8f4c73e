/** Built-in admission: service accounts, Job selectors, Service addresses, namespaces and escalation. */
import {
  asObjects,
  isObject,
  type JsonObject,
  objectAt,
  textAt,
  textMapAt,
} from "../../../platform/base/json.ts";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import { type Authorizer } from "../access/authorizer.ts";
import { checkEscalation } from "./escalation.ts";
import * as field from "../../../crds/status_cause.ts";
import { forbidden, invalid } from "../objects/status_error.ts";
import { KEYS, RBAC_GROUP, sameKey } from "../storage/resource_keys.ts";
import type { ObjectReader } from "../storage/store.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import { unservedWarning } from "./inert_kinds.ts";

/** Folder where Kubernetes clients look for a pod's own token. */
const TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
const ROOT_CA = "kube-root-ca.crt";
const IMMORTAL_NAMESPACES = new Set(["default", "kube-system", "kube-public"]);

/** Changes a copy of the object in place and returns warnings. */
type Mutator = (object: JsonObject, request: AdmissionRequest, store: ObjectReader) => string[];

/** Sets the pod's service account, which must exist, and mounts its token if the pod asks for it. */
const servicePod: Mutator = (pod, request, store) => {
  const { spec } = pod;
  if (!isObject(spec)) return [];
  const name = textAt(spec, "serviceAccountName") || "default";
  const account = store.get(KEYS.serviceAccounts, request.namespace, name);
  if (account === undefined) {
    throw forbidden(
      request.resource,
      request.name ?? "",
      `error looking up service account ${request.namespace}/${name}: serviceaccount "${name}" not found`,
    );
  }
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  const secrets = asObjects(account.imagePullSecrets);
  if (spec.imagePullSecrets === undefined && secrets.length > 0) spec.imagePullSecrets = secrets;
  // Pods are processes here, so the token is mounted only on request.
  if ((spec.automountServiceAccountToken ?? account.automountServiceAccountToken) === true) {
    mountToken(spec);
  }
  return [];
};

function mountToken(spec: JsonObject): void {
  const volume = "kube-api-access";
  const containers = [...asObjects(spec.containers), ...asObjects(spec.initContainers)];
  const lacking = containers.filter((container) =>
    !asObjects(container.volumeMounts).some((mount) => mount.mountPath === TOKEN_FOLDER)
  );
  if (lacking.length === 0) return;
  for (const container of lacking) {
    container.volumeMounts = [
      ...asObjects(container.volumeMounts),
      { name: volume, mountPath: TOKEN_FOLDER, readOnly: true },
    ];
  }
  spec.volumes = [...asObjects(spec.volumes), {
    name: volume,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
        {
          configMap: {
            name: ROOT_CA,
            optional: true,
            items: [{ key: "ca.crt", path: "ca.crt" }],
          },
        },
        {
          downwardAPI: {
            items: [{
              path: "namespace",
              fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" },
            }],
          },
        },
      ],
    },
  }];
}

/** Makes a Job select its pods by its own UID, unless it sets `manualSelector`. */
const jobSelector: Mutator = (job, request) => {
  const { spec } = job;
  if (!isObject(spec) || spec.manualSelector === true) return [];
  const uid = textAt(job, "metadata", "uid") ?? "";
  const name = request.name ?? textAt(job, "metadata", "name") ?? "";
  const given = textMapAt(spec, "selector", "matchLabels");
  if (spec.selector !== undefined && given[JOB_KEYS.controllerUid] !== uid) {
    throw invalid({ group: "batch", kind: "Job" }, name, [
      field.invalid("spec.selector", spec.selector, "`selector` not auto-generated"),
      field.invalid(
        "spec.template.metadata.labels",
        {},
        "`selector` does not match template `labels`",
      ),
    ]);
  }
  const template = objectAt(spec, "template");
  const metadata = objectAt(template, "metadata");
  const labels = {
    ...objectAt(metadata, "labels"),
    [JOB_KEYS.controllerUid]: uid,
    [JOB_KEYS.jobName]: name,
    [JOB_KEYS.legacyControllerUid]: uid,
    [JOB_KEYS.legacyJobName]: name,
  };
  spec.template = { ...template, metadata: { ...metadata, labels } };
  spec.selector = { matchLabels: { [JOB_KEYS.controllerUid]: uid } };
  return [];
};

const ADDRESSED_TYPES = new Set(["NodePort", "LoadBalancer", "ExternalName"]);

/** Makes Services headless: they have no virtual address here. Types that need one are refused. */
const serviceAddress: Mutator = (service, request) => {
  const { spec } = service;
  if (!isObject(spec)) return [];
  const type = textAt(spec, "type") ?? "ClusterIP";
  if (ADDRESSED_TYPES.has(type)) {
    throw forbidden(
      request.resource,
      request.name ?? "",
      `this server runs pods as processes of one machine and has no Services of type ${type}; use ClusterIP`,
    );
  }
  spec.ipFamilies ??= ["IPv4"];
  spec.ipFamilyPolicy ??= "SingleStack";
  if ((textAt(spec, "clusterIP") ?? "") !== "") return [];
  const before = textAt(request.oldObject, "spec", "clusterIP");
  spec.clusterIP = before ?? "None";
  spec.clusterIPs = [spec.clusterIP];
  if (before !== undefined) return [];
  return [
    "this server gives Services no virtual address: this Service is headless (clusterIP: None)",
  ];
};

const ON_CREATE: Readonly<Record<string, Mutator>> = {
  "/pods": servicePod,
  "/services": serviceAddress,
  "batch/jobs": jobSelector,
};
const ON_UPDATE: Readonly<Record<string, Mutator>> = { "/services": serviceAddress };

/** Sets the server's own defaults before any webhook. Does not change the request's object. */
export function applyBuiltIn(
  request: AdmissionRequest,
  store: ObjectReader,
): { object: unknown; warnings: string[] } {
  const key = `${request.resource.group}/${request.resource.resource}`;
  const table = { CREATE: ON_CREATE, UPDATE: ON_UPDATE, DELETE: {} };
  const mutators: Readonly<Record<string, Mutator>> = table[request.operation];
  const mutator = mutators[key];
  const unserved = request.operation === "CREATE" && !request.subresource
    ? unservedWarning(request.resource)
    : undefined;
  if (mutator === undefined || request.subresource || !isObject(request.object)) {
    return { object: request.object, warnings: unserved === undefined ? [] : [unserved] };
  }
  const object = structuredClone(request.object);
  const warnings = mutator(object, request, store);
  return { object, warnings };
}

/** Checks the server's own rules after the mutating webhooks. Throws a StatusError. */
export function checkBuiltIn(request: AdmissionRequest, authorizer: Authorizer): void {
  const { operation, resource, name = "" } = request;
  if (operation === "DELETE") {
    const immortal = sameKey(resource, KEYS.namespaces) && IMMORTAL_NAMESPACES.has(name);
    if (immortal) throw forbidden(resource, name, "this namespace may not be deleted");
    return;
  }
  if (resource.group === RBAC_GROUP) checkEscalation(request, authorizer);
}
