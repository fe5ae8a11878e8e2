import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayProcess } from './gateways.ts'

/** A body in chunks, generated while it is sent. */
export interface Attack {
  type: 'text/event-stream' | 'application/json'
  chunks: Iterable<string>
}

/** An upstream that sends a generated body as fast as it is read. */
export class Attacker {
  attack: Attack = { type: 'application/json', chunks: [] }
  sent = 0
  readonly #sockets = new Set<Socket>()
  readonly #server: Server = createServer((socket) => {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', () => void this.#sendAttack(socket, this.attack))
  })

  async #sendAttack(socket: Socket, { type, chunks }: Attack): Promise<void> {
    this.sent = 0
    const gone = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`,
    )
    for (const chunk of chunks) {
      if (socket.destroyed) return
      this.sent += chunk.length
      if (socket.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)) continue
      const drained = new Promise<void>((resolve) => void socket.once('drain', () => resolve()))
      await Promise.race([drained, gone])
    }
    socket.end('0\r\n\r\n')
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}

export const wireFormats = ['chat', 'messages', 'responses', 'gemini'] as const

function buildSettings(url: string): string {
  return JSON.stringify({
    limits: { first_content: 5, idle: 5, heartbeat: 1 },
    providers: wireFormats.map((wireFormat) => ({
      slug: `attacker-${wireFormat}`,
      name: 'Attacker',
      base_url: url,
      dialects: [wireFormat],
      api_key: 'vendor-secret',
    })),
    models: wireFormats.map((wireFormat) => ({
      id: `attack/${wireFormat}`,
      name: wireFormat,
      endpoints: [
        {
          provider: `attacker-${wireFormat}`,
          upstream_model: 'm',
          pricing: { prompt: '0', completion: '0' },
        },
      ],
    })),
  })
}

/** The effect of an attack on the process and on another tenant. */
export interface AttackImpact {
  status: number
  /** Bytes sent to the client of the attacked request. */
  received: number
  /** The last part of it. */
  end: string
  /** The longest wait of the other tenant, in milliseconds. */
  maxWaitMs: number
  /** Peak memory beyond that before the attack, in bytes. */
  peakBytes: number
  sent: number
}

/** A gateway in a separate process, an upstream that attacks it, and another tenant with requests. */
export class AttackHarness {
  readonly attacker = new Attacker()
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-attack-'))
  #gateway: GatewayProcess | null = null
  #key = ''

  async open(): Promise<void> {
    const settings = join(this.#folder, 'headgate.yaml')
    writeFileSync(settings, buildSettings(await this.attacker.start()))
    this.#gateway = new GatewayProcess({
      HEADGATE_DATA_DIR: this.#folder,
      HEADGATE_CONFIG: settings,
      HEADGATE_KILL_FILE: join(this.#folder, 'kill'),
      DATABASE_URL: `sqlite:${join(this.#folder, 'headgate.sqlite')}`,
    })
    writeFileSync(join(this.#folder, 'kill'), '')
    await this.#gateway.ready
    this.#key = await this.#gateway.createKey()
  }

  async close(): Promise<void> {
    await this.#gateway?.kill()
    this.attacker.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  send(path: string, body: object): Promise<Response> {
    return fetch(`${this.#gateway?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  async measureAttack(path: string, body: object): Promise<AttackImpact> {
    const pid = this.#gateway?.pid ?? 0
    const before = residentBytes(pid)
    const watch = this.#startMonitor(pid)
    const response = await this.send(path, body)
    let received = 0
    let end = ''
    for await (const chunk of response.body ?? []) {
      received += chunk.length
      end = (end + Buffer.from(chunk).toString('latin1')).slice(-2000)
    }
    const { longestWait, peak } = await watch.stop()
    return {
      status: response.status,
      received,
      end,
      maxWaitMs: longestWait,
      peakBytes: peak - before,
      sent: this.attacker.sent,
    }
  }

  #startMonitor(pid: number): { stop(): Promise<{ longestWait: number; peak: number }> } {
    let isOver = false
    let longestWait = 0
    let peak = 0
    const watching = (async () => {
      while (!isOver) {
        const startedAt = performance.now()
        await (await fetch(`${this.#gateway?.url}/healthz`)).text()
        longestWait = Math.max(longestWait, performance.now() - startedAt)
        peak = Math.max(peak, residentBytes(pid))
        await Bun.sleep(1)
      }
    })()
    return {
      stop: async () => {
        isOver = true
        await watching
        return { longestWait, peak }
      },
    }
  }
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
}
