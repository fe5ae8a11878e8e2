import { type BenchEnvironment, type Candidate, type CandidateName, startCandidate } from './candidates.ts'
import { Connection } from './connection.ts'
import { readAvailableBytes, readResidentBytes } from './processes.ts'
import type { Effort } from './scenarios.ts'

export interface AllocationUsage {
  /** Bytes that one request leaves for the garbage collector, by block. */
  bytesPerRequest: number[]
}

const spec = { model: 'whole', promptBytes: 880, streamed: false }
const connectionCount = 8
const blocks = 5
/** Memory that must be available: nothing is freed meanwhile, and some gateways need a few hundred KB for a request. */
const requiredBytes = 4 * 2 ** 30

/**
 * The growth of a process that never collects garbage, which does not depend on the speed of the machine.
 * Null if the machine has too little memory for it.
 */
export async function measureAllocations(
  name: CandidateName,
  environment: BenchEnvironment,
  effort: Effort,
): Promise<AllocationUsage | null> {
  if (readAvailableBytes() < requiredBytes) return null
  const variables = { BUN_JSC_useGC: '0' }
  const candidate = await startCandidate(name, { ...environment, profileDir: null, variables })
  try {
    return { bytesPerRequest: await measureBlocks(candidate, effort.allocationRequests) }
  } finally {
    await candidate.stop()
  }
}

async function measureBlocks(candidate: Candidate, requests: number): Promise<number[]> {
  const pid = candidate.pid ?? 0
  const connections = await Promise.all(
    Array.from({ length: connectionCount }, () => Connection.connect(candidate.port)),
  )
  const [request] = candidate.encodeRequests(spec)
  const growths: number[] = []
  try {
    await sendRequests(connections, request as Buffer, requests)
    for (let block = 0; block < blocks; block++) {
      const before = readResidentBytes(pid, 'anonymous')
      await sendRequests(connections, request as Buffer, requests)
      growths.push((readResidentBytes(pid, 'anonymous') - before) / requests)
    }
  } finally {
    for (const connection of connections) connection.close()
  }
  return growths
}

async function sendRequests(connections: Connection[], request: Buffer, count: number): Promise<void> {
  let left = count
  const worker = async (connection: Connection) => {
    while (left-- > 0) await connection.send(request)
  }
  await Promise.all(connections.map(worker))
}
