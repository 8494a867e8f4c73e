/** Connections of hostile peers that never go on: half bodies, half headers and half handshakes on every port. */
import { WEBHOOK_PATHS } from "../../../webhook/webhook_paths.ts";
import type { LoadTarget } from "../../generator/plan.ts";
import type { Hold } from "../../generator/holds.ts";
import type { Endpoint } from "../endpoint.ts";
import { attackers } from "./addresses.ts";

const LONGEST_REVIEW = 3 << 20;
const LONGEST_PUSH = 65_536;
/** The first bytes of a TLS handshake. */
const HELLO = "\x16\x03\x01";

const postHead = (path: string, length: number, token = "none") =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
  `Authorization: Bearer ${token}\r\nContent-Length: ${length}\r\n\r\n`;

/** Returns the holds; `tenants` are the attacker's jobs with the tokens of their pods. */
export function hostileConnections(
  { ports }: Pick<Endpoint, "ports">,
  tenants: readonly LoadTarget[],
): Hold[] {
  const pathOf = ({ url }: LoadTarget) => new URL(url).pathname;
  const anyPath = tenants.map(pathOf)[0] ?? "/";
  const at = (port: number) => `127.0.0.1:${port}`;
  const half = {
    text: "GET /metrics HTTP/1.1\r\nHost: x\r\nX-",
    tls: false,
    count: 3_000,
    rate: 100,
  };
  const review = postHead(WEBHOOK_PATHS.mutatePods, LONGEST_REVIEW);
  return [
    ...tenants.map((tenant, number): Hold => ({
      name: `H5: pushes one byte short (${number})`,
      address: at(ports.status),
      sources: attackers(5, 4),
      count: 1_000,
      rate: 25,
      tls: true,
      text: postHead(pathOf(tenant), LONGEST_PUSH, tenant.token),
      more: LONGEST_PUSH - 1,
    })),
    {
      name: "H5: half a header",
      address: at(ports.status),
      sources: attackers(6, 4),
      count: 5_000,
      rate: 100,
      tls: true,
      text: postHead(anyPath, 100).slice(0, 60),
    },
    {
      name: "H5: half a hello",
      address: at(ports.status),
      sources: attackers(7, 4),
      count: 20_000,
      rate: 300,
      tls: false,
      text: HELLO,
    },
    {
      name: "H1: reviews one byte short",
      address: at(ports.webhook),
      sources: attackers(8, 4),
      count: 100,
      rate: 5,
      tls: true,
      text: review,
      more: LONGEST_REVIEW - 1,
    },
    {
      name: "H7: half a header, health",
      address: at(ports.health),
      sources: attackers(9, 4),
      ...half,
    },
    {
      name: "H7: half a header, metrics",
      address: at(ports.metrics),
      sources: attackers(9, 4),
      ...half,
    },
  ];
}
