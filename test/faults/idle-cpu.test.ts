import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { databaseKinds } from '../support/harness.ts'
import { closeScenarios, createScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals } from './options.ts'
import { type RequestKind, requestKinds, settings } from './request-kinds.ts'
import { sendAll } from './request-senders.ts'

/** Requests of each kind that are sent before the measurement. */
const requestsPerKind = 50
/**
 * Time before and of the measurement: rare jobs first run after a minute, and the runtime collects all garbage after
 * two.
 */
const seconds = { settling: 150, measured: 60 }
/**
 * CPU time of all threads, and how often the main thread is woken, each for a second. On PostgreSQL, it looks for
 * changes by other nodes every second.
 */
const limits = { sqlite: { cpuMs: 3, wakeUps: 3 }, postgres: { cpuMs: 6, wakeUps: 10 } }
/** Duration of a tick in `/proc`: a hundredth of a second. */
const tickMs = 10

afterAll(closeScenarios)

/** The CPU time of all threads, in milliseconds. */
function readCpuMs({ pid }: GatewayProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

/** The main thread waits, and is woken, once for each of these. */
function countWaits({ pid }: GatewayProcess): number {
  const status = readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8')
  return Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1])
}

async function measureIdle(gateway: GatewayProcess): Promise<{ cpuMs: number; wakeUps: number }> {
  await Bun.sleep(seconds.settling * 1000)
  const before = { cpuMs: readCpuMs(gateway), waits: countWaits(gateway) }
  await Bun.sleep(seconds.measured * 1000)
  return {
    cpuMs: (readCpuMs(gateway) - before.cpuMs) / seconds.measured,
    wakeUps: (countWaits(gateway) - before.waits) / seconds.measured,
  }
}

const kinds = requestKinds.filter(({ leaves, isSlow }: RequestKind) => leaves !== 'upstream' && !isSlow)

describe.if(isLong && process.platform === 'linux')('an idle gateway', () => {
  test.each(databaseKinds)(
    'I10 takes little CPU time and is seldom woken, before load and after it (%s)',
    async (kind) => {
      const scenario = await createScenario(kind, undefined, settings)
      const gateway = await scenario.start()
      const started = await measureIdle(gateway)
      const target = { url: gateway.url, key: await gateway.createKey(), countExchanges: null }
      for (const sent of kinds) await sendAll(target, sent, requestsPerKind)
      const loaded = await measureIdle(gateway)
      await gateway.stop()
      for (const [when, { cpuMs, wakeUps }] of Object.entries({ before: started, after: loaded }))
        printTotals(`idle on ${kind} ${when} load, per second`, { 'ms of CPU': cpuMs, 'wake-ups': wakeUps })
      for (const { cpuMs, wakeUps } of [started, loaded]) {
        expect(cpuMs).toBeLessThanOrEqual(limits[kind].cpuMs)
        expect(wakeUps).toBeLessThanOrEqual(limits[kind].wakeUps)
      }
    },
    900_000,
  )
})
