/** Loopback addresses of honest clients and of attackers. */

/** Addresses of honest pods. */
export const PODS = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
/** The API server's, from which honest reviews come; the manager is told of it. */
export const API_SERVER = "127.0.0.1";

/** Addresses of one kind of attack. */
export function attackers(kind: number, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `127.0.${80 + kind}.${number + 1}`);
}
