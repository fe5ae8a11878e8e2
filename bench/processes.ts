import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { runtimeSettings } from '../scripts/runtime-settings.mjs'

export interface Child {
  pid: number
  /** The match of the `ready` pattern in its output; empty if it was a port. */
  ready: string[]
  stop: () => Promise<void>
}

interface LaunchOptions {
  command: string[]
  cwd: string
  env: Record<string, string>
  /** Matches its output once it accepts requests, or the port that it then listens on. */
  ready: RegExp | number
  /** Time to exit after SIGTERM before it is killed. */
  graceMs?: number
  /** Private folder of the process, removed when it has exited. */
  folder?: string
}

/** Environment without the caller's variables: a key or a setting there would change the measurement. */
export const minimalEnvironment: Record<string, string> = {
  ...runtimeSettings,
  PATH: process.env.PATH ?? '',
  HOME: tmpdir(),
  NODE_ENV: 'production',
}

const readyTimeoutMs = 60_000
const running = new Set<{ kill: () => void; stop: () => Promise<void> }>()

export async function startProcess({
  command,
  cwd,
  env,
  ready,
  graceMs = 3000,
  folder,
}: LaunchOptions): Promise<Child> {
  const stderr = typeof ready === 'number' ? 'ignore' : 'inherit'
  const child = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr })
  const stop = async () => {
    child.kill('SIGTERM')
    const killTimer = setTimeout(() => child.kill('SIGKILL'), graceMs)
    await child.exited
    clearTimeout(killTimer)
    running.delete(entry)
    removeFolder()
  }
  const removeFolder = () => folder && rmSync(folder, { recursive: true, force: true })
  const kill = () => {
    child.kill('SIGKILL')
    removeFolder()
  }
  const entry = { kill, stop }
  running.add(entry)
  const readyTimer = setTimeout(() => child.kill('SIGKILL'), readyTimeoutMs)
  try {
    const match = readUntil(child.stdout, ready instanceof RegExp ? ready : null)
    if (typeof ready === 'number') await Promise.race([match, waitForPort(ready)])
    return { pid: child.pid, ready: ready instanceof RegExp ? await match : [], stop }
  } catch {
    await stop()
    throw new Error(`${command.slice(0, 3).join(' ')} failed to start`)
  } finally {
    clearTimeout(readyTimer)
  }
}

/** Continues to read afterwards: a full pipe would block the process. */
async function readUntil(
  output: ReadableStream<Uint8Array>,
  pattern: RegExp | null,
): Promise<RegExpExecArray> {
  const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
  void (async () => {
    const decoder = new TextDecoder()
    let text: string | null = pattern && ''
    for await (const chunk of output) {
      if (text === null || !pattern) continue
      text += decoder.decode(chunk, { stream: true })
      const match = pattern.exec(text)
      if (!match) continue
      resolve(match)
      text = null
    }
    reject(new Error('the process exited'))
  })()
  return promise
}

async function waitForPort(port: number): Promise<void> {
  const deadline = performance.now() + readyTimeoutMs
  while (performance.now() < deadline) {
    try {
      const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => undefined } })
      socket.end()
      return
    } catch {
      await Bun.sleep(100)
    }
  }
  throw new Error('nothing listens')
}

/** Stops something that is not a child of this process as the started processes are stopped. */
export function stopLater(stopNow: () => void): () => Promise<void> {
  const entry = {
    kill: stopNow,
    stop: async () => {
      running.delete(entry)
      stopNow()
    },
  }
  running.add(entry)
  return entry.stop
}

export async function stopProcesses(): Promise<void> {
  await Promise.all([...running].map((entry) => entry.stop()))
}

/** Stops the started processes when this one is stopped. */
export function stopProcessesOnExit(): void {
  process.on('exit', () => {
    for (const entry of running) entry.kill()
  })
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => void stopProcesses().then(() => process.exit(code)))
  }
}

export const hasProcfs = existsSync('/proc/self/stat')

/** Resident memory of a process; `anonymous` without the files it has mapped. */
export function readResidentBytes(pid: number, kind: 'all' | 'anonymous' = 'all'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const pattern = kind === 'all' ? /^VmRSS:\s+(\d+) kB/m : /^RssAnon:\s+(\d+) kB/m
  return Number(pattern.exec(status)?.[1] ?? Number.NaN) * 1024
}

/** Memory that processes can still allocate. */
export function readAvailableBytes(): number {
  return Number(/^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? 0) * 1024
}

/** A free port, for a peer that cannot choose one itself. */
export function findFreePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer().once('error', failed)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => done(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
