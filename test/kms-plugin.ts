/**
 * A KMS plugin for tests: gRPC over a unix socket, with keys in memory, and faults on request. It has its own Protobuf
 * code, so that both sides cannot have the same error.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Server, ServerCredentials, type ServiceError, status as codes } from "@grpc/grpc-js";
import { temporaryFolder } from "./harness.ts";

type Method = "Status" | "Encrypt" | "Decrypt";

/** The fields of a message by number: the bytes of its strings and messages, in their order. */
type Fields = ReadonlyMap<number, readonly Buffer[]>;

export class KmsPlugin {
  readonly socket: string;
  /** The key id in the status. */
  keyId = "key-1";
  healthz = "ok";
  version = "v2";
  /** The keys of the plugin. Data of other keys cannot be decrypted. */
  readonly keys = new Set(["key-1"]);
  annotations: Readonly<Record<string, string>> = { "kms.example.com": "noted" };
  /** The methods that never answer, and below those that answer with an error. */
  readonly hanging = new Set<Method>();
  readonly failing = new Map<Method, string>();
  /** The answer in place of the encrypted bytes. */
  ciphertext: Buffer | undefined;
  /** The answer in place of the decrypted bytes. */
  plaintext: Buffer | undefined;
  readonly calls: Record<Method, number> = { Status: 0, Encrypt: 0, Decrypt: 0 };
  #server: Server | undefined;

  constructor(socket = join(temporaryFolder(), "kms.sock")) {
    this.socket = socket;
  }

  /** Changes the current key. The old one still decrypts. */
  rotate(keyId: string): void {
    this.keyId = keyId;
    this.keys.add(keyId);
  }

  async start(): Promise<void> {
    rmSync(this.socket, { force: true });
    const server = new Server();
    const same = (bytes: Buffer): Buffer => bytes;
    const methods: Method[] = ["Status", "Encrypt", "Decrypt"];
    const definition = (name: Method) => ({
      path: `/v2.KeyManagementService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    });
    server.addService(
      Object.fromEntries(methods.map((name) => [name, definition(name)])),
      Object.fromEntries(
        methods.map((name) => [
          name,
          (call: { request: Buffer }, answer: (error: Partial<ServiceError> | null, bytes?: Buffer) => void): void => {
            this.calls[name]++;
            if (this.hanging.has(name)) return;
            const failure = this.failing.get(name);
            if (failure !== undefined) answer({ code: codes.UNKNOWN, details: failure });
            else this.#answer(name, fieldsOf(call.request), answer);
          },
        ]),
      ),
    );
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.socket}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    this.#server = server;
  }

  /** Stops at once, and cancels pending calls. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  #answer(name: Method, fields: Fields, answer: (error: Partial<ServiceError> | null, bytes?: Buffer) => void): void {
    const first = (number: number): Buffer => fields.get(number)?.[0] ?? Buffer.alloc(0);
    if (name === "Status") {
      answer(null, message([1, this.version], [2, this.healthz], [3, this.keyId]));
    } else if (name === "Encrypt") {
      const notes = Object.entries(this.annotations).map(([key, value]) => [3, message([1, key], [2, value])] as const);
      const ciphertext = this.ciphertext ?? seal(this.keyId, first(1));
      answer(null, message([1, ciphertext], [2, this.keyId], ...notes));
    } else {
      const keyId = first(3).toString();
      const notes = Object.fromEntries(
        (fields.get(4) ?? []).map((bytes) => {
          const note = fieldsOf(bytes);
          return [String(note.get(1)?.[0] ?? ""), String(note.get(2)?.[0] ?? "")];
        }),
      );
      if (!this.keys.has(keyId)) answer({ code: codes.NOT_FOUND, details: `no key ${keyId}` });
      else if (JSON.stringify(notes) !== JSON.stringify(this.annotations)) {
        answer({ code: codes.INVALID_ARGUMENT, details: "not with these annotations" });
      } else answer(null, message([1, this.plaintext ?? unseal(keyId, first(1))]));
    }
  }
}

const secretOf = (keyId: string): Buffer => createHash("sha256").update(`secret of ${keyId}`).digest();

function seal(keyId: string, plaintext: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", secretOf(keyId), nonce);
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function unseal(keyId: string, sealed: Buffer): Buffer {
  const cipher = createDecipheriv("aes-256-gcm", secretOf(keyId), sealed.subarray(0, 12), { authTagLength: 16 });
  cipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]);
}

/** Encodes texts and bytes as fields with these numbers. */
function message(...fields: readonly (readonly [number: number, value: string | Buffer])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      const bytes = Buffer.from(value as string); // a buffer is accepted too
      return [Buffer.from([number * 8 + 2, ...base128(bytes.length)]), bytes];
    }),
  );
}

function base128(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...base128(Math.floor(value / 128))];
}

/** Decodes the fields of a message that has texts and bytes only. */
function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, Buffer[]>();
  for (let at = 0; at < bytes.length; ) {
    const number = bytes[at++]! >> 3;
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!;
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    fields.set(number, [...(fields.get(number) ?? []), bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}
