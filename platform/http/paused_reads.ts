/** Reads of a TCP connection that are stopped, and begun again. */
import type { Socket } from "node:net";

/**
 * Calls a method of the runtime's stream. A TLS socket that is paused reads on and keeps all that comes, so what is
 * stopped is the connection below it, for which there is no other way to begin again.
 */
function call(socket: Socket, method: "readStop" | "readStart"): void {
  const stream: unknown = Reflect.get(socket, "_handle");
  if (typeof stream !== "object" || stream === null) return;
  const found: unknown = Reflect.get(stream, method);
  if (typeof found === "function") Reflect.apply(found, stream, []);
}

/** Leaves what comes to the kernel, and so with the client. */
export const stopReads = (socket: Socket): void => call(socket, "readStop");

/** Reads again. */
export const startReads = (socket: Socket): void => call(socket, "readStart");
