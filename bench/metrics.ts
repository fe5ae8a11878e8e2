// CPU of counting one request to a model in `GET /metrics`, and of a scrape. Run: bun bench/metrics.ts
import type { Endpoint } from '../src/catalog/model.ts'
import { zeroUsage } from '../src/formats/call/usage.ts'
import { renderText } from '../src/gateway/exposition/text.ts'
import { ModelMetrics } from '../src/gateway/model-metrics/model-metrics.ts'
import { zeroCharge } from '../src/ledger/charge.ts'

const rounds = 2_000_000

function createRequest(index: number) {
  const endpoint = { model_id: `test/model-${index}`, tag: `provider-${index % 10}` } as Endpoint
  return {
    attempts: { candidate: { endpoint }, failed: [], isOpen: true, lastStartedAt: 0 },
    format: { task: 'text' },
    caller: { key: { workspace_id: `workspace-${index % 20}`, hash: 'key' } },
    spans: null,
    startedAt: performance.now(),
  } as const
}

const usage = { ...zeroUsage, input: 200, output: 100 }
const outcome = {
  status: 'completed',
  charge: { ...zeroCharge, usage, cost: 600_000n, upstream: 600_000n },
  summary: null,
  error: null,
  firstTokenMs: 300,
} as const

function measure(models: number): void {
  const metrics = new ModelMetrics()
  const requests = Array.from({ length: models }, (_, index) => createRequest(index))
  const run = (count: number) => {
    for (let index = 0; index < count; index++) {
      const request = requests[index % models]
      if (request) metrics.record(request, outcome)
    }
  }
  run(200_000)
  const before = process.cpuUsage()
  run(rounds)
  const { user, system } = process.cpuUsage(before)
  const nanos = ((user + system) * 1000) / rounds
  process.stdout.write(`record, ${models} models: ${nanos.toFixed(0)} ns\n`)
}

async function measureScrape(models: number): Promise<void> {
  const metrics = new ModelMetrics()
  for (let index = 0; index < models; index++) metrics.record(createRequest(index), outcome)
  await renderText(await metrics.collect())
  const before = process.cpuUsage()
  const text = await renderText(await metrics.collect())
  const { user, system } = process.cpuUsage(before)
  const size = `${(text.length / 1024).toFixed(0)} KB`
  process.stdout.write(`scrape, ${models} models: ${((user + system) / 1000).toFixed(1)} ms, ${size}\n`)
}

for (const models of [1, 50, 500]) measure(models)
for (const models of [50, 500]) await measureScrape(models)
