/**
 * The protobuf messages of etcd's services KV, Watch, Lease and Maintenance, with the fields that the log uses. Requests
 * are written with the five bytes of gRPC before them. Answers that are no such messages throw an error. Values of an
 * answer share its memory. The loops over key-values and headers are written for speed: `npm run bench -- etcd` has
 * rows for a range of 5,000 keys and for single events.
 *
 * Source: `etcdserverpb/rpc.proto` and `mvccpb/kv.proto` of etcd 3.5.
 */
import { ProtobufReader } from "#codec/protobuf-reader.ts";
import { ProtobufWriter } from "#codec/protobuf-writer.ts";
import type {
  AnswerHeader,
  EtcdEvent,
  KeyValue,
  MemberStatus,
  EtcdOperation,
  RangeAnswer,
  RangeRequest,
  Transaction,
  TransactionAnswer,
  WatchRequest,
} from "./client.ts";

/** The bytes before each message: whether it is compressed, and its length in 32 bits. */
export const frameHeadLength = 5;

/** Writes requests. One buffer serves all. */
export class RequestWriter {
  readonly #writer = new ProtobufWriter();
  readonly #head = Buffer.alloc(frameHeadLength);

  range(request: RangeRequest): Buffer {
    return this.#frame(() => this.#range(request));
  }

  transaction({ compare, then, otherwise }: Transaction): Buffer {
    return this.#frame(() => {
      for (const operation of otherwise.toReversed()) this.#operation(3, operation);
      for (const operation of then.toReversed()) this.#operation(2, operation);
      for (const { key, revision, orLess = false } of compare.toReversed()) {
        this.#writer.message(1, () => {
          this.#writer.varint(6, orLess ? revision + 1 : revision);
          this.#writer.text(3, key);
          this.#writer.varint(2, 2); // MOD: the comparison is one of `mod_revision`
          if (orLess) this.#writer.varint(1, 2); // LESS
        });
      }
    });
  }

  watch({ key, end, from, withPrevious = false }: WatchRequest): Buffer {
    return this.#frame(() => {
      this.#writer.message(1, () => {
        this.#writer.varint(8, 1); // fragment
        if (withPrevious) this.#writer.varint(6, 1);
        this.#writer.varint(4, 1); // progress_notify
        this.#writer.varint(3, from);
        this.#writer.text(2, end);
        this.#writer.text(1, key);
      });
    });
  }

  progress(): Buffer {
    return this.#frame(() => this.#writer.head(3, 0));
  }

  compaction(revision: number): Buffer {
    return this.#frame(() => this.#writer.varint(1, revision));
  }

  leaseGrant(seconds: number): Buffer {
    return this.#frame(() => this.#writer.varint(1, seconds));
  }

  /** Writes a renewal, a revocation or a question for the time that is left, which look alike. */
  lease(lease: string): Buffer {
    return this.#frame(() => this.#lease(1, lease));
  }

  empty(): Buffer {
    return this.#frame(() => {});
  }

  #operation(field: number, operation: EtcdOperation): void {
    const writer = this.#writer;
    writer.message(field, () => {
      if (operation.kind === "range") return writer.message(1, () => this.#range(operation.range));
      if (operation.kind === "delete") return writer.message(3, () => writer.text(1, operation.key));
      writer.message(2, () => {
        if (operation.lease !== undefined) this.#lease(3, operation.lease);
        writer.blob(2, operation.value);
        writer.text(1, operation.key);
      });
    });
  }

  #range({ key, end, limit = 0, revision = 0, ...request }: RangeRequest): void {
    const writer = this.#writer;
    if (request.countOnly === true) writer.varint(9, 1);
    if (request.keysOnly === true) writer.varint(8, 1);
    if (request.isSerializable === true) writer.varint(7, 1);
    if (revision > 0) writer.varint(4, revision);
    if (limit > 0) writer.varint(3, limit);
    if (end !== undefined) writer.text(2, end);
    writer.text(1, key);
  }

  /** Writes the id of a lease byte by byte, since it may have all 64 bits. */
  #lease(field: number, lease: string): void {
    const bytes: number[] = [];
    let rest = BigInt(`0x${lease}`);
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    this.#writer.bytes(Buffer.from([field * 8, ...bytes, Number(rest)]));
  }

  #frame(write: () => void): Buffer {
    const writer = this.#writer;
    writer.clear();
    write();
    this.#head.writeUInt32BE(writer.length, 1);
    writer.bytes(this.#head);
    return writer.finish();
  }
}

