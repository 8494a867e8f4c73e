/** The table of the settings of `milepost ui`. */
import { z } from "zod";
import { MANAGER, PORTS, UI } from "../../crds/names.ts";
import { dnsLabel } from "../../crds/name_syntax.ts";
import { DEFAULT_STREAM_LIMITS } from "../../platform/http/limits/stream_limits.ts";
import { LIST_LIMITS } from "../../crds/wire/list_query.ts";
import {
  baseUrl,
  boolean,
  count,
  LIST,
  logLevel,
  path,
  port,
  texts,
  textsOf,
} from "./setting_schemas.ts";

const HOSTS = "must be names of hosts without a scheme or a port, such as page.example.com";
const HOST = /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/i;

/** Names of hosts. */
const hosts = textsOf(HOSTS, (it) => it.length <= 253 && HOST.test(it))
  .meta({ ...LIST, value: "hosts", otherwise: "none besides" });

const NAMESPACES = `must be at most ${LIST_LIMITS.namespaces} names of namespaces`;

/** Names of namespaces. */
const namespaces = texts(NAMESPACES, (all) => {
  const wrong = all.find((it) => dnsLabel(it).length > 0);
  if (wrong !== undefined) return `${NAMESPACES}, not "${wrong}"`;
  return new Set(all).size <= LIST_LIMITS.namespaces ? undefined : NAMESPACES;
}).transform((all): readonly string[] => [...new Set(all)])
  .meta({ ...LIST, short: "-n", value: "names", otherwise: "the context's" });

const inCluster = (text: string) => `with --in-cluster: ${text}`;

/** The settings. */
export const uiSettings = z.strictObject({
  inCluster: boolean(false).describe(
    "serve the page for everybody who has a token of the cluster, with the rights of that token",
  ),
  kubeconfig: path("file", "as kubectl finds it; in a pod, the pod's own account")
    .describe("kubeconfig of the API server"),
  context: z.string().min(1).optional().describe("context of the kubeconfig")
    .meta({ value: "name", otherwise: "its current one" }),
  namespace: namespaces.describe(
    "namespaces that are looked at where the user may not list the jobs of all; repeated, or separated by commas",
  ),
  uiPort: port(0).describe("port of the page; 0 takes any free port"),
  json: boolean(false).describe("print one line of JSON when ready"),
  managerNamespace: z.string().min(1).default(MANAGER.namespace).describe(
    "namespace of the manager; with --in-cluster of the page, too",
  ),
  managerService: z.string().min(1).default(MANAGER.name).describe("Service of the manager"),
  bindAddress: z.string().default("0.0.0.0").describe(inCluster("address to listen on"))
    .meta({ value: "address" }),
  healthPort: port(PORTS.health).describe(inCluster("port of /healthz and /readyz, plain HTTP")),
  uiHosts: hosts.describe(
    inCluster(
      "names by which browsers reach the page, besides those of its Service and localhost; repeated, or separated " +
        "by commas",
    ),
  ),
  tlsCert: path("file", "self-signed")
    .describe(inCluster("certificate of the page; self-signed while the file is not there")),
  tlsKey: path("file", "self-signed").describe(inCluster("its key")),
  serviceName: z.string().min(1).default(UI.name).describe(inCluster("the Service of the page")),
  managerUrl: baseUrl.describe(inCluster("https://host:port of the manager's status port"))
    .meta({ otherwise: "that of the manager's Service" }),
  managerToken: path("file", UI.managerToken).describe(
    inCluster("token with which the manager is asked for curves"),
  ),
  managerCa: z.string().default(UI.managerCa.join(","))
    .describe(inCluster("CAs of the manager's certificate, separated by commas"))
    .meta({ value: "files" }),
  maxStreams: count(2 * DEFAULT_STREAM_LIMITS.total).describe(
    inCluster("streams of events that the page keeps open"),
  ),
  maxStreamsPerSubject: count(DEFAULT_STREAM_LIMITS.perSubject).describe(
    inCluster("the same of one user"),
  ),
  logLevel: logLevel("error"),
});
