/** Answers the path `/`, discovery, and OpenAPI. The router forwards every request here that is not for a resource. */
import type { ApiTables } from "#api/definitions.ts";
import type { Reply } from "#http/api-request.ts";
import { lazy } from "#std/lazy.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { checkMethod, Discovery, type DiscoveryOptions, type DiscoveryRequest } from "./discovery.ts";
import type { OpenApiRequest } from "./openapi/v3.ts";

interface DiscoveryAndOpenApiOptions extends DiscoveryOptions {
  readonly tables: ApiTables;
  /** Whether CBOR is served; left out: it is not. */
  readonly cbor?: boolean;
  /** Whether OpenAPI lists the values of fields of built-in kinds that have few; left out: it does. */
  readonly enums?: boolean;
  /** Whether the documents of the issuer of service account tokens are served; left out: they are not. */
  readonly issuer?: boolean;
  /** The paths of other parts of the server, which are listed at `/`. */
  readonly otherPaths?: readonly string[];
}

export interface DiscoveryAndOpenApi {
  /**
   * Returns the answer for `/`, discovery and OpenAPI; `undefined` for other paths. Throws `resourceNotFound`,
   * `notAcceptable` and `methodUnknown`.
   */
  reply(request: DiscoveryRequest & OpenApiRequest): MaybePromise<Reply> | undefined;
  /**
   * Returns the answer for an unknown path, resource paths included: a page of plain text. Throws `resourceNotFound` if
   * clients expect a Status.
   */
  unknown(path: string): Reply;
}

/** The paths of the server that are always there. */
export const usualPaths = ["/healthz", "/livez", "/metrics", "/metrics/slis", "/readyz", "/version"];
const issuerPaths = ["/.well-known/openid-configuration", "/openid/v1/jwks"];
const openApiPaths = ["/openapi/v2", "/openapi/v3", "/openapi/v3/"];

const isOpenApi = (path: string): boolean => openApiPaths.includes(path) || path.startsWith("/openapi/v3/");

export function createDiscoveryAndOpenApi(options: DiscoveryAndOpenApiOptions): DiscoveryAndOpenApi {
  const { tables, cbor = false, enums = true, issuer = false, otherPaths = usualPaths } = options;
  const discovery = new Discovery(options);
  const openApi = lazy(async () => {
    const { OpenApi } = await import("./openapi.ts");
    const remote = options.remote === undefined ? {} : { remote: options.remote };
    return new OpenApi({ tables, cbor, enums, issuer, groups: () => discovery.groups(), ...remote });
  });
  return {
    reply(request) {
      if (request.path === "/") {
        checkMethod(request);
        return discovery.paths([...openApiPaths, ...(issuer ? issuerPaths : []), ...otherPaths]);
      }
      if (!isOpenApi(request.path)) return discovery.reply(request);
      checkMethod(request);
      return andThen(openApi(), (loaded) => loaded.reply(request));
    },
    unknown: (path) => discovery.unknown(path),
  };
}
