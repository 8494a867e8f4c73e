/** Discovery documents: version, groups, resources, OpenAPI and OpenID. */
import type { JsonObject } from "../../../platform/base/json.ts";
import { JWKS_PATH } from "../access/openid_discovery.ts";
import { apiVersionOf, type Resource, STORED_VERBS } from "../kinds/api_resource.ts";
import { methodNotAllowed } from "../objects/status_error.ts";
import type { Context } from "../operations/context.ts";
import { mediaTypes } from "./media_types.ts";
import { openApiIndex, openApiV2, openApiV3 } from "./openapi.ts";

/** Kubernetes version that this server is compatible with. */
const GIT_VERSION = "v1.36.3";

function versionInfo(): JsonObject {
  return {
    major: "1",
    minor: "36",
    gitVersion: GIT_VERSION,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "deno",
    platform: `${Deno.build.os}/${Deno.build.arch === "x86_64" ? "amd64" : "arm64"}`,
  };
}

function verbsOf(resource: Resource): readonly string[] {
  return resource.review ? ["create"] : STORED_VERBS;
}

interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** Kinds and verbs of the other subresources. */
const SUBRESOURCES: Readonly<Record<string, Omit<Subresource, "name">>> = {
  log: { group: "", version: "v1", kind: "Pod", verbs: ["get"] },
  binding: { group: "", version: "v1", kind: "Binding", verbs: ["create"] },
  eviction: { group: "policy", version: "v1", kind: "Eviction", verbs: ["create"] },
  token: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest", verbs: ["create"] },
  finalize: { group: "", version: "v1", kind: "Namespace", verbs: ["update"] },
};
const SCALE = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  verbs: ["get", "patch", "update"],
};

function subresourcesOf(resource: Resource): Subresource[] {
  const { group, version, kind } = resource;
  const status = { name: "status", group, version, kind, verbs: ["get", "patch", "update"] };
  return [
    ...(resource.status ? [status] : []),
    ...(resource.scale ? [{ name: "scale", ...SCALE }] : []),
    ...resource.subresources.flatMap((name) => {
      const known = SUBRESOURCES[name];
      return known ? [{ name, ...known }] : [];
    }),
  ];
}

function otherNames({ shortNames, categories }: Resource): JsonObject {
  return {
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  };
}

function plainResources(resource: Resource): JsonObject[] {
  const { namespaced } = resource;
  const main = {
    name: resource.resource,
    singularName: resource.singular,
    namespaced,
    kind: resource.kind,
    verbs: verbsOf(resource),
    ...otherNames(resource),
  };
  const others = subresourcesOf(resource).map(({ name, group, version, kind, verbs }) => ({
    name: `${resource.resource}/${name}`,
    singularName: "",
    namespaced,
    ...(group !== resource.group && { group, version }),
    kind,
    verbs,
  }));
  return [main, ...others];
}

function resourceList(resources: readonly Resource[], groupVersion: string): JsonObject {
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: resources.flatMap(plainResources),
  };
}

/** Returns the versions of each group, both in the order of discovery. */
function groupsOf(resources: readonly Resource[]): Map<string, string[]> {
  const groups = [...Map.groupBy(resources, ({ group }) => group)];
  return new Map(
    groups.map(([group, all]) => [group, [...new Set(all.map(({ version }) => version))]]),
  );
}

function groupDocument(group: string, versions: string[]): JsonObject {
  const all = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: all, preferredVersion: all[0] };
}

function aggregatedResource(resource: Resource): JsonObject {
  const { group, version, kind } = resource;
  return {
    resource: resource.resource,
    responseKind: { group, version, kind },
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: verbsOf(resource),
    ...otherNames(resource),
    subresources: subresourcesOf(resource).map(({ name, verbs, group, version, kind }) => ({
      subresource: name,
      responseKind: { group, version, kind },
      verbs,
    })),
  };
}

