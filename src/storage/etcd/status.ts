/**
 * The meaning of the statuses that etcd ends calls with. Texts count before codes, since etcd uses one code for several
 * things. Source: `api/v3rpc/rpctypes/error.go` and `etcdserver/v3_server.go` of etcd 3.5.
 */
import { oneLine } from "#std/printable.ts";
import { EtcdError, type EtcdErrorKind } from "./client.ts";

/** The texts of etcd, without `etcdserver: ` before them, and the kinds of errors that they are. */
const texts: ReadonlyMap<string, EtcdErrorKind> = new Map([
  ["mvcc: required revision has been compacted", "compacted"],
  ["mvcc: required revision is a future revision", "future"],
  ["mvcc: database space exceeded", "full"],
  ["corrupt cluster", "corrupt"],
  ["request is too large", "tooLarge"],
  ["requested lease not found", "noLease"],
  // With `hasleader`, a member without a leader refuses before it does anything.
  ["no leader", "unsent"],
  // Only reads that ask the other members end like this.
  ["leader changed", "unsent"],
  ["too many requests", "unsent"],
  ["not capable", "unsent"],
  ["rpc not supported for learner", "unsent"],
  ["raft proposal dropped", "unsent"],
  ["user name is empty", "unauthorized"],
  ["user name not found", "unauthorized"],
  ["authentication failed, invalid user ID or password", "unauthorized"],
  ["revision of auth store is old", "unauthorized"],
]);

/** The texts with which a member says that it cannot be used now. */
const unusable: ReadonlySet<string> = new Set(["no leader", "not capable", "rpc not supported for learner"]);

/** The codes of gRPC for other texts. The codes that are not here leave open whether the call was done. */
const codes: ReadonlyMap<string, EtcdErrorKind> = new Map([
  ["3", "invalid"], // InvalidArgument
  ["5", "invalid"], // NotFound
  ["7", "unauthorized"], // PermissionDenied
  ["9", "invalid"], // FailedPrecondition
  ["11", "invalid"], // OutOfRange
  ["12", "invalid"], // Unimplemented
  ["15", "corrupt"], // DataLoss
  ["16", "unauthorized"], // Unauthenticated
]);

const textLengthMax = 1024;

/** The end of a call, by the word of a member. */
interface Refusal {
  readonly error: EtcdError;
  /** Whether the member cannot be used now, for no call. */
  readonly isUnusable: boolean;
}

/**
 * Returns the error of a status. `message` is percent-encoded, as in `grpc-message`. The reason why a watch is cancelled
 * names its code too.
 */
export function readStatusError(code: string, message: string, endpoint: string): Refusal {
  const text = decode(message.slice(0, textLengthMax)).replace(
    /^(?:rpc error: code = \w+ desc = )?(?:etcdserver: )?/,
    "",
  );
  // gRPC itself refuses messages beyond its own bound, which is 512 KiB above that of etcd.
  const isTooLarge = text.startsWith("grpc: received message larger than max");
  const kind = isTooLarge ? "tooLarge" : (texts.get(text) ?? codes.get(code) ?? "unanswered");
  const hint = text === "user name is empty" ? ": authentication is enabled, and only certificates are supported" : "";
  const error = new EtcdError(kind, `etcd at ${endpoint}: ${oneLine(text || `status ${code}`)}${hint}`, endpoint);
  return { error, isUnusable: unusable.has(text) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
