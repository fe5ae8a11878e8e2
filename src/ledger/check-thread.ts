import { WorkerThread } from '../platform/concurrency/worker-thread.ts'
import type { LedgerCheck } from './check.ts'

/** Checks the ledger on a thread and a connection of its own; null if it takes longer than `maxMs`. */
export async function checkLedgerOnThread(url: string, maxMs: number): Promise<LedgerCheck | null> {
  const thread = new WorkerThread(new URL('check-worker.ts', import.meta.url), null)
  let timer: Timer | undefined
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), maxMs)
  })
  try {
    return await Promise.race([thread.call({ url }) as Promise<LedgerCheck>, timeout])
  } finally {
    clearTimeout(timer)
    thread.terminate()
  }
}
