/** Hostile bodies, each with its answer. */
import { gzipSync } from "node:zlib";
import { PATH, PUSH, type Sent } from "../chain/handler_bench.ts";
import { allWith, type HostileCases } from "./case.ts";
import { NO_TIMES } from "./times.ts";

const TIME = PUSH.trainerStatus.lastUpdatedTime;
const GOOD = JSON.stringify(PUSH);
const text = (body: string): Sent => ({ body });
const bytes = (...body: number[]): Sent => ({ chunks: [Uint8Array.from(body)] });
const encoded = (value: string) => new TextEncoder().encode(value);
/** A status with a field of this JSON text, which need not be one that JSON.stringify makes. */
const field = (name: string, json: string): Sent =>
  text(`{"trainerStatus":{"lastUpdatedTime":"${TIME}","${name}":${json}}}`);
const percentage = (json: string) => field("progressPercentage", json);
const seconds = (json: string) => field("estimatedRemainingSeconds", json);
const metrics = (json: string) => field("metrics", json);
const metric = (name: unknown, value: unknown) => metrics(JSON.stringify([{ name, value }]));
const time = (value: unknown) =>
  text(JSON.stringify({ trainerStatus: { lastUpdatedTime: value } }));
const sequence = (json: string): Sent => text(GOOD.replace(/}$/, `,"sequence":${json}}`));
const packed = (body: Uint8Array, encoding = "gzip"): Sent => ({
  chunks: [body],
  headers: { "content-encoding": encoding },
});
const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

function utf16(value: string): Sent {
  const units = [...value].flatMap((char) => [char.charCodeAt(0) & 0xff, char.charCodeAt(0) >> 8]);
  return bytes(0xff, 0xfe, ...units);
}

const gzip = new Uint8Array(gzipSync(GOOD));
const cut = gzip.slice(0, -9);
const wrongSum = gzip.map((byte, index) => index === gzip.length - 6 ? byte ^ 1 : byte);

/** Not JSON in UTF-8. */
const NO_JSON: Record<string, Sent> = {
  "no body": text(""),
  "a body of spaces": text("    "),
  "a brace": text("{"),
  "a push cut off": text(GOOD.slice(0, -1)),
  "a push and a comma": text(`${GOOD},`),
  "two pushes": text(GOOD + GOOD),
  "a push and a null byte": text(`${GOOD}\0`),
  "a null byte": text("\0"),
  "a comment": text(`/* x */${GOOD}`),
  "a comma too many": text(GOOD.replace(/}$/, ",}")),
  "single quotes": text(GOOD.replaceAll('"', "'")),
  "names without quotes": text(GOOD.replace('"trainerStatus"', "trainerStatus")),
  "YAML": text("trainerStatus:\n  progressPercentage: 1\n"),
  "XML with an entity": text('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'),
  "a form": text("trainerStatus=1&progressPercentage=5"),
  "JavaScript": text("new Date()"),
  "NaN": percentage("NaN"),
  "Infinity": percentage("Infinity"),
  "minus Infinity": percentage("-Infinity"),
  "undefined": percentage("undefined"),
  "a hexadecimal number": percentage("0x10"),
  "an octal number": percentage("010"),
  "a number with a plus": percentage("+10"),
  "a number with a dot before it": percentage(".5"),
  "a number with a dot after it": percentage("5."),
  "a number with a separator": percentage("1_0"),
  "a number with a big-integer suffix": percentage("10n"),
  "a control character within a text": text(GOOD.replace("loss", "lo\nss")),
  "an unknown escape": text(GOOD.replace("loss", "lo\\xss")),
  "UTF-16": utf16(GOOD),
  "UTF-8 that is cut off": bytes(0x22, 0xc3, 0x22),
  "UTF-8 that is overlong": bytes(0x22, 0xc0, 0xaf, 0x22),
  "a surrogate as UTF-8": bytes(0x22, 0xed, 0xa0, 0x80, 0x22),
  "a byte that UTF-8 never has": bytes(...encoded(GOOD), 0xff),
  "gzip that says not that it is": { chunks: [gzip] },
};

