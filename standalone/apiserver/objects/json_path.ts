/** JSONPath as printer columns use it: fields, indexes, slices, `[*]`, filters. */
import { isObject } from "../../../platform/base/json.ts";

type Step = (values: unknown[]) => unknown[];

const TOKEN =
  /\.?([A-Za-z_$][\w$-]*(?:\\\.[\w$-]+)*)|\[(-?\d+)\]|\[(-?\d*:-?\d*)\]|\[\*\]|\.\*|\[(?:'([^']*)'|"([^"]*)")\]|\[\?\(\s*@\.([^=!<>\s]+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([^)\s]+))\s*\)\]/y;

function field(name: string): Step {
  return (values) =>
    values.flatMap((value) => isObject(value) && Object.hasOwn(value, name) ? [value[name]] : []);
}

function everything(values: unknown[]): unknown[] {
  return values.flatMap((v) => Array.isArray(v) ? v : isObject(v) ? Object.values(v) : []);
}

function filter(path: string, operator: string, wanted: string): Step {
  const steps = path.split(".").map(field);
  return (values) =>
    values.flatMap((value) => Array.isArray(value) ? value : []).filter((item) => {
      const [found] = steps.reduce<unknown[]>((reached, step) => step(reached), [item]);
      return (found !== undefined && `${found}` === wanted) === (operator === "==");
    });
}

function stepOf(match: RegExpExecArray): Step {
  const [whole, name, index, slice, single, double, path, operator, a, b, c] = match;
  if (name !== undefined) return field(name.replaceAll("\\.", "."));
  if (single !== undefined || double !== undefined) return field(single ?? double ?? "");
  if (index !== undefined) {
    return (values) =>
      values.flatMap((value) => {
        const item = Array.isArray(value) ? value.at(Number(index)) : undefined;
        return item === undefined ? [] : [item];
      });
  }
  if (slice !== undefined) {
    const [from, to] = slice.split(":").map((it) => it === "" ? undefined : Number(it));
    return (values) => values.flatMap((value) => Array.isArray(value) ? value.slice(from, to) : []);
  }
  if (path !== undefined && operator) return filter(path, operator, a ?? b ?? c ?? "");
  if (whole === "[*]" || whole === ".*") return everything;
  return () => [];
}

/**
 * Compiles a path such as `.status.conditions[?(@.type=="Ready")].status`, with or without braces.
 * An invalid path finds nothing.
 */
export function jsonPath(path: string): (root: unknown) => unknown[] {
  const text = path.replace(/^\{|\}$/g, "");
  const steps: Step[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length && text !== "."; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) return () => [];
    steps.push(stepOf(match));
  }
  return (root) => steps.reduce<unknown[]>((values, step) => step(values), [root]);
}
