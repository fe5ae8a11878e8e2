/** Variables that Bun reads when the server starts; the Dockerfile sets the same. */
export const runtimeSettings = {
  // Otherwise Bun queues outbound requests past 256.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65535',
  // Milliseconds. By default freed parts of pages return to the system ten times a second, also under load, and the
  // next requests fetch them again.
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '2000',
  // A thread that fetches memory in advance is not worth it then.
  BUN_JSC_useWarmUpMarkedBlocks: 'false',
}
