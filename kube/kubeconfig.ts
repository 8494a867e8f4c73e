/** Finds the API server and the credentials to use with it. */
import type { KubeConfig } from "@kubernetes/client-node";

export { ConfigurationError } from "./errors.ts";

/** Which API server to talk to: client-node's configuration with a current cluster and user. */
export type Connection = KubeConfig;
