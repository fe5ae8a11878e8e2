import { afterAll, describe, expect, test } from 'bun:test'
import { closeScenarios, createScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals } from './options.ts'
import { type RequestKind, requestKinds, settings } from './request-kinds.ts'
import { sendAll } from './request-senders.ts'

/** Minutes of mixed load; at most four hours. */
const minutes = Math.min(Number(process.env.HEADGATE_FAULTS_MINUTES ?? 120), 240)
const sampleCount = 24
/** Growth allowed from the second third to the last, which a leak of 1 KB for each request exceeds within minutes. */
const maxGrowth = 1.1

afterAll(async () => {
  await closeScenarios()
})

function readMemory({ pid }: GatewayProcess): number {
  return Number(Bun.spawnSync(['ps', '-o', 'rss=', '-p', String(pid)]).stdout.toString()) * 1024
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

/** Another process cannot see when the gateway has sent a request to a provider. */
const kinds = requestKinds.filter(({ leaves }) => leaves !== 'upstream')
/** Slow kinds would take most of the time. */
const countOf = ({ isSlow }: RequestKind) => (isSlow ? 1 : 20)

describe.if(isLong)('memory', () => {
  test(
    `R19 I10 reaches a plateau in ${minutes} minutes of mixed requests`,
    async () => {
      const scenario = await createScenario('sqlite', undefined, settings)
      const gateway = await scenario.start()
      const target = { url: gateway.url, key: await gateway.createKey(), countExchanges: null }
      const samples: number[] = []
      let requests = 0
      const startedAt = performance.now()
      const sampleMs = (minutes * 60_000) / sampleCount
      for (let round = 0; samples.length < sampleCount; round++) {
        const kind = kinds[round % kinds.length] as RequestKind
        await sendAll(target, kind, countOf(kind))
        requests += countOf(kind)
        if (performance.now() - startedAt >= sampleMs * (samples.length + 1))
          samples.push(readMemory(gateway))
      }
      await gateway.stop()
      const third = sampleCount / 3
      const [middle, last] = [median(samples.slice(third, 2 * third)), median(samples.slice(2 * third))]
      const toMegabytes = (bytes: number) => Math.round(bytes / 1e6)
      printTotals('memory', { requests, 'MB before': toMegabytes(middle), 'MB after': toMegabytes(last) })
      expect({ samples, isFlat: last <= middle * maxGrowth }).toMatchObject({ isFlat: true })
    },
    (minutes + 10) * 60_000,
  )
})
