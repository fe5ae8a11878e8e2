/** What Bun reads from its environment when the server starts; the Dockerfile sets the same. */
export const runtimeSettings = {
  // Otherwise Bun queues outbound requests past 256.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65535',
  // The last compiler is for loops that run for seconds. At its usual threshold (100,000) it compiles the request
  // path again and again, at up to half the CPU of a request in the first minutes, and makes it no faster.
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '2000000',
}
