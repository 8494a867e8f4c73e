/** Paged list of one kind. No response exceeds a bound, and no object can prevent the list. */
import type { CallOptions, KubeClient, ListOptions } from "../client.ts";
import { identify, type ListProblem, type ListResult } from "../connection/response.ts";
import { TooLargeError } from "../errors.ts";
import { type Kind, type KubeObject, withMetadataOnly } from "../resource.ts";
import type { Semaphore } from "../../base/semaphore.ts";

/** Objects of the first page. Pages grow to {@link MOST_OBJECTS} while their responses are small. */
const FIRST_OBJECTS = 25;
/** Most objects of a page. */
const MOST_OBJECTS = 100;
/** Pages of one size after which the next one is twice as large. */
const PAGES_OF_A_SIZE = 4;
/** Longest response with a page of several objects, in bytes; a longer one is requested again in halves. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/**
 * Longest response with one object, in bytes. etcd takes 1.5 MiB unless it is told otherwise, and JSON
 * has six bytes for one in strings such as `<<<`.
 */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

/** Options of {@link pagesOf}. */
export interface PagedListOptions<T> {
  readonly client: Pick<KubeClient, "list">;
  readonly kind: Kind<T>;
  readonly selection: Pick<ListOptions, "namespace" | "labelSelector" | "fieldSelector">;
  readonly signal: AbortSignal;
  /** Most objects of a page. Default 100. */
  readonly pageSize?: number;
  /** Longest response with several objects, in bytes. Default 8 MiB. */
  readonly pageBytes?: number;
  /** Of each request. */
  readonly call?: Pick<ListOptions & CallOptions, "deadlineMs" | "onBytes">;
  /** Limits how many pages are in memory at a time, of this list and of others. */
  readonly places?: Semaphore;
}

/** Number of objects of the next page: halved after a response that was too large. */
class PageSize {
  limit: number;
  #pages = 0;

  constructor(private readonly most: number) {
    this.limit = Math.min(FIRST_OBJECTS, most);
  }

  halve(): void {
    this.#pages = 0;
    this.limit = Math.floor(this.limit / 2);
  }

  succeeded(): void {
    this.#pages++;
    if (this.#pages < PAGES_OF_A_SIZE) return;
    this.#pages = 0;
    this.limit = Math.min(2 * this.limit, this.most);
  }
}

/** A page that may lack an object: one whose response exceeds the bound is a problem instead. */
class PageReader<T> {
  readonly #size: PageSize;

  constructor(private readonly options: PagedListOptions<T>) {
    this.#size = new PageSize(options.pageSize ?? MOST_OBJECTS);
  }

  async read(token: string | undefined): Promise<ListResult<T>> {
    const size = this.#size;
    for (;;) {
      try {
        const page = await this.#request(this.options.kind, size.limit, token);
        size.succeeded();
        return page;
      } catch (error) {
        if (!(error instanceof TooLargeError)) throw error;
        if (size.limit === 1) return await this.#withoutContent(token, error);
        size.halve();
      }
    }
  }

  /** The page of an object that is too large, whose name and continue token its metadata give. */
  async #withoutContent(token: string | undefined, error: TooLargeError): Promise<ListResult<T>> {
    const kind: Kind<KubeObject> = withMetadataOnly(this.options.kind);
    const page = await this.#request(kind, 1, token);
    const named = page.items.map((item): ListProblem => ({
      key: identify(item).key,
      problem: `the object is too large: ${error.message}`,
    }));
    return { ...page, items: [], problems: [...page.problems, ...named] };
  }

  #request<R>(
    kind: Kind<R>,
    limit: number,
    token: string | undefined,
  ): Promise<ListResult<R>> {
    const { client, selection, signal, places, call, pageBytes = MAX_PAGE_BYTES } = this.options;
    const maxBytes = limit === 1 ? MAX_OBJECT_BYTES : pageBytes;
    const query = { ...selection, ...call, limit, continue: token, maxBytes, signal };
    const request = () => client.list(kind, query);
    return places === undefined ? request() : places.run(request, signal);
  }
}

/** Reads page after page. Throws a 410 if that took longer than their continue token is valid. */
export async function* pagesOf<T>(options: PagedListOptions<T>): AsyncGenerator<ListResult<T>> {
  const reader = new PageReader(options);
  let token: string | undefined;
  do {
    const page = await reader.read(token);
    yield page;
    token = page.continue;
  } while (token !== undefined);
}

/** Returns all objects. Throws as {@link pagesOf} does. */
export async function listAll<T>(options: PagedListOptions<T>): Promise<ListResult<T>> {
  const all: ListResult<T> = { items: [], resourceVersion: "", problems: [] };
  for await (const page of pagesOf(options)) {
    for (const item of page.items) all.items.push(item);
    all.problems.push(...page.problems);
    all.resourceVersion = page.resourceVersion;
  }
  return all;
}
