import { expect } from 'bun:test'
import { startJobs } from '../../src/jobs.ts'
import { type Bench, sendRequest } from '../inference/two-upstreams.ts'
import { readSeries } from './metrics.ts'
import { vendorErrors, vendorReply } from './replies.ts'
import { waitUntil } from './wait-until.ts'

const { body: reply, frames } = vendorReply('chat', 'text')
const price = 'pricing: { prompt: "0.000001", completion: "0.000004" }'

export function monitoredSettings(first: string, second: string): string {
  const provider = (slug: string, url: string) =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [chat], api_key: secret }`
  const endpoint = (slug: string) => `{ provider: ${slug}, upstream_model: vendor-model, ${price} }`
  return [
    `egress: { allow_private: ["${new URL(second).host}"] }`,
    'providers:',
    provider('one', first),
    provider('two', second),
    'models:',
    '  - id: test/both',
    '    name: both',
    `    endpoints: [${endpoint('one')}, ${endpoint('two')}]`,
    '  - id: test/single',
    '    name: single',
    `    endpoints: [${endpoint('two')}]`,
    '  - id: test/limited',
    '    name: limited',
    `    endpoints: [${endpoint('one').slice(0, -2)}, retry: { max_retries: 1 } }]`,
    '  - id: test/tools',
    '    name: tools',
    '    supported_parameters: [tools, tool_choice]',
    `    endpoints: [{ provider: sandbox, upstream_model: echo, ${price} }]`,
  ].join('\n')
}

/** Gives every metric that alerts and dashboards read a value. */
export async function makeTraffic(bench: Bench): Promise<void> {
  await openPausedDestination(bench)
  await openFlaggingGuardrail(bench)
  await sendTraffic(bench)
  await bench.server.call('POST', '/ledger/check')
}

/** Runs the jobs of a server until those that metrics are read of have ended. */
async function runJobs({ gateway }: Bench['server']): Promise<void> {
  const countRuns = async () => {
    const series = readSeries((await gateway.metrics.render()).body)
    const { value = 0 } =
      series.find(
        ({ name, labels }) =>
          name === 'headgate_job_duration_seconds_count' && labels.task === 'audit anchors',
      ) ?? {}
    return { value, hasQueue: series.some(({ name }) => name === 'headgate_delivery_queue_oldest_seconds') }
  }
  const before = await countRuns()
  const stopJobs = startJobs(gateway)
  await waitUntil(async () => {
    const { value, hasQueue } = await countRuns()
    return value > before.value && hasQueue
  })
  stopJobs()
}

/** Its events remain in the queue. */
async function openPausedDestination({ server, second }: Bench): Promise<void> {
  const destination = await server.call('POST', '/observability/destinations', {
    body: { type: 'webhook', name: 'd', config: { url: `${second.url}/in` } },
  })
  expect(destination.status).toBe(201)
  await server.call('POST', `/observability/destinations/${destination.body.data.id}/pause`)
}

/** Its hits are those of every request. */
async function openFlaggingGuardrail({ server }: Bench): Promise<void> {
  const { default_guardrail_id: id } = (await server.call('GET', `/workspaces/${server.own.workspace.id}`))
    .body.data
  const changed = await server.call('PATCH', `/guardrails/${id}`, {
    body: { content_filters: [{ pattern: 'Hello', action: 'flag', label: 'greeting' }] },
  })
  expect(changed.status).toBe(200)
}

/** Requests that complete, are cached, fail, move to another endpoint, are rejected by a limit and use a tool; and jobs. */
export async function sendTraffic(bench: Bench): Promise<void> {
  const { server, first, second } = bench
  const send = async (body: Record<string, unknown>, init = {}) =>
    (await sendRequest(bench, 'chat', body, init)).text()
  first.setDefault({ json: reply })
  second.setDefault({ json: reply })
  await send({ model: 'test/both' })
  await send({ model: 'test/both' }, { headers: { 'x-service-cache': 'true' } })
  await send({ model: 'test/both' }, { headers: { 'x-service-cache': 'true' } })
  first.setDefault({ status: 500, json: vendorErrors.chat('broken') })
  for (let sent = 0; sent < 6; sent++) await send({ model: 'test/both', provider: { order: ['one'] } })
  second.setDefault({ status: 500, json: vendorErrors.chat('broken') })
  await send({ model: 'test/single' })
  second.setDefault({ sse: frames })
  await send({ model: 'test/single', stream: true })
  const poor = await server.call('POST', '/keys', { body: { name: 'poor', limit: 0 } })
  await send({ model: 'test/single' }, { key: poor.body.key })
  await send({
    model: 'test/tools',
    tools: [{ type: 'service:datetime' }],
    messages: [{ role: 'user', content: 'Use datetime' }],
  })
  // One is repeated at its only endpoint; the next puts it into a cooldown.
  first.setDefault({ json: reply })
  first.enqueue({ status: 503, json: vendorErrors.chat('busy') })
  await send({ model: 'test/limited' })
  first.enqueue({ status: 429, json: vendorErrors.chat('slow down'), headers: { 'retry-after': '1' } })
  await send({ model: 'test/limited' })
  await runJobs(server)
}
