/** Table of routes: the methods and paths that a server takes. */

/** A row of the table. */
export interface Route {
  readonly method: string;
  /** Path, in which `{…}` stands for a name as Kubernetes has them. */
  readonly path: string;
}

/** Match of a request: a route with the names in its path, or the methods that its path takes. */
export type RouteMatch<R> =
  | { readonly route: R; readonly names: readonly string[] }
  | { readonly route?: undefined; readonly allow: string };

/** Pattern of a name in a path. */
export const NAME_PATTERN = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";

/** Returns the path of a URL, without its query. */
export function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

/** Returns the query of a URL, without its question mark. */
export function queryOf(url: string): string {
  return url.slice(pathOf(url).length + 1);
}

/** Rows of one path. */
interface Path<R> {
  readonly pattern: RegExp;
  /** End of the path: most other paths differ there. */
  readonly suffix: string;
  readonly byMethod: ReadonlyMap<string, R>;
  readonly allow: string;
}

function patternOf(path: string): RegExp {
  const literal = path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll(/\{[^}]*\}/g, `(${NAME_PATTERN})`)}$`);
}

/** Creates the routes of a server from a table. */
export function createRoutes<R extends Route>(table: readonly R[]) {
  const rows = Map.groupBy(table, ({ path }) => path);
  const paths = [...rows].map(([path, routes]): Path<R> => ({
    pattern: patternOf(path),
    suffix: path.slice(path.lastIndexOf("}") + 1),
    byMethod: new Map(routes.map((route) => [route.method, route])),
    allow: routes.map(({ method }) => method).sort().join(", "),
  }));
  return {
    /** Returns what a request is for; undefined if no route has its path. */
    find(method: string, path: string): RouteMatch<R> | undefined {
      for (const { pattern, suffix, byMethod, allow } of paths) {
        if (!path.endsWith(suffix)) continue;
        const names = pattern.exec(path);
        if (names === null) continue;
        const route = byMethod.get(method);
        return route === undefined ? { allow } : { route, names: names.slice(1) };
      }
      return undefined;
    },
  };
}
