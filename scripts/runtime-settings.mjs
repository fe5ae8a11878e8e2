/** What Bun reads from its environment when the server starts; the Dockerfile sets the same. */
export const runtimeSettings = {
  // Otherwise Bun queues outbound requests past 256.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65535',
}
