import { type BenchEnvironment, type Candidate, type CandidateName, startCandidate } from './candidates.ts'
import type { Connection } from './connection.ts'
import { generateLoad, openStreams } from './load.ts'
import { readResidentBytes } from './processes.ts'
import type { Effort } from './scenarios.ts'

export interface MemoryUsage {
  /** Five seconds after the warm-up, before the first stream. */
  idleBytes: number
  steps: { requested: number; open: number; openUpstream: number; bytesPerStream: number }[]
  /** Upstream streams still open after every client disconnected. */
  leftUpstream: number
}

const holdRequest = { model: 'hold', promptBytes: 880, streamed: true }
/** Time without requests, longer than freed memory is retained: see `MIMALLOC_PURGE_HOLES_MIN_INTERVAL`. */
const idleMs = 5000
const leaveTimeoutMs = 4000
const warmStreams = 100
const warmRequests = { connections: 32, durationMs: 500, perSecond: null }

/** A fresh process for each: one that was under load already has memory that new streams would reuse. */
export async function measureMemory(
  name: CandidateName,
  environment: BenchEnvironment,
  effort: Effort,
): Promise<MemoryUsage> {
  const candidate = await startCandidate(name, { ...environment, profileDir: null })
  const additionalSteps = name === 'headgate' ? [effort.openStreamsHeadgate] : []
  try {
    return await measureSteps(candidate, environment.mockPort, [effort.openStreams, ...additionalSteps])
  } finally {
    await candidate.stop()
  }
}

async function measureSteps(candidate: Candidate, mockPort: number, counts: number[]): Promise<MemoryUsage> {
  const pid = candidate.pid ?? 0
  await warmUpStreams(candidate)
  const requests = candidate.encodeRequests(holdRequest)
  const idleBytes = readResidentBytes(pid)
  const streams: Connection[] = []
  const steps: MemoryUsage['steps'] = []
  try {
    for (const requested of counts) {
      streams.push(...(await openStreams(candidate.port, requests, requested - streams.length)))
      await Bun.sleep(idleMs)
      const open = streams.filter((stream) => stream.isOpen).length
      const bytesPerStream = (readResidentBytes(pid) - idleBytes) / open
      steps.push({ requested, open, openUpstream: await countOpenUpstream(mockPort), bytesPerStream })
    }
  } finally {
    for (const stream of streams) stream.close()
  }
  return { idleBytes, steps, leftUpstream: await countLeftOpen(mockPort) }
}

/** Closing thousands of streams takes a moment; those open after that are leaked. */
async function countLeftOpen(mockPort: number): Promise<number> {
  const deadline = performance.now() + leaveTimeoutMs
  for (;;) {
    const left = await countOpenUpstream(mockPort)
    if (left === 0 || performance.now() > deadline) return left
    await Bun.sleep(100)
  }
}

async function warmUpStreams(candidate: Candidate): Promise<void> {
  const { port } = candidate
  await generateLoad({
    ...warmRequests,
    port,
    requests: candidate.encodeRequests({ ...holdRequest, model: 'whole', streamed: false }),
  })
  const streams = await openStreams(port, candidate.encodeRequests(holdRequest), warmStreams)
  for (const stream of streams) stream.close()
  await Bun.sleep(idleMs)
}

async function countOpenUpstream(mockPort: number): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${mockPort}/open`)).text())
}
