import { type Candidate, type CandidateName, type Surroundings, startCandidate } from './candidates.ts'
import type { Connection } from './connection.ts'
import { generate, holdOpen } from './load.ts'
import { residentBytes } from './processes.ts'
import type { Effort } from './scenarios.ts'

export interface Memory {
  /** Before the first stream, after the warm-up. */
  idleBytes: number
  steps: { asked: number; open: number; openUpstream: number; bytesPerStream: number }[]
  /** Upstream streams still open after every client went away. */
  leftUpstream: number
}

const hold = { model: 'hold', promptBytes: 880, streamed: true }
const settleMs = 1200
const leaveWithinMs = 4000
const warmStreams = 100
const warmRequests = { connections: 32, durationMs: 500, pauseMs: 0 }

/** A process of its own for each: one that has worked hard has room for streams that a fresh one must ask for. */
export async function measureMemory(
  name: CandidateName,
  around: Surroundings,
  effort: Effort,
): Promise<Memory> {
  const candidate = await startCandidate(name, { ...around, profileDir: null })
  const most = name === 'headgate' ? [effort.openStreamsHeadgate] : []
  try {
    return await grow(candidate, around.mockPort, [effort.openStreams, ...most])
  } finally {
    await candidate.stop()
  }
}

async function grow(candidate: Candidate, mockPort: number, counts: number[]): Promise<Memory> {
  const pid = candidate.pid ?? 0
  await warm(candidate)
  const requests = candidate.requests(hold)
  const idleBytes = residentBytes(pid)
  const streams: Connection[] = []
  const steps: Memory['steps'] = []
  try {
    for (const asked of counts) {
      streams.push(...(await holdOpen(candidate.port, requests, asked - streams.length)))
      await Bun.sleep(settleMs)
      const open = streams.filter((stream) => stream.isOpen).length
      const bytesPerStream = (residentBytes(pid) - idleBytes) / open
      steps.push({ asked, open, openUpstream: await openUpstream(mockPort), bytesPerStream })
    }
  } finally {
    for (const stream of streams) stream.close()
  }
  return { idleBytes, steps, leftUpstream: await leftOpen(mockPort) }
}

/** Thousands that leave at once take a moment; what is open after that is forgotten. */
async function leftOpen(mockPort: number): Promise<number> {
  const deadline = performance.now() + leaveWithinMs
  for (;;) {
    const left = await openUpstream(mockPort)
    if (left === 0 || performance.now() > deadline) return left
    await Bun.sleep(100)
  }
}

async function warm(candidate: Candidate): Promise<void> {
  const { port } = candidate
  await generate({
    ...warmRequests,
    port,
    requests: candidate.requests({ ...hold, model: 'whole', streamed: false }),
  })
  const streams = await holdOpen(port, candidate.requests(hold), warmStreams)
  for (const stream of streams) stream.close()
  await Bun.sleep(settleMs)
}

async function openUpstream(mockPort: number): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${mockPort}/open`)).text())
}