const readerOf = (bytes: Buffer): ProtobufReader => new ProtobufReader(bytes, 0, bytes.length);

/** Reads a number that is not negative and below 2^53, such as a revision. */
function count(reader: ProtobufReader): number {
  const value = reader.integer();
  if (typeof value === "bigint" || value < 0) throw new Error(`${value} is no revision and no count`);
  return value;
}

/** Reads an identifier of 64 bits. */
const id = (reader: ProtobufReader): string => BigInt.asUintN(64, BigInt(reader.integer())).toString(16);

/** The header of an answer. Identifiers are read when somebody asks for them, which is rare, and takes long. */
class ReadHeader implements AnswerHeader {
  readonly revision: number;
  readonly term: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    let revision = 0;
    let term = 0;
    for (let at = 0; at < bytes.length; ) {
      const tag = bytes[at++]!;
      if ((tag & 0x87) !== 0) throw new Error(`a header has a field with the tag ${tag}`);
      let value = 0;
      let factor = 1;
      let byte: number;
      do {
        byte = at < bytes.length ? bytes[at++]! : 256;
        value += (byte & 0x7f) * factor;
        factor *= 128;
      } while (byte > 127 && byte < 256 && factor < 2 ** 70);
      if (byte > 127) throw new Error("a header is cut off");
      if (tag === 0x18) revision = value;
      else if (tag === 0x20) term = value;
    }
    if (!Number.isSafeInteger(revision)) throw new Error(`${revision} is no revision`);
    this.revision = revision;
    this.term = term;
  }

  get cluster(): string {
    return this.#id(1);
  }

  get member(): string {
    return this.#id(2);
  }

  #id(field: number): string {
    for (const reader = readerOf(this.#bytes); reader.next(); reader.skip()) {
      if (reader.number === field) return id(reader);
    }
    return "0";
  }
}

const noBytes: Buffer = Buffer.alloc(0);

/**
 * Reads a key-value. Keys, values and small numbers, which all have, are read here, and messages with other fields by
 * `readOtherKeyValue`.
 */
function readKeyValue(bytes: Buffer): KeyValue {
  const end = bytes.length;
  let key = "";
  let value = noBytes;
  let revision = 0;
  let created = 0;
  let version = 0;
  for (let at = 0; at < end; ) {
    const tag = bytes[at++]!;
    let number = 0;
    let factor = 1;
    let byte = 0x80;
    while (byte > 127 && at < end && factor < 2 ** 49) {
      byte = bytes[at++]!;
      number += (byte & 0x7f) * factor;
      factor *= 128;
    }
    if (byte > 127) return readOtherKeyValue(bytes);
    if (tag === 0x18) revision = number;
    else if (tag === 0x10) created = number;
    else if (tag === 0x20) version = number;
    else if ((tag === 0x0a || tag === 0x2a) && number <= end - at) {
      if (tag === 0x0a) key = bytes.toString("utf8", at, at + number);
      else value = bytes.subarray(at, at + number);
      at += number;
    } else return readOtherKeyValue(bytes);
  }
  return { key, value, revision, created, version, lease: undefined };
}

function readOtherKeyValue(bytes: Buffer): KeyValue {
  const found: { -readonly [name in keyof KeyValue]: KeyValue[name] } = {
    key: "",
    value: noBytes,
    revision: 0,
    created: 0,
    version: 0,
    lease: undefined,
  };
  for (const reader = readerOf(bytes); reader.next(); ) {
    if (reader.number === 1) found.key = reader.bytes().toString();
    else if (reader.number === 2) found.created = count(reader);
    else if (reader.number === 3) found.revision = count(reader);
    else if (reader.number === 4) found.version = count(reader);
    else if (reader.number === 5) found.value = reader.bytes();
    else if (reader.number === 6) {
      const lease = id(reader);
      if (lease !== "0") found.lease = lease;
    } else reader.skip();
  }
  return found;
}

const missingHeader = (): Error => new Error("an answer has no header");

export function readRangeAnswer(bytes: Buffer): RangeAnswer {
  let header: AnswerHeader | undefined;
  let more = false;
  let total = 0;
  const entries: KeyValue[] = [];
  for (const reader = readerOf(bytes); reader.next(); ) {
    if (reader.number === 2) entries.push(readKeyValue(reader.bytes()));
    else if (reader.number === 1) header = new ReadHeader(reader.bytes());
    else if (reader.number === 3) more = count(reader) > 0;
    else if (reader.number === 4) total = count(reader);
    else reader.skip();
  }
  if (header === undefined) throw missingHeader();
  return { header, entries, more, count: total };
}

