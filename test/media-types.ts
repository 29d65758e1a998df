/** Media types that the server speaks, as its refusals name them. */

/** Objects come in these types; refusals name them in this order. */
export const objectTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] as const;

/** Watches come in these types; refusals name them in this order. */
export const watchTypes = [
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
] as const;
