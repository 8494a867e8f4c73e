/** One TLS connection that sends bytes, and what comes back until it is closed. */
import { connect as connectPlain } from "node:net";
import { connect, type TLSSocket } from "node:tls";

/** An answer as it came. */
export interface RawAnswer {
  readonly code: number;
  readonly headers: string;
  readonly body: string;
}

/** Options of a connection. */
export interface RawTarget {
  readonly port: number;
  /** Address to come from. Default: what the system chooses. */
  readonly localAddress?: string;
  /** Certificates to trust. Absent: any is trusted. */
  readonly ca?: string;
}

/** Splits what came into answers. Throws where it is not a sequence of whole ones. */
export function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    const code = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1]);
    if (end < 0 || Number.isNaN(code)) throw new Error(`not a whole answer: ${rest.slice(0, 200)}`);
    const headers = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(headers)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({ code, headers, body });
    rest = rest.slice(end + 4 + body.length);
  }
  return answers;
}

/** Opens a TLS connection; it is one when `secureConnect` comes. */
export function dial({ port, localAddress, ca }: RawTarget): TLSSocket {
  const plain = connectPlain({ port, host: "127.0.0.1", localAddress });
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const socket = connect({ socket: plain, servername: "localhost", ...trust });
  plain.on("error", (error) => socket.destroy(error));
  // The runtime does not always tell the encrypted socket.
  plain.on("close", () => socket.destroy());
  return socket;
}

/** Sends bytes, and answers everything that came when the server has closed the connection. */
export function exchange(
  target: RawTarget,
  bytes: string | Uint8Array,
  ends = false,
): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = dial(target);
    socket.once("secureConnect", () => {
      socket.write(bytes);
      if (ends) socket.end();
    });
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => heard += String(chunk));
    // A reset after the answer is a way of closing, too.
    socket.on("error", () => {});
    socket.on("close", () => resolve(heard));
  });
}