/** JSON of another shape, or out of bounds. */
const WRONG: Record<string, Sent> = {
  "a list": text("[]"),
  "a list of pushes": text(`[${GOOD}]`),
  "a number": text("1"),
  "true": text("true"),
  "a text": text('"x"'),
  "a text that holds a push": text(JSON.stringify(GOOD)),
  "a list of 30,000 levels": text(deep(30_000)),
  "a status of 30,000 levels": text(`{"trainerStatus":${deep(30_000)}}`),
  "a status that is a list": text('{"trainerStatus":[]}'),
  "a status that is a text": text('{"trainerStatus":"x"}'),
  "a status that is a number": text('{"trainerStatus":1}'),
  "a status that is true": text('{"trainerStatus":true}'),
  "an empty status": text('{"trainerStatus":{}}'),
  "two statuses, the last without time": text(GOOD.replace(/}$/, ',"trainerStatus":{}}')),
  "a status in a prototype of its own": text(
    `{"trainerStatus":{"__proto__":{"lastUpdatedTime":"${TIME}"}}}`,
  ),
  "a percentage of 101": percentage("101"),
  "a percentage of -1": percentage("-1"),
  "a percentage of 100.5": percentage("100.5"),
  "a percentage of 45.5": percentage("45.5"),
  "a percentage of 1e-9": percentage("1e-9"),
  "a percentage of 1e400": percentage("1e400"),
  "a percentage of -1e400": percentage("-1e400"),
  "a percentage of 2 to the 53rd and one": percentage("9007199254740993"),
  "a percentage of 10,000 digits": percentage("9".repeat(10_000)),
  "a percentage as a text": percentage('"45"'),
  "a percentage that is empty": percentage('""'),
  "a percentage that is true": percentage("true"),
  "a percentage that is a list": percentage("[45]"),
  "a percentage that is an object": percentage('{"valueOf":45}'),
  "two percentages, the last out of bounds": text(
    GOOD.replace('"progressPercentage":45', '"progressPercentage":45,"progressPercentage":400'),
  ),
  "negative seconds": seconds("-1"),
  "seconds beyond 32 bits": seconds("2147483648"),
  "seconds with a fraction": seconds("1.5"),
  "seconds as a text": seconds('"1h"'),
  "257 metrics": metrics(JSON.stringify(Array(257).fill({ name: "a", value: "1" }))),
  "30,000 metrics": metrics(`[${Array(30_000).fill("1").join()}]`),
  "metrics that are an object": metrics('{"loss":"1"}'),
  "metrics that are a text": metrics('"loss"'),
  "metrics with a length": metrics('{"length":1,"0":{"name":"a","value":"1"}}'),
  "a metric that is null": metrics("[null]"),
  "a metric that is a list": metrics('[["loss","1"]]'),
  "a metric without name": metrics('[{"value":"1"}]'),
  "a metric without value": metrics('[{"name":"loss"}]'),
  "an empty name": metric("", "1"),
  "a name of 65 characters": metric("n".repeat(65), "1"),
  "a name of 65 characters outside the basic plane": metric("\u{1F600}".repeat(65), "1"),
  "a name that is a number": metric(1, "1"),
  "an empty value": metric("loss", ""),
  "a value of 65 characters": metric("loss", "1".repeat(65)),
  "a value that is a number": metric("loss", 0.5),
  "a value that is null": metric("loss", null),
  "a sequence of -1": sequence("-1"),
  "a sequence of 1.5": sequence("1.5"),
  "a sequence as a text": sequence('"17"'),
  "a sequence that loses digits": sequence("9007199254740993"),
};

const history = (samples: unknown): Sent => ({ url: `${PATH}/history`, body: { samples } });
const sample = (lastUpdatedTime: string) => ({ lastUpdatedTime });

const HISTORIES: Record<string, Sent> = {
  "a history without samples": { url: `${PATH}/history`, body: {} },
  "a history that is a push": { url: `${PATH}/history` },
  "a history whose samples are an object": history({ 0: sample(TIME) }),
  "a history of 1,001 samples": history(Array(1001).fill(sample(TIME))),
  "a history with a null": history([sample(TIME), null]),
  "a history that goes back": history([sample(TIME), sample("2025-01-23T10:30:44Z")]),
  "a history of samples within samples": history([{ samples: [sample(TIME)] }]),
};

