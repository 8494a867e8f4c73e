/** Validation of Services: ports, addresses, selectors. */
import { asObjects, at, objectAt, textAt } from "../../../../platform/base/json.ts";
import {
  duplicate,
  invalid,
  required,
  type StatusCause,
  under,
  unsupported,
} from "../../../../crds/status_cause.ts";
import { checkPort } from "./containers.ts";
import { checkItemName, checkItems } from "./field_checks.ts";
import { checkLabels } from "./metadata.ts";
import { dnsLabel } from "../../../../crds/name_syntax.ts";

const TYPES = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)$/;

function checkPorts(spec: unknown): StatusCause[] {
  const ports = asObjects(at(spec, "ports"));
  const names = new Set<string>();
  const numbers = new Set<string>();
  return checkItems(spec, "spec", "ports", (port, here) => {
    const causes = [
      ...checkPort(port.port, under(here, "port")),
      ...(typeof port.targetPort === "number"
        ? checkPort(port.targetPort, under(here, "targetPort"))
        : []),
    ];
    if (ports.length > 1 || textAt(port, "name")) {
      causes.push(...checkItemName(port, here, dnsLabel, names));
    }
    const key = `${port.port}/${port.protocol ?? "TCP"}`;
    if (numbers.has(key)) {
      causes.push(duplicate(here, { port: port.port, protocol: port.protocol ?? "TCP" }));
    }
    numbers.add(key);
    return causes;
  });
}

/** Rules of kind Service. */
export function checkService(object: unknown, old?: unknown): StatusCause[] {
  const spec = objectAt(object, "spec");
  const type = textAt(spec, "type") ?? "ClusterIP";
  const address = textAt(spec, "clusterIP") ?? "";
  const causes = [...checkPorts(spec), ...checkLabels(spec.selector, "spec.selector")];
  if (!TYPES.includes(type)) causes.push(unsupported("spec.type", type, TYPES));
  const headless = address === "None";
  if (headless && (type === "NodePort" || type === "LoadBalancer")) {
    causes.push(
      invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`),
    );
  }
  if (address !== "" && !headless && !ADDRESS.test(address)) {
    causes.push(invalid("spec.clusterIPs[0]", address, "must be a valid IP address"));
  }
  if (asObjects(spec.ports).length === 0 && !headless && type !== "ExternalName") {
    causes.push(required("spec.ports"));
  }
  const before = textAt(old, "spec", "clusterIP") ?? "";
  if (before !== "" && address !== before && type !== "ExternalName") {
    causes.push(invalid("spec.clusterIPs[0]", address, "may not change once set"));
  }
  return causes;
}
