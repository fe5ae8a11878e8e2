import type { ClientOutcome } from '../clients.ts'
import { beforeMs, type Fault } from './faults.ts'
import type { Lab } from './lab.ts'
import { Load, limitNanos } from './load.ts'

/** What a fault did, and what it must not do. */
export interface Report {
  figures: Record<string, number>
  problems: string[]
}

/** After the load has ended: until the requests of dead nodes are settled. */
const booksWithinMs = 40_000
const afterMs = 2000
const checkMs = 500
/** Longest request of a node that the fault does not concern, on a busy machine. */
const othersWithinMs = 5000

export async function runFault(lab: Lab, fault: Fault): Promise<Report> {
  const before = lab.nodes.map(({ backend: { failed, cut } }) => ({ failed, cut }))
  for (const { backend } of lab.nodes) backend.slowestMs = 0
  const key = await lab.nodes[0].gateway.createKey()
  const load = new Load(lab)
  await load.start()
  await Bun.sleep(beforeMs)
  const own = await fault.run(lab)
  const endedAt = performance.now()
  const recoveryMs = await measureRecovery(lab, key, endedAt)
  await Bun.sleep(afterMs)
  const isOver = await load.stop()
  await fault.repair?.(lab)
  const outcomes = [...load.outcomes, ...load.limited]
  const books = await untilBooksAgree(lab, load.limited)
  const failures = lab.nodes.map(({ backend: { failed, cut } }, index) => ({
    failed: failed - (before[index]?.failed ?? 0),
    cut: cut - (before[index]?.cut ?? 0),
  }))
  const problems = [
    ...(isOver ? [] : ['requests do not end']),
    ...books.problems,
    ...findForbidden(fault, outcomes, failures),
    ...(recoveryMs > fault.recoversWithinMs ? [`recovered after ${recoveryMs} ms`] : []),
    ...(books.spent > limitNanos ? [`overspent: ${books.spent} of ${limitNanos}`] : []),
  ]
  const others = lab.nodes.filter((_, index) => !fault.allows.nodes.includes(index))
  const slowest = Math.max(0, ...others.map(({ backend }) => Math.round(backend.slowestMs)))
  if (slowest > othersWithinMs) problems.push(`a request of a node that is not affected took ${slowest} ms`)
  const figures = { ...describe(load, recoveryMs, books), 'ms slowest of other nodes': slowest, ...own }
  return { figures, problems }
}

/** Time until every node has served a request, and the balancer knows. */
async function measureRecovery(lab: Lab, key: string, since: number): Promise<number> {
  await Promise.all(
    lab.nodes.map(async ({ gateway }) => {
      while ((await lab.clients.send(gateway.url, key)).status !== 200) await Bun.sleep(50)
    }),
  )
  await lab.waitUntilReady()
  return Math.round(performance.now() - since)
}

interface Books {
  problems: string[]
  spent: bigint
  ms: number
}

async function untilBooksAgree(lab: Lab, limited: readonly ClientOutcome[]): Promise<Books> {
  const numbers = new Set(limited.map(({ number }) => number))
  const since = performance.now()
  await lab.vendor.idle()
  for (;;) {
    const books = await lab.checkBooks(numbers)
    const ms = Math.round(performance.now() - since)
    if (books.problems.length === 0 || ms > booksWithinMs) return { ...books, ms }
    await Bun.sleep(checkMs)
  }
}

type Failures = { failed: number; cut: number }

function findForbidden(
  { allows }: Fault,
  outcomes: readonly ClientOutcome[],
  failures: readonly Failures[],
): string[] {
  const problems: string[] = []
  const count = (test: (outcome: ClientOutcome) => boolean, problem: string) => {
    const found = outcomes.filter(test)
    if (found.length > 0) problems.push(`${found.length} ${problem}: ${JSON.stringify(found.slice(0, 3))}`)
  }
  for (const [index, { failed, cut }] of failures.entries()) {
    const isAffected = allows.nodes.includes(index)
    if (failed > 0 && !(isAffected && allows.unavailable))
      problems.push(`node ${index} failed ${failed} requests`)
    if (cut > 0 && !(isAffected && allows.cuts)) problems.push(`node ${index} cut ${cut} requests`)
  }
  const known = [200, 402, ...(allows.unavailable ? [503] : [])]
  count(({ status }) => status !== null && !known.includes(status), 'requests with another status')
  count(({ status, retryAfter }) => status === 503 && retryAfter === null, 'without Retry-After')
  if (!allows.cuts) count(({ status, ended }) => status === 200 && !ended, 'replies without an end')
  if (!allows.cuts) count(({ status }) => status === null, 'requests without a response')
  return problems
}

function describe({ outcomes, limited, durations }: Load, recoveryMs: number, books: Books) {
  const all = [...outcomes, ...limited]
  const having = (test: (outcome: ClientOutcome) => boolean) => all.filter(test).length
  const sorted = durations.toSorted((a, b) => a - b)
  return {
    requests: all.length,
    'at the limit': having(({ status }) => status === 402),
    unavailable: having(({ status }) => status === 503),
    cut: having(({ status, ended }) => status === null || (status === 200 && !ended)),
    'ms slowest': Math.round(sorted.at(-1) ?? 0),
    'ms p99': Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    'ms until all nodes served': recoveryMs,
    'ms until the books agreed': books.ms,
    'nano-dollars left of the limit': Number(limitNanos - books.spent),
  }
}
