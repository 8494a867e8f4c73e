/** Fake server of the page: the real assets under the real policy, and jobs that nobody runs. */
import { PAGE_ASSET_LIST } from "../../page/assets/page_assets.ts";
import { CONTENT_SECURITY_POLICY } from "../../page/server/security_headers.ts";
import { settingsOf } from "../../crds/job_configuration.ts";
import {
  fakeCurves,
  fakeDetails,
  type FakeRow,
  fakeRow,
  fakeSpec,
  hostileRow,
} from "./fake_jobs.ts";
import { fakeLogs } from "./fake_logs.ts";
import { fakeSearch, fakeSearches } from "./fake_searches.ts";
import { HOSTILE_TEXTS } from "./hostile_corpus.ts";

/** The policy that the page lives under; violations are reported. */
export const POLICY = `${CONTENT_SECURITY_POLICY}; report-uri /report`;

/** How often the jobs that train change, in milliseconds. */
const CHANGE_MS = 500;

/**
 * A fake server. Its path `/control` returns what the server saw, and takes `down` (all streams end, and nothing is
 * answered until it is false), `silent` (nothing more comes on the streams that are open), `rights` (all, some, look
 * or none), `key` (the session's key from now on), `logs` (they break off), and, each as a text for people that is
 * empty where all is well, `outage` (of curves), `away` (of the API server) and `refused` (of changes).
 */
export interface FakeUiServer extends AsyncDisposable {
  /** The address to open, with a code. */
  readonly address: string;
  /** Reports of the policy. */
  readonly reports: readonly string[];
}

const NO_RIGHT = 'user "ada" may list no kind of jobs in any of the namespaces';

const status = (code: number, message: string) =>
  Response.json({ kind: "Status", apiVersion: "v1", code, message }, { status: code });

const countedAs = ({ state, stalledSince }: FakeRow) =>
  stalledSince === undefined ? [state] : [state, "Stalled"];

function windowOf(query: URLSearchParams, all: readonly FakeRow[]) {
  const [text, states] = [query.get("text") ?? "", query.getAll("state")];
  const kinds = query.getAll("kind");
  const namespaces = query.getAll("namespace");
  const found = all.filter((row) =>
    `${row.namespace}/${row.name}`.includes(text) &&
    (states.length === 0 || countedAs(row).some((it) => states.includes(it))) &&
    (kinds.length === 0 || kinds.includes(row.kind)) &&
    (namespaces.length === 0 || namespaces.includes(row.namespace))
  );
  const order = query.get("order") === "ascending" ? 1 : -1;
  if (query.get("sort") === "name") {
    found.sort((a, b) => a.name < b.name ? -order : order);
  } else if (query.get("sort") === "progress") {
    found.sort((a, b) => ((a.progress ?? -1) - (b.progress ?? -1)) * order);
  }
  const [offset, limit] = [Number(query.get("offset") ?? 0), Number(query.get("limit") ?? 50)];
  const counts = Object.entries(Object.groupBy(found.flatMap(countedAs), (it) => it))
    .map(([state, all]) => [state, all?.length ?? 0]);
  return {
    rows: found.slice(offset, offset + limit).map((row) => ({
      ...row,
      ...(query.has("configuration") &&
        { configuration: settingsOf({ spec: fakeSpec(row.name) }) }),
    })),
    total: found.length,
    states: Object.fromEntries(counts),
    kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
  };
}

/** Curves of a time range: `loss` is of the log, a point each second, with a spike of one second each minute; others are as kept. */
function rangeOf(query: URLSearchParams, fromMs: number, toMs: number) {
  const seconds = Array.from(
    { length: Math.min(128, Math.floor((toMs - fromMs) / 1000) + 1) },
    (_, index) => Math.ceil(fromMs / 1000) + index,
  );
  const points = seconds.map((second) => {
    const value = second % 60 === 0 ? 77 : second % 7;
    return [second * 1000, value, value, value];
  });
  return {
    curves: query.getAll("job").map((key) => {
      const [kind = "", namespace = "", name = ""] = key.split("/");
      const metrics = query.getAll("metric");
      const kept = fakeCurves({ kind, namespace, name }, {
        points: 128,
        endMs: Date.now(),
        metrics,
      });
      const keptOf = (name: string) =>
        kept.metrics.find((it) => it.name === name)?.points
          .filter(([timeMs]) => Number(timeMs) >= fromMs && Number(timeMs) <= toMs) ?? [];
      const isShort = points.length < 128;
      return {
        job: { kind, namespace, name },
        metrics: metrics.map((name) =>
          name === "loss"
            ? { name, points, source: "log", ...(!isShort && { cut: true }) }
            : { name, points: keptOf(name), source: "curve" }
        ),
        marks: [],
      };
    }),
  };
}

