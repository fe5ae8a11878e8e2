export interface ReceivedRequest {
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: string
}

/** A server on loopback that records what it receives. */
export function startReceiver(respond: (request: ReceivedRequest) => Response | Promise<Response>) {
  const requests: ReceivedRequest[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url)
      const received = {
        method: request.method,
        path: pathname,
        query: Object.fromEntries(searchParams),
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }
      requests.push(received)
      return respond(received)
    },
  })
  return { origin: `http://127.0.0.1:${server.port}`, requests, stop: () => server.stop(true) }
}
