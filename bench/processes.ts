import { existsSync, readFileSync, rmSync } from 'node:fs'

export interface Child {
  pid: number
  /** The match of the `ready` pattern in its output. */
  ready: RegExpExecArray
  stop: () => Promise<void>
}

interface LaunchOptions {
  command: string[]
  cwd: string
  env: Record<string, string>
  /** Matches its output once it accepts requests. */
  ready: RegExp
  /** Time to exit after SIGTERM before it is killed. */
  graceMs?: number
  /** Its private folder, removed when it has exited. */
  folder?: string
}

const readyTimeoutMs = 30_000
const running = new Set<{ kill: () => void; stop: () => Promise<void> }>()

export async function startProcess({
  command,
  cwd,
  env,
  ready,
  graceMs = 3000,
  folder,
}: LaunchOptions): Promise<Child> {
  const child = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
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
    return { pid: child.pid, ready: await readUntil(child.stdout, ready), stop }
  } catch {
    await stop()
    throw new Error(`${command.slice(0, 3).join(' ')} failed to start`)
  } finally {
    clearTimeout(readyTimer)
  }
}

/** Continues to read afterwards: a full pipe would block the process. */
async function readUntil(output: ReadableStream<Uint8Array>, pattern: RegExp): Promise<RegExpExecArray> {
  const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
  void (async () => {
    const decoder = new TextDecoder()
    let text: string | null = ''
    for await (const chunk of output) {
      if (text === null) continue
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

/** Resident memory of a process. */
export function readResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1024
}
