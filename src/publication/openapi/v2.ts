/**
 * Answers OpenAPI version 2: one document of everything served. It is built on the first request after a change, in
 * pieces between which other work runs, and cached as bytes. Clients before 1.27 request it in protobuf. Source:
 * upstream's `kube-openapi/pkg/handler`.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { digestOf } from "../discovery.ts";
import type { ServedGroup } from "../discovery/groups.ts";
import { DocumentV2 } from "./document-v2.ts";
import type { RemoteDocumentV2 } from "./merge-v2.ts";
import { acceptedType, httpDate, matchesTag, notAcceptableFile } from "./negotiation.ts";
import { Operations } from "./operations.ts";
import { encodeProtobufV2 } from "./protobuf-v2.ts";
import type { OpenApiOptions, OpenApiRequest } from "./v3.ts";

const json = "application/json";
const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** The media types. The second name of protobuf is not a valid media type, but is the one that clients send. */
const offered = [json, protobuf, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"];

interface File {
  readonly bytes: Buffer;
  readonly tag: string;
  readonly builtMs: number;
}

export class OpenApiV2 {
  readonly #options: Pick<OpenApiOptions, "tables" | "enums" | "groups" | "remote" | "cbor" | "issuer">;
  readonly #operations: Operations;
  #groups: readonly ServedGroup[] | undefined;
  /** The files of the current groups. */
  #json: Promise<File> | undefined;
  #protobuf: Promise<File> | undefined;

  constructor(options: Pick<OpenApiOptions, "tables" | "enums" | "groups" | "remote" | "cbor" | "issuer">) {
    this.#options = options;
    this.#operations = new Operations(options.tables, options.cbor);
  }

  /** Returns the answer for `/openapi/v2`. */
  reply(request: OpenApiRequest): MaybePromise<Reply> {
    const type = acceptedType(request.headers["accept"], offered);
    if (type === undefined) return notAcceptableFile;
    return this.#fileReply(request, type !== json);
  }

  async #fileReply(request: Pick<ApiRequest, "headers" | "receivedMs">, asProtobuf: boolean): Promise<Reply> {
    const groups = this.#options.groups();
    if (groups !== this.#groups) {
      this.#groups = groups;
      this.#json = undefined;
      this.#protobuf = undefined;
    }
    const built = (this.#json ??= this.#build(groups, request.receivedMs, this.#remote()));
    const file = asProtobuf ? (this.#protobuf ??= this.#convert(built, groups)) : built;
    const { bytes, tag, builtMs } = await file;
    const headers = { etag: tag, vary: "Accept-Encoding, Accept", "last-modified": httpDate(builtMs) };
    if (matchesTag(request.headers["if-none-match"], tag)) return { code: 304, headers };
    return { code: 200, headers, bytes, contentType: asProtobuf ? protobuf : json, compressible: true };
  }

  #remote(): readonly RemoteDocumentV2[] {
    return (this.#options.remote?.() ?? []).flatMap(({ group, version, openApiV2: bytes }) =>
      bytes === undefined ? [] : [{ group, version, bytes }],
    );
  }

  /** Converts the document to protobuf. If that fails, converts it without the parts of other servers. */
  async #convert(built: Promise<File>, groups: readonly ServedGroup[]): Promise<File> {
    try {
      return await convert(built);
    } catch (error) {
      if (this.#remote().length === 0) throw error;
      return convert(this.#build(groups, (await built).builtMs, []));
    }
  }

  async #build(groups: readonly ServedGroup[], builtMs: number, remote: readonly RemoteDocumentV2[]): Promise<File> {
    const operations = this.#operations;
    const versions = groups.flatMap(({ versions: served }) => served.flatMap(({ definitions }) => definitions));
    const document = new DocumentV2(this.#options, versions);
    document.add([...operations.ofCore(), ...operations.ofGroups(), ...operations.ofServerVersion()]);
    if (this.#options.issuer === true) document.add([...operations.ofIssuer(), ...operations.ofIssuerKeys()]);
    for (const { name: group, versions: served, builtin } of groups) {
      if (builtin && group !== "") document.add(operations.ofGroup(group));
      for (const { version, definitions, remote } of served) {
        if (remote !== undefined) continue;
        document.add(operations.ofVersion({ group, version }, definitions));
        await nextTurn();
      }
    }
    const bytes = await document.finish(nextTurn, remote);
    await nextTurn();
    return fileOf(bytes, builtMs);
  }
}

async function convert(built: Promise<File>): Promise<File> {
  const { bytes, builtMs } = await built;
  return fileOf(encodeProtobufV2(JSON.parse(bytes.toString())), builtMs);
}

function fileOf(bytes: Buffer, builtMs: number): File {
  return { bytes, tag: `"${digestOf(bytes)}"`, builtMs };
}
