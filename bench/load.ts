import { Connection, type Timing } from './connection.ts'

export interface Load {
  port: number
  /** Taken in turn. */
  requests: Buffer[]
  connections: number
  /** No request begins after this; those under way end. 0: one request for each connection. */
  durationMs: number
  /** Between the end of a reply and the next request of a connection. */
  pauseMs: number
}

/** Keep-alive connections, each asking again as soon as it was answered. */
export async function generate(load: Load, whenOpen: () => void = () => undefined): Promise<Timing[]> {
  const connections = await openAll(load.port, load.connections)
  whenOpen()
  const timings: Timing[] = []
  const deadline = performance.now() + load.durationMs
  let asked = 0
  const worker = async (connection: Connection) => {
    do {
      timings.push(await connection.ask(load.requests[asked++ % load.requests.length] as Buffer))
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

const openWithinMs = 10_000

/**
 * Streams that are begun and not finished, a few dozen at a time: more at once would overrun the listen queue.
 * Fewer than asked for when some do not open; the caller counts.
 */
export async function holdOpen(port: number, requests: Buffer[], count: number): Promise<Connection[]> {
  const held: Connection[] = []
  const atOnce = 32
  while (held.length < count) {
    const wanted = Math.min(atOnce, count - held.length)
    const results = await Promise.allSettled(
      Array.from({ length: wanted }, () => openStream(port, requests[0] as Buffer)),
    )
    const opened = results.filter((result) => result.status === 'fulfilled').map((result) => result.value)
    held.push(...opened)
    if (opened.length < wanted) break
  }
  return held
}

async function openStream(port: number, request: Buffer): Promise<Connection> {
  const connection = await Connection.to(port)
  const impatience = setTimeout(() => connection.close(), openWithinMs)
  await connection.open(request)
  clearTimeout(impatience)
  return connection
}

function openAll(port: number, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.to(port)))
}

/** The value that the given share of the values does not exceed. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}
