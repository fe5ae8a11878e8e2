import { connect, createServer, type Server, type Socket } from 'node:net'

/** A node behind the balancer. */
export class Backend {
  readonly host: string
  readonly port: number
  isReady = false
  /** Requests that have a connection to it. */
  inFlight = 0
  served = 0
  /** Responses with a status of 500 or more. */
  failed = 0
  /** Requests whose connection ended before their response. */
  cut = 0
  /** The longest request that ended. */
  slowestMs = 0
  idle: Socket[] = []

  constructor(host: string, port: number) {
    this.host = host
    this.port = port
  }
}

const checkMs = 250
const checkTimeoutMs = 1000
/** Checks in a row without a response after which a backend is not ready. One that says so is not ready at once. */
const missedChecks = 2
const connectTimeoutMs = 1000

interface ClientRequest {
  head: string
  body: Buffer
  isStreamed: boolean
}

/**
 * A load balancer: it checks `/readyz` and distributes requests in turn. A connection that cannot be made is tried at the
 * next node; a request of which anything was sent is not sent again. Whole replies use kept connections, streams one each.
 */
export class HttpBalancer {
  readonly backends: readonly Backend[]
  readonly #server: Server
  #next = 0
  #isStopped = false

  constructor(backends: readonly Backend[]) {
    this.backends = backends
    this.#server = createServer({ noDelay: true }, (client) => void this.#accept(client))
    for (const backend of backends) void this.#check(backend)
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, host, () => resolve()))
  }

  stop(): void {
    this.#isStopped = true
    this.#server.close()
  }

  async #accept(client: Socket): Promise<void> {
    client.on('error', () => undefined)
    try {
      const request = await readRequest(client)
      const { backend, socket } = await this.#connect(request.isStreamed)
      relay(client, request, backend, socket)
    } catch {
      client.resetAndDestroy()
    }
  }

  /** If no backend is ready, all are tried. */
  async #connect(isFresh: boolean): Promise<{ backend: Backend; socket: Socket }> {
    const ready = this.backends.filter(({ isReady }) => isReady)
    const candidates = ready.length > 0 ? ready : this.backends
    const first = this.#next++
    for (let index = 0; index < candidates.length; index++) {
      const backend = candidates[(first + index) % candidates.length]
      if (!backend) break
      const kept = isFresh ? undefined : backend.idle.pop()
      const socket = kept ?? (await openConnection(backend).catch(() => null))
      if (socket) return { backend, socket }
    }
    throw new Error('no backend accepts a connection')
  }

  async #check(backend: Backend): Promise<void> {
    for (let missed = 0; !this.#isStopped; await Bun.sleep(checkMs)) {
      const status = await probe(backend)
      missed = status === null ? missed + 1 : 0
      if (status !== null) backend.isReady = status === 200
      else if (missed >= missedChecks) backend.isReady = false
      if (!backend.isReady) for (const socket of backend.idle.splice(0)) socket.end()
    }
  }
}

async function probe({ host, port }: Backend): Promise<number | null> {
  try {
    const signal = AbortSignal.timeout(checkTimeoutMs)
    const response = await fetch(`http://${host}:${port}/readyz`, { signal, keepalive: false })
    await response.text()
    return response.status
  } catch {
    return null
  }
}

function openConnection(backend: Backend): Promise<Socket> {
  const { host, port } = backend
  const socket = connect({ host, port, noDelay: true })
  const forget = () => {
    backend.idle = backend.idle.filter((other) => other !== socket)
  }
  socket.on('close', forget)
  socket.on('end', forget)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), connectTimeoutMs)
    socket.on('error', reject)
    socket.on('close', reject)
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}

/** Reads the only request of a connection. */
function readRequest(client: Socket): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    client.on('close', () => reject(new Error('the client disconnected')))
    const read = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const headEnd = bytes.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const head = bytes.toString('latin1', 0, headEnd)
      const body = bytes.subarray(headEnd + 4)
      if (body.length < readLength(head)) return
      client.off('data', read)
      resolve({ head, body, isStreamed: body.includes('"stream":true') })
    }
    client.on('data', read)
  })
}

const readLength = (head: string) => Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)

function setConnection(head: string, value: string): string {
  return `${head.replace(/\r\nconnection:[^\r]*/gi, '')}\r\nconnection: ${value}`
}

/** Sends the request, and the response as it arrives. */
function relay(client: Socket, request: ClientRequest, backend: Backend, socket: Socket): void {
  const startedAt = performance.now()
  backend.inFlight++
  let head: string | null = null
  let pending = Buffer.alloc(0)
  let left = Number.POSITIVE_INFINITY
  let isOver = false
  const finish = (end: () => void) => {
    if (isOver) return
    isOver = true
    backend.inFlight--
    backend.slowestMs = Math.max(backend.slowestMs, performance.now() - startedAt)
    socket.off('data', read)
    socket.off('end', finishUnbounded)
    socket.off('error', cut)
    socket.off('close', cut)
    end()
  }
  const cut = () =>
    finish(() => {
      backend.cut++
      client.resetAndDestroy()
    })
  // A response without a length ends with its connection; the client knows by its last chunk whether it is complete.
  const finishUnbounded = () =>
    head !== null && left === Number.POSITIVE_INFINITY ? finish(() => client.end()) : cut()
  const pass = (chunk: Buffer) => {
    left -= chunk.length
    if (chunk.length > 0 && !client.write(chunk)) pauseUntilDrained(socket, client)
    if (left > 0) return
    finish(() => {
      client.end()
      if (/^connection: *close/im.test(head ?? '') || request.isStreamed) socket.end()
      else backend.idle.push(socket)
    })
  }
  const read = (chunk: Buffer) => {
    if (head !== null) return pass(chunk)
    pending = Buffer.concat([pending, chunk])
    const headEnd = pending.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    head = pending.toString('latin1', 0, headEnd)
    backend.served++
    if (Number(head.split(' ')[1]) >= 500) backend.failed++
    if (/^content-length:/im.test(head)) left = readLength(head)
    client.write(`${setConnection(head, 'close')}\r\n\r\n`)
    pass(pending.subarray(headEnd + 4))
  }
  socket.on('data', read)
  socket.once('end', finishUnbounded)
  socket.once('error', cut)
  socket.once('close', cut)
  client.once('close', () => finish(() => socket.destroy()))
  const sentHead = setConnection(request.head, request.isStreamed ? 'close' : 'keep-alive')
  socket.write(Buffer.concat([Buffer.from(`${sentHead}\r\n\r\n`, 'latin1'), request.body]))
}

function pauseUntilDrained(from: Socket, to: Socket): void {
  from.pause()
  to.once('drain', () => from.resume())
}
