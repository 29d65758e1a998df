/** Names of fields as upstream's generated code shows them in errors about protobuf. */
import type { Schema } from "#schema/schema.ts";

/** Words that Go writes in capitals at the beginning of a name. */
const initialisms =
  /^(?:api|aws|ca|cidr|cpu|csi|dns|fc|fs|gce|gid|grpc|http|id|ip|ips|ipc|iscsi|nfs|os|pid|rbd|tcp|tls|tty|uid|url|wwids)(?![a-z])/;

/** Returns the name of a field in Go for its name in JSON: `ClusterIP`, `UID`, `ObjectMeta`. */
export function goFieldName(name: string, schema: Schema): string {
  // The metadata of objects and lists is an embedded struct, which has the name of its type.
  if (name === "metadata" && schema.name !== undefined) return schema.name.slice(schema.name.lastIndexOf(".") + 1);
  const capital = initialisms.exec(name)?.[0] ?? name.slice(0, 1);
  return capital.toUpperCase() + name.slice(capital.length);
}
