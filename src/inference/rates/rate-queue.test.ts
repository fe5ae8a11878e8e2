import { expect, test } from 'bun:test'
import { startTestServer } from '../../../test/support/harness.ts'
import { RateQueue } from './rate-queue.ts'
import type { WaitingRequest } from './waiting.ts'

const model = 'sandbox/echo'

test('the queues of a node are bounded together, and the last one to leave removes its queue', async () => {
  const server = await startTestServer('sqlite', { settings: 'priorities: { total_length: 3 }' })
  try {
    const { gateway } = server
    const found = gateway.catalog.models.find(({ id }) => id === model)
    const endpoint = found?.endpoints[0]
    if (!found || !endpoint) throw new Error('there is no sandbox')
    const client = new AbortController()
    const request = (keyId: number): WaitingRequest => ({
      candidate: {
        model: found,
        endpoint,
        byokKey: null,
        id: 'x',
        health: null,
        why: 'balanced',
        share: null,
      },
      priority: 'normal',
      use: { requests: 1, tokens: 1, input_tokens: 1, output_tokens: 0 },
      keyId,
      signal: client.signal,
      maxWaitMs: 1000,
    })
    const waits = ['a', 'b', 'c'].map((id, index) => new RateQueue(gateway, id).wait(request(index), 1000))
    expect(gateway.upstreams.rates.waiting).toBe(3)
    await expect(new RateQueue(gateway, 'd').wait(request(4), 5000)).rejects.toMatchObject({
      code: 'provider_rate_used',
      metadata: { cause: 'queue_full' },
      headers: { 'retry-after': '5' },
    })
    client.abort()
    const outcomes = await Promise.allSettled(waits)
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(gateway.upstreams.rates.queues.size).toBe(0)
  } finally {
    await server.stop()
  }
})