function curvesOf(query: URLSearchParams, gaps: readonly string[] = []) {
  const [from, to] = [query.get("from"), query.get("to")];
  if (from !== null) {
    return rangeOf(query, Date.parse(from), to === null ? Date.now() : Date.parse(to));
  }
  return {
    curves: query.getAll("job").map((key) => {
      const [kind = "", namespace = "", name = ""] = key.split("/");
      const curves = fakeCurves({ kind, namespace, name }, {
        points: Number(query.get("points") ?? 128),
        endMs: Date.now(),
        metrics: query.getAll("metric"),
      });
      const text = "another replica leads now";
      const marks = gaps.map((time) => ({ time, kind: "gap", text }));
      return { ...curves, marks: [...curves.marks, ...marks] };
    }),
  };
}

/** What `/control` changes with an end of all streams. */
const ENDING = ["down", "key", "login"];

const sumOf = (numbers: Iterable<number>) => [...numbers].reduce((sum, it) => sum + it, 0);

/** Starts a server with so many jobs, of which so many change. */
export function startFakeUiServer(
  { jobs, hostile = false, changing = 3 }: { jobs: number; hostile?: boolean; changing?: number },
): FakeUiServer {
  const startMs = Date.now();
  const reports: string[] = [];
  const changes: { path: string; body: unknown }[] = [];
  /** Streams, with how many lists each has. */
  const open = new Map<ReadableStreamDefaultController<Uint8Array>, number>();
  let [isDown, step, rights, key] = [false, 0, "all", "the-key"];
  let login = "code";
  /** The browser that has opened the code that one browser may open. */
  let opened: string | undefined;
  /** Streams on which nothing comes any more. */
  const silent = new WeakSet<object>();
  /** Why there are no curves, why the API server does not answer, and what it says to changes. */
  let [outage, away, refused] = ["", "", ""];
  const gaps: string[] = [];
  const logs = fakeLogs({ hostile, startMs });
  const stops = new Map<string, { time: string; graceSeconds: number }>();
  const stopsBy = ({ name }: FakeRow) => {
    const { time, graceSeconds } = stops.get(name) ?? {};
    if (time === undefined || graceSeconds === undefined) return {};
    return { stopsBy: new Date(Date.parse(time) + graceSeconds * 1000).toISOString() };
  };
  const [reason = "", user = ""] = HOSTILE_TEXTS;
  if (hostile) {
    const [time, message] = [new Date(startMs).toISOString(), HOSTILE_TEXTS.join(" ")];
    const said = { reason, message, user };
    stops.set("hostile", { time, graceSeconds: 3_600, ...said });
  }
  const deleted = new Set<string>();
  const rows = () =>
    [
      ...HOSTILE_TEXTS.filter(() => hostile).map((_, index) => hostileRow(index, startMs)),
      ...["hostile", "odd", "stepped", "stepped-3"].filter(() => hostile)
        .map((name) => ({ ...fakeRow(0, 0, startMs), uid: `uid-${name}`, name })),
      ...Array.from({ length: jobs }, (_, index) =>
        fakeRow(index, index < changing ? step : 0, startMs)),
    ].filter((row) =>
      !deleted.has(row.name)
    ).map((row) => ({ ...row, ...stopsBy(row) }));
  const denied = () =>
    rights === "some"
      ? {
        denied: [{ kind: "pytorchjobs.kubeflow.org" }, {
          kind: "trainjobs.trainer.kubeflow.org",
          namespace: "secret",
        }],
      }
      : {};

  function stream(query: URLSearchParams): Response {
    const encoder = new TextEncoder();
    const lists = query.getAll("list").map((text) => ({
      query: new URLSearchParams(text),
      sent: new Map<string, string>(),
      last: "",
    }));
    let said = "";
    let timer: ReturnType<typeof setInterval> | undefined;
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        open.set(controller, lists.length);
        const write = (event: string, data: unknown) => {
          const text = `event: ${event}\nid: 1\ndata: ${JSON.stringify(data)}\n\n`;
          try {
            controller.enqueue(encoder.encode(text));
          } catch {
            // Its reader has gone already.
            open.delete(controller);
          }
        };
        const look = () => {
          for (const [place, list] of lists.entries()) {
            if (rights === "none") {
              const code = 403;
              if (list.last !== rights) write("refused", { list: place, code, message: NO_RIGHT });
              list.last = rights;
              list.sent.clear();
              continue;
            }
            const window = windowOf(list.query, rows());
            const isNew = (row: FakeRow) => list.sent.get(row.uid) !== JSON.stringify(row);
            const changed = window.rows.filter(isNew);
            for (const row of changed) list.sent.set(row.uid, JSON.stringify(row));
            const order = window.rows.map(({ uid }) => uid);
            const shape = JSON.stringify([order, window.total, rights]);
            if (changed.length > 0 || shape !== list.last) {
              write("jobs", { list: place, ...window, ...denied(), rows: changed, order });
            }
            list.last = shape;
          }
          if (query.getAll("job").length === 0) return;
          if (outage === "") write("curves", curvesOf(query, gaps));
          else if (said !== outage) write("outage", { reason: outage });
          said = outage;
        };
        look();
        timer = setInterval(() => {
          if (!open.has(controller)) clearInterval(timer);
          else if (!silent.has(controller)) look();
        }, CHANGE_MS);
      },
      cancel() {
        clearInterval(timer);
        if (own !== undefined) open.delete(own);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [, route = "", ...rest] = pathname.split("/").map(decodeURIComponent);
    if (route === "session") {
      if (request.method === "GET") {
        if (login === "code") return status(405, "this path does not allow that method");
        if (request.headers.get("authorization") !== `Bearer ${key}`) return status(401, "log in");
        return Response.json({ user: "ada", server: "" });
      }
      const { code, browser } = await request.json();
      // As the real server has it; the other code is good for all tests.
      const isOnce = code === "once" && typeof browser === "string" &&
        (opened ??= browser) === browser;
      if (code !== "one-time" && !isOnce) return status(403, "the code is old");
      return Response.json({
        session: key,
        user: "ada",
        server: "https://127.0.0.1:6443",
      });
    }
    if (request.headers.get("authorization") !== `Bearer ${key}`) return status(401, "no session");
    if (isDown) return status(503, "the manager cannot be reached");
    const [kind = "", namespace = "", name = ""] = rest;
    if (request.method === "POST") {
      if (request.headers.get("x-milepost") !== "1") return status(403, "not of this page");
      const body = await request.json();
      changes.push({ path: pathname, body });
      if (refused !== "") return status(403, refused);
      if (route === "stop") {
        stops.set(name, { time: new Date().toISOString(), graceSeconds: 30, ...body });
      }
      if (route === "delete") deleted.add(name);
      return Response.json({});
    }
    const isOfApi = ["objects", "rights", "logs"].includes(route);
    if (isOfApi && away !== "") return status(503, away);
    if (pathname === "/view/v1/events") return stream(searchParams);
    if (route === "searches") {
      if (rights === "none") return status(403, 'user "ada" cannot list resource "trials"');
      if (rest.length === 0) return Response.json(fakeSearches(hostile));
      const search = fakeSearch(name, searchParams.get("direction") ?? "");
      if (search === undefined) return status(404, "there is no search");
      const etag = `"${JSON.stringify(search).length}"`;
      return request.headers.get("if-none-match") === etag
        ? new Response(null, { status: 304, headers: { etag } })
        : Response.json(search, { headers: { etag } });
    }
    if (route === "view" && rights === "none") return status(403, NO_RIGHT);
    if (pathname === "/view/v1/jobs") {
      return Response.json({ ...windowOf(searchParams, rows()), ...denied() });
    }
    if (pathname === "/view/v1/curves") return Response.json(curvesOf(searchParams));
    if (route === "rights") {
      const may = rights !== "look";
      return Response.json({ suspend: may, resume: may, restart: may, stop: may, delete: may });
    }
    if (route === "objects") {
      if (!rows().some((row) => row.name === name)) return status(404, `"${name}" not found`);
      const details = fakeDetails(kind, namespace, name, Date.now());
      const stop = stops.get(name);
      return Response.json(
        stop === undefined ? details : {
          ...details,
          object: { ...details.object, status: { ...details.object.status, stop } },
        },
      );
    }
    if (route === "logs") {
      if (namespace.endsWith("-7")) return status(404, `pods "${namespace}" not found`);
      // Its container ends at once.
      if (namespace.startsWith("softmax")) searchParams.delete("follow");
      return logs.answer(searchParams);
    }
    return status(404, "there is no such path");
  }

  const endStreams = () => {
    for (const controller of open.keys()) {
      open.delete(controller);
      try {
        controller.close();
      } catch {
        // Its reader has gone already.
      }
    }
  };

  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/control") {
        rights = searchParams.get("rights") ?? rights;
        key = searchParams.get("key") ?? key;
        login = searchParams.get("login") ?? login;
        isDown = (searchParams.get("down") ?? String(isDown)) === "true";
        refused = searchParams.get("refused") ?? refused;
        away = searchParams.get("away") ?? away;
        const isLed = outage !== "" && searchParams.get("outage") === "";
        outage = searchParams.get("outage") ?? outage;
        if (isLed) gaps.push(new Date().toISOString());
        if (searchParams.has("logs")) logs.breakOff();
        if (searchParams.has("silent")) { for (const it of open.keys()) silent.add(it); }
        else if (ENDING.some((it) => searchParams.has(it))) endStreams();
        return Response.json({
          reports,
          changes,
          logs: logs.open,
          streams: open.size,
          lists: sumOf(open.values()),
        });
      }
      if (pathname === "/report") {
        reports.push(await request.text());
        return new Response(null, { status: 204 });
      }
      const asset = PAGE_ASSET_LIST.find(({ path }) => path === pathname);
      const response = asset === undefined
        ? await answer(request)
        : new Response(asset.body, { headers: { "content-type": asset.contentType } });
      response.headers.set("content-security-policy", POLICY);
      response.headers.set("x-content-type-options", "nosniff");
      return response;
    },
  );
  const stepping = setInterval(() => step++, CHANGE_MS);
  return {
    address: `http://127.0.0.1:${server.addr.port}/#code=one-time`,
    reports,
    async [Symbol.asyncDispose]() {
      clearInterval(stepping);
      isDown = true;
      endStreams();
      logs.breakOff();
      await server.shutdown();
    },
  };
}
