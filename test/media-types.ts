/** Media types that the server speaks, as its refusals name them. */

/** Of objects, in order. */
export const objectTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] as const;

/** Of watches, in order. */
export const watchTypes = [
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
] as const;
