/** Requests of this process to this machine, which go through no proxy, as with programs in Go. */
import { localProxies } from "../../standalone/kubelet/containers/inherited_environment.ts";

/** Completes the exceptions of the environment's proxies by this machine, for all requests from now on. */
export function exceptThisMachine(): void {
  for (const [name, value] of Object.entries(localProxies(Deno.env.toObject()))) {
    Deno.env.set(name, value);
  }
}
