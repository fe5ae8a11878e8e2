import { Connection, type Timing } from './connection.ts'

export interface Load {
  port: number
  /** Used in rotation. */
  requests: Buffer[]
  connections: number
  /** No request starts after this; those in flight finish. 0: one request for each connection. */
  durationMs: number
  /** Between the end of a reply and the next request of a connection. */
  pauseMs: number
}

/** Keep-alive connections that each send the next request as soon as the response has ended. */
export async function generateLoad(load: Load, whenOpen: () => void = () => undefined): Promise<Timing[]> {
  const connections = await openConnections(load.port, load.connections)
  whenOpen()
  const timings: Timing[] = []
  const deadline = performance.now() + load.durationMs
  let sent = 0
  const worker = async (connection: Connection) => {
    do {
      timings.push(await connection.send(load.requests[sent++ % load.requests.length] as Buffer))
      if (load.pauseMs > 0) await Bun.sleep(load.pauseMs)
    } while (performance.now() < deadline)
  }
  try {
    await Promise.all(connections.map(worker))
  } finally {
    for (const connection of connections) connection.close()
  }
  return timings
}

const openTimeoutMs = 10_000

/**
 * Opens streams that do not end, a few dozen at a time: more at once would overflow the listen queue.
 * Returns fewer than requested if some do not open.
 */
export async function openStreams(port: number, requests: Buffer[], count: number): Promise<Connection[]> {
  const streams: Connection[] = []
  const atOnce = 32
  while (streams.length < count) {
    const batchSize = Math.min(atOnce, count - streams.length)
    const results = await Promise.allSettled(
      Array.from({ length: batchSize }, () => openStream(port, requests[0] as Buffer)),
    )
    const opened = results.filter((result) => result.status === 'fulfilled').map((result) => result.value)
    streams.push(...opened)
    if (opened.length < batchSize) break
  }
  return streams
}

async function openStream(port: number, request: Buffer): Promise<Connection> {
  const connection = await Connection.connect(port)
  const timer = setTimeout(() => connection.close(), openTimeoutMs)
  await connection.openStream(request)
  clearTimeout(timer)
  return connection
}

function openConnections(port: number, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.connect(port)))
}
