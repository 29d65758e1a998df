/**
 * Calls to a KMS plugin: gRPC over a unix socket. The library is an optional peer, loaded for the first provider. Calls
 * end after the provider's timeout, and answers have a maximum size.
 */
import type { Client } from "@grpc/grpc-js";
import type { Clock } from "#std/clock.ts";
import { reasonOf } from "#std/system-error.ts";
import type { KmsSettings } from "../config.ts";
import {
  decryptRequest,
  encryptRequest,
  type KmsEncrypted,
  type KmsStatus,
  readDecrypted,
  readEncrypted,
  readStatus,
} from "./messages.ts";

/** A KMS plugin. Its calls reject with `KmsError`. */
export interface KmsPlugin {
  status(): Promise<KmsStatus>;
  encrypt(plaintext: Buffer, uid: string): Promise<KmsEncrypted>;
  decrypt(encrypted: KmsEncrypted, uid: string): Promise<Buffer>;
  close(): void;
}

/** The error of a failed call. */
export class KmsError extends Error {
  /** Whether the plugin could not be reached; otherwise it answered with an error. */
  readonly isUnreachable: boolean;

  constructor(message: string, isUnreachable: boolean) {
    super(message);
    this.name = "KmsError";
    this.isUnreachable = isUnreachable;
  }
}

/** Called for every call, with its method, the name of its result, and its duration in milliseconds. */
export type CallObserver = (method: string, code: string, ms: number) => void;

const service = "/v2.KeyManagementService/";
/** The maximum bytes of an answer: more than any valid answer has. */
const answerBytesMax = 256 * 1024;
const unreachableCodes = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"];

export async function openKmsPlugin(
  { socket, timeoutMs }: KmsSettings,
  clock: Clock,
  observe: CallObserver,
): Promise<KmsPlugin> {
  const grpc = await loadGrpc();
  const path = socket.startsWith("@") ? `\0${socket.slice(1)}` : socket;
  const client: Client = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure(), {
    "grpc.max_receive_message_length": answerBytesMax,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1000,
  });
  const call = <T>(name: string, request: Buffer, read: (answer: Buffer) => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const start = clock.monotonic();
      let isLate = false;
      const calling = client.makeUnaryRequest(service + name, same, read, request, (error, answer) => {
        stopTimer();
        const status = grpc.status[error?.code ?? 0] ?? "UNKNOWN";
        const code = isLate ? "DeadlineExceeded" : goName(status);
        observe(service + name, code, clock.monotonic() - start);
        if (error === null && answer !== undefined) {
          resolve(answer);
          return;
        }
        const detail = isLate ? "context deadline exceeded" : (error?.details ?? "there is no answer");
        reject(new KmsError(`rpc error: code = ${code} desc = ${detail}`, unreachableCodes.includes(status)));
      });
      const stopTimer = clock.after(timeoutMs, () => {
        isLate = true;
        calling.cancel();
      });
    });
  return {
    status: () => call("Status", Buffer.alloc(0), readStatus),
    encrypt: (plaintext, uid) => call("Encrypt", encryptRequest(plaintext, uid), readEncrypted),
    decrypt: (encrypted, uid) => call("Decrypt", decryptRequest(encrypted, uid), readDecrypted),
    close: () => client.close(),
  };
}

const same = (bytes: Buffer): Buffer => bytes;

async function loadGrpc(): Promise<typeof import("@grpc/grpc-js")> {
  try {
    return await import("@grpc/grpc-js");
  } catch (error) {
    throw new Error(
      `a KMS provider needs the package @grpc/grpc-js, which is not there: npm install @grpc/grpc-js (${reasonOf(error)})`,
      { cause: error },
    );
  }
}

/** Returns a code (`DEADLINE_EXCEEDED`) as Go prints it. */
const goName = (code: string): string =>
  code === "OK"
    ? code
    : code
        .split("_")
        .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
        .join("");