export function readTransactionAnswer(bytes: Buffer): TransactionAnswer {
  let header: AnswerHeader | undefined;
  let succeeded = false;
  const ranges: RangeAnswer[] = [];
  for (const reader = readerOf(bytes); reader.next(); ) {
    if (reader.number === 1) header = new ReadHeader(reader.bytes());
    else if (reader.number === 2) succeeded = count(reader) > 0;
    else if (reader.number === 3) {
      for (const answer = reader.message(); answer.next(); ) {
        if (answer.number === 1) ranges.push(readRangeAnswer(answer.bytes()));
        else answer.skip();
      }
    } else reader.skip();
  }
  if (header === undefined) throw missingHeader();
  return { header, succeeded, ranges };
}

/** One message of a watch. */
export interface WatchAnswer {
  readonly header: AnswerHeader;
  readonly isCreated: boolean;
  readonly isCancelled: boolean;
  /** The first revision that is not compacted, if the watch asked for earlier ones; else 0. */
  readonly compacted: number;
  readonly reason: string;
  /** Whether the next message continues this one. */
  readonly isFragment: boolean;
  readonly events: EtcdEvent[];
}

export function readWatchAnswer(bytes: Buffer): WatchAnswer {
  let header: AnswerHeader | undefined;
  const events: EtcdEvent[] = [];
  const answer = { isCreated: false, isCancelled: false, compacted: 0, reason: "", isFragment: false, events };
  for (const reader = readerOf(bytes); reader.next(); ) {
    if (reader.number === 11) events.push(readEvent(reader.message()));
    else if (reader.number === 1) header = new ReadHeader(reader.bytes());
    else if (reader.number === 3) answer.isCreated = count(reader) > 0;
    else if (reader.number === 4) answer.isCancelled = count(reader) > 0;
    else if (reader.number === 5) answer.compacted = count(reader);
    else if (reader.number === 6) answer.reason = reader.text();
    else if (reader.number === 7) answer.isFragment = count(reader) > 0;
    else reader.skip();
  }
  if (header === undefined) throw missingHeader();
  return { header, ...answer };
}

function readEvent(reader: ProtobufReader): EtcdEvent {
  let isDeletion = false;
  let entry: KeyValue | undefined;
  let previous: KeyValue | undefined;
  while (reader.next()) {
    if (reader.number === 2) entry = readKeyValue(reader.bytes());
    else if (reader.number === 3) previous = readKeyValue(reader.bytes());
    else if (reader.number === 1) isDeletion = count(reader) > 0;
    else reader.skip();
  }
  if (entry === undefined) throw new Error("an event has no key");
  return { type: isDeletion ? "delete" : "put", entry, previous };
}

/** Reads the answer to a grant, a renewal, or the question for the time that is left. */
export function readLeaseAnswer(bytes: Buffer): { readonly lease: string; readonly seconds: number } {
  const answer = { lease: "0", seconds: 0 };
  for (const reader = readerOf(bytes); reader.next(); ) {
    if (reader.number === 2) answer.lease = id(reader);
    else if (reader.number === 3) answer.seconds = Math.max(0, Number(reader.integer()));
    else reader.skip();
  }
  return answer;
}

export function readStatus(bytes: Buffer): MemberStatus {
  let header: AnswerHeader | undefined;
  const status = { version: "", dbBytes: 0, dbBytesInUse: 0, leader: "0" };
  const alarms: string[] = [];
  for (const reader = readerOf(bytes); reader.next(); ) {
    if (reader.number === 1) header = new ReadHeader(reader.bytes());
    else if (reader.number === 2) status.version = reader.text();
    else if (reader.number === 3) status.dbBytes = count(reader);
    else if (reader.number === 4) status.leader = id(reader);
    else if (reader.number === 9) status.dbBytesInUse = count(reader);
    else if (reader.number === 8) {
      // The text is one like `memberID:123 alarm:NOSPACE`; there are others too.
      const alarm = /\balarm:(\w+)/.exec(reader.text())?.[1];
      if (alarm !== undefined) alarms.push(alarm);
    } else reader.skip();
  }
  if (header === undefined) throw missingHeader();
  return { header, ...status, leader: status.leader === "0" ? undefined : status.leader, alarms };
}
