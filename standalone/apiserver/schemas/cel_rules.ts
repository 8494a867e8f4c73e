/** CEL validation rules (`x-kubernetes-validations`), with `self` and for transitions `oldSelf`. */
import {
  type CelEnv,
  celEnv,
  type CelInput,
  type CelResult,
  isCelError,
  parse,
  plan,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { asList, at, isObject, sameJson, textAt } from "../../../platform/base/json.ts";
import {
  duplicate,
  forbidden,
  invalid,
  required,
  type StatusCause,
} from "../../../crds/status_cause.ts";
import { KUBERNETES_FUNCTIONS, optionalValue } from "./cel_functions.ts";
import { flatMapKnown, type Structure } from "./structure.ts";

/** A compiled CEL expression over some variables. */
export type CelProgram = (variables: Record<string, CelInput>) => CelResult;

const environment: { value?: CelEnv } = {};

/** Compiles an expression. Throws an error with CEL's message if it does not parse. */
export function compileCel(expression: string): CelProgram {
  environment.value ??= celEnv({ funcs: [...strings, ...KUBERNETES_FUNCTIONS] });
  const run = plan(environment.value, parse(expression));
  return (variables) => run(variables);
}

/** Returns CEL's message about an expression that does not parse; undefined if it does. */
export function celProblem(expression: string): string | undefined {
  try {
    compileCel(expression);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Rule {
  readonly rule: string;
  readonly program: CelProgram | undefined;
  readonly problem: string;
  readonly message: string | undefined;
  readonly messageProgram: CelProgram | undefined;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly transition: boolean;
  readonly optionalOldSelf: boolean;
}

/** Reserved words of CEL, which are written `__name__` as properties in rules, or after a point as they are. */
const RESERVED = new Set(
  ("true false null in as break const continue else for function if import let loop package " +
    "namespace return var void while").split(" "),
);

function escapedName(name: string): string {
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replaceAll("__", "__underscores__").replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__").replaceAll("/", "__slash__");
}

/** Converts a JSON value to CEL under the schema: integers as int, objects as maps. */
export function toCel(value: unknown, structure?: Structure): CelInput {
  if (Array.isArray(value)) return value.map((item) => toCel(item, structure?.items()));
  if (isObject(value)) {
    const entries = Object.entries(value).flatMap(([key, item]): [string, CelInput][] => {
      const property = structure?.property(key);
      if (property === undefined) return [[key, toCel(item, structure?.additional())]];
      const input = toCel(item, property);
      return RESERVED.has(key)
        ? [[escapedName(key), input], [key, input]]
        : [[escapedName(key), input]];
    });
    return new Map(entries);
  }
  if (typeof value === "number") {
    const whole = Number.isSafeInteger(value) && structure?.type !== "number";
    return whole ? BigInt(value) : value;
  }
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  return null;
}

function mentionsOldSelf(rule: string): boolean {
  return /\boldSelf\b/.test(rule.replaceAll(/'[^']*'|"[^"]*"/g, "''"));
}

function compileRule(raw: unknown): Rule {
  const rule = textAt(raw, "rule") ?? "";
  const messageExpression = textAt(raw, "messageExpression");
  let program: CelProgram | undefined;
  let messageProgram: CelProgram | undefined;
  let problem = "";
  try {
    program = compileCel(rule);
    if (messageExpression !== undefined) messageProgram = compileCel(messageExpression);
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  return {
    rule,
    program,
    problem,
    message: textAt(raw, "message"),
    messageProgram,
    reason: textAt(raw, "reason"),
    fieldPath: textAt(raw, "fieldPath") ?? "",
    transition: mentionsOldSelf(rule),
    optionalOldSelf: at(raw, "optionalOldSelf") === true,
  };
}

const rulesOf = new WeakMap<Structure, readonly Rule[]>();

function compiledRules(structure: Structure): readonly Rule[] {
  const known = rulesOf.get(structure);
  if (known !== undefined) return known;
  const rules = asList(structure.keywords["x-kubernetes-validations"]).map(compileRule);
  rulesOf.set(structure, rules);
  return rules;
}

/**
 * Returns the problems that the rules at any depth of the value find. `old` is undefined on creation; a
 * transition rule runs only if the old value has a counterpart.
 */
export function checkRules(
  value: unknown,
  old: unknown,
  structure: Structure,
  path = "",
): StatusCause[] {
  const own = compiledRules(structure).flatMap((rule) =>
    checkRule(rule, value, old, structure, path)
  );
  const inner = flatMapKnown(value, structure, path, (item, known, here, key) => {
    if (typeof key === "number") {
      return checkRules(item, counterpart(item, old, structure), known, here);
    }
    return item === null ? [] : checkRules(item, at(old, key), known, here);
  });
  return [...own, ...inner];
}

/** Returns the old item with the keys of an item of a map-like list; other lists have none. */
function counterpart(item: unknown, old: unknown, structure: Structure): unknown {
  if (structure.listType !== "map" || !isObject(item)) return undefined;
  return asList(old).find((other) =>
    structure.mapKeys.every((key) => sameJson(at(other, key), item[key]))
  );
}

function checkRule(
  rule: Rule,
  value: unknown,
  old: unknown,
  structure: Structure,
  path: string,
): StatusCause[] {
  if (rule.transition && old === undefined && !rule.optionalOldSelf) return [];
  const field = rule.fieldPath === "" ? path : `${path}${rule.fieldPath}`;
  const about = isObject(value) ? "object" : Array.isArray(value) ? "array" : value;
  if (rule.program === undefined) {
    return [invalid(field, about, `rule compilation error: ${rule.problem}`)];
  }
  const variables: Record<string, CelInput> = { self: toCel(value, structure) };
  if (rule.transition) variables.oldSelf = oldSelf(rule, old, structure);
  const result = rule.program(variables);
  if (result === true) return [];
  if (isCelError(result)) {
    return [invalid(field, about, `rule evaluation error: ${result.message}`)];
  }
  return [refusal(rule, field, about, messageOf(rule, variables))];
}

function oldSelf(rule: Rule, old: unknown, structure: Structure): CelInput {
  if (!rule.optionalOldSelf) return toCel(old, structure);
  return optionalValue(old === undefined ? undefined : toCel(old, structure));
}

function messageOf(rule: Rule, variables: Record<string, CelInput>): string {
  const computed = rule.messageProgram?.(variables);
  if (typeof computed === "string" && computed.trim() !== "") return computed;
  return rule.message ?? `failed rule: ${rule.rule}`;
}

function refusal(rule: Rule, field: string, about: unknown, message: string): StatusCause {
  switch (rule.reason) {
    case "FieldValueForbidden":
      return forbidden(field, message);
    case "FieldValueRequired":
      return required(field, message);
    case "FieldValueDuplicate":
      return duplicate(field, about);
    default:
      return invalid(field, about, message);
  }
}
