import { connect, type Socket } from 'node:net'

/** A gateway behind the balancer. */
export interface Backend {
  port: number
  key: string
  isReady: boolean
  idle: Socket[]
}

export interface BalancedResponse {
  status: number
  head: string
}

const checkMs = 50

/**
 * Distributes requests in turn among the backends whose `/readyz` is 200, over connections that it keeps. It repeats no
 * request: a connection that ends under one is a failure.
 */
export class Balancer {
  readonly backends: Backend[] = []
  #next = 0
  #isStopped = false

  add(port: number, key: string): Backend {
    const backend: Backend = { port, key, isReady: false, idle: [] }
    this.backends.push(backend)
    void this.#check(backend)
    return backend
  }

  async send(path: string, body: object): Promise<BalancedResponse> {
    const ready = this.backends.filter(({ isReady }) => isReady)
    const backend = ready[this.#next++ % ready.length]
    if (!backend) throw new Error('no backend is ready')
    const text = JSON.stringify(body)
    const headers = [`authorization: Bearer ${backend.key}`, `content-length: ${Buffer.byteLength(text)}`]
    const request = [`POST ${path} HTTP/1.1`, 'host: balancer', 'content-type: application/json', ...headers]
    const socket = backend.idle.pop() ?? openConnection(backend)
    const response = await exchange(socket, `${request.join('\r\n')}\r\n\r\n${text}`)
    if (/^connection: close\r?$/im.test(response.head)) socket.end()
    else backend.idle.push(socket)
    return response
  }

  /** Resolves when a backend is ready, or is not. */
  async waitFor(backend: Backend, isReady: boolean): Promise<void> {
    for (const deadline = Date.now() + 60_000; backend.isReady !== isReady; await Bun.sleep(5))
      if (Date.now() > deadline) throw new Error(`the backend did not become ${isReady ? '' : 'un'}ready`)
  }

  stop(): void {
    this.#isStopped = true
    for (const { idle } of this.backends) for (const socket of idle.splice(0)) socket.destroy()
  }

  async #check(backend: Backend): Promise<void> {
    for (; !this.#isStopped; await Bun.sleep(checkMs)) {
      const { port } = backend
      const isReady = await probe(port)
      // Another process may have its place by now.
      if (port !== backend.port) continue
      backend.isReady = isReady
      if (!isReady) for (const socket of backend.idle.splice(0)) socket.end()
    }
  }
}

/** An idle connection that the backend ends is not used again. */
function openConnection(backend: Backend): Socket {
  const socket = connect({ host: '127.0.0.1', port: backend.port, noDelay: true })
  const forget = () => {
    backend.idle = backend.idle.filter((other) => other !== socket)
    socket.destroy()
  }
  socket.once('end', forget)
  socket.once('error', forget)
  return socket
}

async function probe(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  try {
    const head = 'GET /readyz HTTP/1.1\r\nhost: balancer\r\nconnection: close\r\n\r\n'
    return (await exchange(socket, head)).status === 200
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Sends a request and reads its response, which has a length. */
function exchange(socket: Socket, request: string): Promise<BalancedResponse> {
  return new Promise((resolve, reject) => {
    let text = ''
    const settle = (end: () => void) => {
      socket.off('data', read)
      socket.off('error', fail)
      socket.off('close', fail)
      end()
    }
    const fail = (error?: unknown) =>
      settle(() => reject(new Error(`the connection ended after ${text.length} bytes`, { cause: error })))
    const read = (data: Buffer) => {
      text += data.toString('latin1')
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const head = text.slice(0, headEnd)
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (text.length - headEnd - 4 < length) return
      settle(() => resolve({ status: Number(head.split(' ')[1]), head }))
    }
    socket.on('data', read)
    socket.on('error', fail)
    socket.on('close', fail)
    socket.write(request)
  })
}
