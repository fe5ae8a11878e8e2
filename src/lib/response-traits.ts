/** Responses that are sent heartbeats: silence means that the client does not read. */
export const heartbeatResponses = new WeakSet<Response>()

/** Responses too short to be compressed. */
export const shortResponses = new WeakSet<Response>()

/** What is shorter fits into one packet anyway. */
export const minCompressedBytes = 1024