const PACKED: Record<string, Sent> = {
  "broken gzip": packed(encoded("no gzip")),
  "gzip that is cut off": packed(cut),
  "gzip with a wrong sum": packed(wrongSum),
  "gzip with bytes after it": packed(Uint8Array.from([...gzip, 1, 2, 3])),
  "gzip within gzip": packed(new Uint8Array(gzipSync(gzip))),
  "an empty body that is said to be gzip": packed(new Uint8Array(0)),
  "gzip of nothing": packed(new Uint8Array(gzipSync(""))),
  "a push that is said to be gzip": packed(encoded(GOOD)),
  "deflate": packed(gzip, "deflate"),
  "br": packed(gzip, "br"),
  "zstd": packed(gzip, "zstd"),
  "gzip twice": packed(gzip, "gzip, gzip"),
  "an encoding of objects' names": packed(gzip, "__proto__"),
};

/** Odd, and right. */
const ODD: Record<string, Sent> = {
  "a percentage of 100.0": percentage("100.0"),
  "a percentage of -0": percentage("-0"),
  "a percentage of 1e2": percentage("1e2"),
  "a percentage of null": percentage("null"),
  "a metric with control characters in its name": metric("lo\u0000ss\u001b[31m", "1"),
  "a metric of objects' names": metric("__proto__", "constructor"),
  "a metric of markup": metric("<script>", "'; DROP TABLE x; --"),
  "a metric with a lone surrogate": text(GOOD.replace("loss", "\\ud800")),
  "the same metric twice": metrics(JSON.stringify(Array(2).fill({ name: "a", value: "1" }))),
  "two percentages, the last within bounds": text(
    GOOD.replace('"progressPercentage":45', '"progressPercentage":400,"progressPercentage":45'),
  ),
  "a prototype beside the status": text(
    GOOD.replace(/}$/, ',"__proto__":{"x":1},"constructor":{}}'),
  ),
  "an unknown field of 5,000 levels": text(GOOD.replace(/}$/, `,"x":${deep(5000)}}`)),
  "a byte order mark": bytes(0xef, 0xbb, 0xbf, ...encoded(GOOD)),
  "a body of exactly the limit": text(GOOD.padEnd(65_536)),
  "a time in year zero": time("0000-01-01T00:00:00Z"),
  "a time at the end of all years": time("9999-12-31T23:59:59Z"),
  "a time with nanoseconds and an offset": time("2025-01-23T10:30:45.123456789-07:30"),
  "gzip": packed(gzip),
  "an encoding in another case": packed(gzip, " GZip "),
};

/** Every hostile body. */
export const BODY_CASES: HostileCases = {
  ...allWith({ code: 422, reason: "Invalid", looksUp: true }, {
    ...NO_JSON,
    ...WRONG,
    ...Object.fromEntries(
      Object.entries(NO_TIMES).map(([sentence, value]) => [sentence, time(value)]),
    ),
    ...HISTORIES,
    ...PACKED,
  }),
  ...allWith({ code: 413, reason: "RequestEntityTooLarge", looksUp: true }, {
    "a body of a byte more than the limit": { chunks: [encoded(GOOD.padEnd(65_537))] },
    "a body of a byte more in two pieces": {
      chunks: [encoded(GOOD.padEnd(65_536)), Uint8Array.of(0x20)],
    },
    "a gzip bomb of 64 MiB": packed(new Uint8Array(gzipSync(new Uint8Array(64 << 20)))),
    "a gzip bomb of a byte more than the limit": packed(
      new Uint8Array(gzipSync(GOOD.padEnd(65_537))),
    ),
    "gzip that is longer than the limit itself": packed(
      new Uint8Array(gzipSync(crypto.getRandomValues(new Uint8Array(65_536)))),
    ),
    "a gzip bomb of a thousand members": packed(
      Uint8Array.from(Array(1000).fill([...new Uint8Array(gzipSync(" ".repeat(1000)))]).flat()),
    ),
  }),
  ...allWith({ code: 200, reason: "accepted", looksUp: true }, ODD),
};
