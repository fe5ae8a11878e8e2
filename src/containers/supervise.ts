import { statfs } from 'node:fs/promises'
import type { SandboxCommand, SandboxEngine, SandboxProcess } from './engine.ts'
import type { HomeReader } from './home-reader.ts'
import type { HomeSize } from './home-tree.ts'
import { OutputReader } from './output.ts'

/** The reason why a command ended before it had finished. */
export type StopReason = 'timeout' | 'memory' | 'disk' | 'output' | 'cancelled'

export interface Supervision extends SandboxCommand {
  /** Maximum size of the home; counted up to `countedEntries`. */
  maxHome: HomeSize
  countedEntries: number
  /** Bytes that must remain free on the disk of the home. */
  minFreeBytes: number
  outputBytes: number
  /** Characters of stdout and of stderr. */
  maxOutputLength: number
  signal: AbortSignal
}

export interface CommandEnd {
  stdout: string
  stderr: string
  exitCode: number
  stopReason: StopReason | null
  elapsedMs: number
}

const memoryWatchMs = 100
const diskWatchMs = 250
/** Share of a watcher's time that it may spend on counting, unless it would pause for too long. */
const watchShare = 0.1
const maxPauseMs = 1000

/** Runs a command, and ends it when it exceeds a limit that the sandbox itself cannot enforce. */
export async function superviseCommand(
  engine: SandboxEngine,
  homes: HomeReader,
  command: Supervision,
): Promise<CommandEnd> {
  command.signal.throwIfAborted()
  const startedAt = performance.now()
  const started = await engine.start(command)
  const stop = createStop(started)
  const timer = setTimeout(() => stop.for('timeout'), command.limits.timeoutMs)
  const onAbort = () => stop.for('cancelled')
  command.signal.addEventListener('abort', onAbort, { once: true })
  if (command.signal.aborted) onAbort()
  const watching = [watchMemory(started, homes, command, stop), watchDisk(started, homes, command, stop)]
  try {
    const [stdout, stderr] = [new OutputReader(command.outputBytes), new OutputReader(command.outputBytes)]
    const [exitCode] = await Promise.all([
      started.exited,
      stdout.read(started.stdout, () => stop.for('output')),
      stderr.read(started.stderr, () => stop.for('output')),
    ])
    return {
      stdout: stdout.toText(command.maxOutputLength),
      stderr: stderr.toText(command.maxOutputLength),
      exitCode,
      stopReason: stop.reason,
      elapsedMs: Math.round(performance.now() - startedAt),
    }
  } finally {
    clearTimeout(timer)
    command.signal.removeEventListener('abort', onAbort)
    // Also after an unexpected error: no process may continue.
    started.kill()
    stop.end()
    await Promise.all(watching)
  }
}

interface Stop {
  readonly reason: StopReason | null
  /** Resolves when the command has ended. */
  readonly ended: Promise<void>
  for(reason: StopReason): void
  end(): void
}

/** The first reason counts. */
function createStop(started: SandboxProcess): Stop {
  const { promise, resolve } = Promise.withResolvers<void>()
  let first: StopReason | null = null
  return {
    get reason() {
      return first
    },
    ended: promise,
    for: (reason) => {
      first ??= reason
      started.kill()
    },
    end: resolve,
  }
}

async function watchMemory(
  started: SandboxProcess,
  homes: HomeReader,
  { limits }: Supervision,
  stop: Stop,
): Promise<void> {
  await watch(memoryWatchMs, stop, async () => {
    if ((await homes.measureMemory(started.pid)) > limits.memoryBytes) stop.for('memory')
  })
}

/** Files that are deleted but still open count too. What is hidden in other ways shows in the free space. */
async function watchDisk(
  started: SandboxProcess,
  homes: HomeReader,
  command: Supervision,
  stop: Stop,
): Promise<void> {
  const { home, maxHome, countedEntries, minFreeBytes } = command
  await watch(diskWatchMs, stop, async () => {
    const { bytes, entries } = await homes.measure(home, countedEntries)
    const unlinked = await homes.measureUnlinked(home, started.pid)
    const isTooLarge = bytes + unlinked > maxHome.bytes || entries > maxHome.entries
    if (isTooLarge || (await readFreeBytes(home)) < minFreeBytes) stop.for('disk')
  })
}

export async function readFreeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize
}

/** A check that takes long is done less often. A failed one ends the command: it would run without the limit. */
async function watch(everyMs: number, stop: Stop, check: () => Promise<void>): Promise<void> {
  let isEnded = false
  void stop.ended.then(() => {
    isEnded = true
  })
  while (!isEnded) {
    const startedAt = performance.now()
    await check().catch(() => stop.for('cancelled'))
    const pauseMs = Math.min(maxPauseMs, Math.max(everyMs, (performance.now() - startedAt) / watchShare))
    await Promise.race([stop.ended, new Promise((resolve) => setTimeout(resolve, pauseMs).unref())])
  }
}