function aggregated(resources: readonly Resource[], apiVersion: string): JsonObject {
  const items = [...groupsOf(resources)].map(([group, versions]) => ({
    metadata: group === "" ? {} : { name: group },
    versions: versions.map((version) => ({
      version,
      freshness: "Current",
      resources: resources.filter((one) => one.group === group && one.version === version)
        .map(aggregatedResource),
    })),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion, metadata: {}, items };
}

/** Returns the version of aggregated discovery that the client prefers to plain JSON. */
function aggregatedVersion(request: Request): string | undefined {
  for (const { type, parameters } of mediaTypes(request.headers.get("accept") ?? "")) {
    if (type !== "application/json") continue;
    const { as, g, v } = parameters;
    if (as === undefined) return undefined;
    if (as === "APIGroupDiscoveryList" && g === "apidiscovery.k8s.io") return v;
  }
  return undefined;
}

function documentResponse(body: unknown, type = "application/json"): Response {
  return new Response(JSON.stringify(body), { headers: { "content-type": type } });
}

function aggregatedResponse(resources: readonly Resource[], version: string): Response {
  const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  return documentResponse(aggregated(resources, `apidiscovery.k8s.io/${version}`), type);
}

function apiRoot(resources: readonly Resource[], request: Request): Response {
  const core = resources.filter((one) => one.group === "");
  const version = aggregatedVersion(request);
  if (version) return aggregatedResponse(core, version);
  return documentResponse({ kind: "APIVersions", apiVersion: "v1", versions: ["v1"] });
}

function apisRoot(resources: readonly Resource[], request: Request): Response {
  const named = resources.filter((one) => one.group !== "");
  const version = aggregatedVersion(request);
  if (version) return aggregatedResponse(named, version);
  const groups = [...groupsOf(named)].map(([group, versions]) => groupDocument(group, versions));
  return documentResponse({ kind: "APIGroupList", apiVersion: "v1", groups });
}

/** Serves `/apis/GROUP` and `/apis/GROUP/VERSION`. */
function ofGroup(resources: readonly Resource[], group: string, version?: string) {
  const all = resources.filter((one) => one.group === group);
  const first = all[0];
  if (!first) return undefined;
  if (version === undefined) {
    const versions = groupsOf(all).get(group) ?? [];
    return documentResponse({
      kind: "APIGroup",
      apiVersion: "v1",
      ...groupDocument(group, versions),
    });
  }
  const served = all.filter((one) => one.version === version);
  if (served.length === 0) return undefined;
  return documentResponse(resourceList(served, apiVersionOf({ group, version })));
}

function openApi(context: Context, parts: string[], request: Request): Response | undefined {
  const [, version, root, group, apiVersion] = parts;
  if (version === "v2") return openApiV2(request);
  if (version !== "v3") return undefined;
  if (root === undefined) return documentResponse(openApiIndex(context.registry));
  const groupVersion = root === "api"
    ? { group: "", version: group ?? "" }
    : { group: group ?? "", version: apiVersion ?? "" };
  const document = openApiV3(context.registry, groupVersion);
  return document && documentResponse(document);
}

/** Serves a document; undefined if there is none at the path. Throws 405. */
export function discoveryDocument(
  context: Context,
  request: Request,
  url: URL,
): Response | undefined {
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const [root, first, second, ...more] = parts;
  const resources = context.registry.all();
  if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowed();
  if (root === "openapi") return openApi(context, parts, request);
  if (url.pathname === "/.well-known/openid-configuration") {
    return documentResponse(context.access.openIdConfiguration());
  }
  if (url.pathname === JWKS_PATH) {
    return documentResponse(context.access.jwks(), "application/jwk-set+json");
  }
  if (more.length > 0) return undefined;
  if (root === "version") return documentResponse(versionInfo());
  if (root === "api") {
    return first === undefined ? apiRoot(resources, request) : ofGroup(resources, "", first);
  }
  if (root !== "apis") return undefined;
  return first === undefined ? apisRoot(resources, request) : ofGroup(resources, first, second);
}
