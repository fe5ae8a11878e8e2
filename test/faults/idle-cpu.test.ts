import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { databaseKinds } from '../support/harness.ts'
import { closeScenarios, createScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals } from './options.ts'
import { type RequestKind, requestKinds, settings } from './request-kinds.ts'
import { sendAll } from './request-senders.ts'

/** Of each kind that is sent before. */
const requestsPerKind = 50
/** What load leaves, and the rare jobs, which run for the first time after a minute, come before what is measured. */
const seconds = { settling: 75, measured: 60 }
/** Twice what was measured on a busy machine with two cores. What takes it is not established: no job takes 0.1 ms. */
const maxMsPerSecond = 15
/** In `/proc`, a tick is a hundredth of a second. */
const tickMs = 10

afterAll(closeScenarios)

/** The CPU time of all threads, in milliseconds. */
function readCpuMs({ pid }: GatewayProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

const kinds = requestKinds.filter(({ leaves, isSlow }: RequestKind) => leaves !== 'upstream' && !isSlow)

describe.if(isLong && process.platform === 'linux')('an idle gateway', () => {
  test.each(databaseKinds)(
    `I10 after load takes at most ${maxMsPerSecond} ms of CPU time per second (%s)`,
    async (kind) => {
      const scenario = await createScenario(kind, undefined, settings)
      const gateway = await scenario.start()
      const target = { url: gateway.url, key: await gateway.createKey(), countExchanges: null }
      for (const sent of kinds) await sendAll(target, sent, requestsPerKind)
      await Bun.sleep(seconds.settling * 1000)
      const before = readCpuMs(gateway)
      await Bun.sleep(seconds.measured * 1000)
      const msPerSecond = (readCpuMs(gateway) - before) / seconds.measured
      await gateway.stop()
      printTotals(`an idle gateway on ${kind}`, { 'ms of CPU per second': msPerSecond })
      expect(msPerSecond).toBeLessThanOrEqual(maxMsPerSecond)
    },
    600_000,
  )
})
