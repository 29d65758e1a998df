/** The media types of the server, in the order of its refusals. */

/** The media types of objects, in the order in which refusals name them. */
export const objectTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] as const;

/** The media types of watches, in the order in which refusals name them. */
export const watchTypes = [
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
] as const;
