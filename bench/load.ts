import { Connection, type Timing } from './connection.ts'

export interface Load {
  port: number
  /** Used in rotation. */
  requests: Buffer[]
  connections: number
  /** No request starts after this; those in flight finish. 0: one request for each connection. */
  durationMs: number
  /** A fixed rate; null: each connection sends the next request as soon as the response has ended. */
  perSecond: number | null
}

export async function generateLoad(load: Load, whenOpen: () => void = () => undefined): Promise<Timing[]> {
  const connections = await openConnections(load.port, load.connections)
  whenOpen()
  try {
    return await (load.perSecond === null
      ? sendContinuously(connections, load)
      : sendAtRate(connections, load, load.perSecond))
  } finally {
    for (const connection of connections) connection.close()
  }
}

async function sendContinuously(
  connections: Connection[],
  { requests, durationMs }: Load,
): Promise<Timing[]> {
  const timings: Timing[] = []
  const deadline = performance.now() + durationMs
  let sent = 0
  const worker = async (connection: Connection) => {
    do timings.push(await connection.send(requests[sent++ % requests.length] as Buffer))
    while (performance.now() < deadline)
  }
  await Promise.all(connections.map(worker))
  return timings
}

/** A request that is due while every connection is in use is sent as soon as one is free. */
async function sendAtRate(
  connections: Connection[],
  { requests, durationMs }: Load,
  perSecond: number,
): Promise<Timing[]> {
  const idle = [...connections]
  const timings: Promise<Timing>[] = []
  const startedAt = performance.now()
  for (let passed = 0; passed < durationMs; passed = performance.now() - startedAt) {
    const due = Math.floor((passed / 1000) * perSecond) + 1
    while (timings.length < due) {
      const connection = idle.pop()
      if (!connection) break
      const timing = connection.send(requests[timings.length % requests.length] as Buffer)
      timings.push(timing.finally(() => idle.push(connection)))
    }
    await Bun.sleep(1)
  }
  return Promise.all(timings)
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
