/** The addresses of planes: which one a request asks for, and by which URLs and issuers of tokens each is known. */
import type { ApiRequest } from "#http/api-request.ts";
import type { ApiDomain } from "#meta/api-domain.ts";

const prefix = "/planes/";

/** Returns the beginning of the paths of a plane. */
export const pathOf = (name: string): string => `${prefix}${name}`;

/** The URLs by which clients reach a plane, of which it shows the first, and the issuers of its tokens; new ones have the first. */
export interface PlaneUrls {
  readonly urls: readonly [string, ...string[]];
  readonly issuers: readonly string[];
}

/** Finds the name of the plane in a request. */
export class PlaneNames {
  readonly #hostSuffix: string | undefined;
  /** The annotation of audit events that names the plane where the path does not. */
  readonly #hostAnnotation: string;

  /** Every host below the suffix is that of a plane; `undefined`: none is. */
  constructor(hostSuffix: string | undefined, domain: ApiDomain) {
    this.#hostSuffix = hostSuffix;
    this.#hostAnnotation = domain.rename("planes.k8s.io/plane");
  }

  /** Returns the name of the plane that a request asks for, by its host or its path. The path has the name afterwards. */
  of(request: ApiRequest): string | undefined {
    const ofHost = this.#hostSuffix === undefined ? undefined : labelOf(hostOf(request), this.#hostSuffix);
    if (ofHost !== undefined) {
      request.addressPlane?.(pathOf(ofHost));
      request.annotate(this.#hostAnnotation, ofHost);
      return ofHost;
    }
    if (!request.path.startsWith(prefix)) return undefined;
    const end = request.path.indexOf("/", prefix.length);
    return request.path.slice(prefix.length, end < 0 ? undefined : end);
  }
}

interface UrlParts {
  /** The URL by which clients reach the server. */
  readonly url: string;
  readonly hostSuffix: string | undefined;
  /** The issuer of the server, if other servers have the same planes: each has a URL of its own. */
  readonly sharedIssuer: string | undefined;
}

/** Returns the URLs of a plane. */
export function planeUrls({ url, hostSuffix, sharedIssuer }: UrlParts, name: string): PlaneUrls {
  const byPath = `${url}${pathOf(name)}`;
  const urls: PlaneUrls["urls"] =
    hostSuffix === undefined ? [byPath] : [`https://${name}.${hostSuffix}${portOf(url)}`, byPath];
  return { urls, issuers: sharedIssuer === undefined ? urls : [`${sharedIssuer}${pathOf(name)}`] };
}

/** Returns the host that a request names, without its port. */
const hostOf = ({ headers }: ApiRequest): string =>
  (headers["host"] ?? headers[":authority"] ?? "").toLowerCase().replace(/\.?(?::\d*)?$/, "");

/** Returns the part of a host before the suffix; `undefined` for hosts elsewhere. */
const labelOf = (host: string, suffix: string): string | undefined =>
  host.endsWith(`.${suffix}`) ? host.slice(0, -suffix.length - 1) : undefined;

const portOf = (url: string): string => /:\d+$/.exec(url)?.[0] ?? "";
