/** Upserts of lists that Kubernetes keys by a field: variables, ports. */
import type { Container, EnvVar } from "../../crds/kubernetes.ts";
import { unshared } from "./copy.ts";

/**
 * Puts each variable into the container: where one of its name is, the entire entry is replaced in
 * place, else it goes to the end (contract trainjob.md 3.4). Entries are copied.
 */
export function upsertEnv(container: Container, variables: readonly EnvVar[]): void {
  if (variables.length === 0) return;
  const env = container.env ?? [];
  for (const variable of variables) {
    const index = env.findIndex(({ name }) => name === variable.name);
    const copy = unshared(variable);
    if (index < 0) env.push(copy);
    else env[index] = copy;
  }
  container.env = env;
}

/**
 * Declares a TCP port, unless the container declares it. Ports without a name stay apart, other
 * than upstream's, which overwrites the first of them (gap G6).
 */
export function declarePort(container: Container, containerPort: number): void {
  const ports = container.ports ?? [];
  const known = ports.some((port) =>
    port.containerPort === containerPort && (port.protocol ?? "TCP") === "TCP"
  );
  if (!known) container.ports = [...ports, { containerPort }];
}
